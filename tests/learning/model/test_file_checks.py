"""What saves loads: every classifier of scikit-learn, and whatever one puts before it, without naming a type."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectFromModel, SelectKBest, chi2, mutual_info_classif
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from fairwise import PairwiseFairClassifier
from fairwise.errors import ModelFileError

if TYPE_CHECKING:
    from pathlib import Path

N = 50
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 70, N),
        "income": RNG.lognormal(size=N).round(2),
        "city": RNG.choice(["a", "b", "c"], N),
        "member": pd.Categorical(RNG.choice(["no", "yes"], N)),
    }
)
OUTCOME = (PEOPLE["age"] / 70 + RNG.normal(size=N) * 0.3 > 0.6).astype(int)
NUMBERS, WORDS = ["age", "income"], ["city", "member"]

PLAIN = GaussianNB()
NEED = {
    "CalibratedClassifierCV": {"estimator": PLAIN, "cv": 2},
    "CategoricalNB": {"min_categories": 100},
    "FixedThresholdClassifier": {"estimator": PLAIN},
    "OneVsOneClassifier": {"estimator": PLAIN},
    "OneVsRestClassifier": {"estimator": PLAIN},
    "OutputCodeClassifier": {"estimator": PLAIN},
    "QuadraticDiscriminantAnalysis": {"reg_param": 0.5},
    "RadiusNeighborsClassifier": {"radius": 100.0},
    "SelfTrainingClassifier": {"estimator": PLAIN},
    "StackingClassifier": {
        "estimators": [("one", PLAIN), ("two", DecisionTreeClassifier())],
        "final_estimator": PLAIN,
        "cv": 2,
    },
    "TunedThresholdClassifierCV": {"estimator": PLAIN, "cv": 2},
    "VotingClassifier": {"estimators": [("one", PLAIN), ("two", DecisionTreeClassifier())], "voting": "soft"},
}
LEFT_OUT = {"ClassifierChain", "MultiOutputClassifier", "PassiveAggressiveClassifier"}  # several outcomes; deprecated
SMALLER = {"n_estimators": 3, "max_iter": 20, "random_state": 0}


def instance(name: str, cls: Any) -> Any:
    made = cls(**NEED.get(name, {}))
    return made.set_params(**{key: value for key, value in SMALLER.items() if key in made.get_params(deep=False)})


CLASSIFIERS = {
    name: instance(name, cls)
    for name, cls in all_estimators("classifier")
    if name not in LEFT_OUT and cls.__module__.startswith("sklearn.")
}
NEIGHBOURS = {
    f"neighbours {algorithm} {metric}": KNeighborsClassifier(3, algorithm=algorithm, metric=metric, p=3, leaf_size=5)
    for algorithm in ("kd_tree", "ball_tree", "brute")
    for metric in ("minkowski", "euclidean", "manhattan", "chebyshev")
}
SELECTED = {
    f"selector {include} {exclude}": make_pipeline(
        make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include=include, dtype_exclude=exclude, pattern="age|income"))
        ),
        LogisticRegression(),
    )
    for include, exclude in [
        (np.number, None),
        ("number", None),
        (None, object),
        (None, ["object", "category"]),
        ([np.integer, np.floating], None),
        (float, None),
    ]
}


def words(encoder: Any) -> Any:
    return make_column_transformer((encoder, WORDS), remainder="passthrough")


def numbers(*steps: Any) -> Any:
    return make_column_transformer((make_pipeline(*steps), NUMBERS))


PREPARED = {
    "one-hot": (words(OneHotEncoder(handle_unknown="ignore")), LogisticRegression()),
    "one-hot rare": (words(OneHotEncoder(min_frequency=20, drop="first", sparse_output=True)), SVC()),
    "one-hot binary": (words(OneHotEncoder(drop="if_binary")), RandomForestClassifier(3)),
    "sparse support vectors": (make_column_transformer((OneHotEncoder(), WORDS), sparse_threshold=1.0), SVC()),
    "sparse tree": (make_column_transformer((OneHotEncoder(), WORDS), sparse_threshold=1.0), DecisionTreeClassifier()),
    "ordinal": (words(OrdinalEncoder()), HistGradientBoostingClassifier(max_iter=5)),
    "target": (words(TargetEncoder(cv=2)), LogisticRegression()),
    "categories by type": (
        make_column_transformer(("passthrough", ["age", "member"])).set_output(transform="pandas"),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2),
    ),
    "only categories": (
        make_column_transformer(("passthrough", ["member"])).set_output(transform="pandas"),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2),
    ),
    "log": (numbers(FunctionTransformer(np.log1p)), LogisticRegression()),
    "clip": (numbers(FunctionTransformer(np.clip, kw_args={"a_min": 0, "a_max": 40})), LogisticRegression()),
    "fill": (numbers(FunctionTransformer(np.nan_to_num)), LogisticRegression()),
    "impute": (numbers(SimpleImputer(add_indicator=True), RobustScaler()), LogisticRegression()),
    "impute by neighbours": (numbers(KNNImputer(), MinMaxScaler()), LogisticRegression()),
    "bins": (numbers(KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")), LogisticRegression()),
    "splines": (numbers(SplineTransformer(n_knots=3)), LogisticRegression()),
    "polynomials": (numbers(PolynomialFeatures(), PowerTransformer()), LogisticRegression()),
    "quantiles": (numbers(QuantileTransformer(n_quantiles=10)), LogisticRegression()),
    "components": (numbers(make_union(PCA(1), StandardScaler())), LogisticRegression()),
    "best": (numbers(MinMaxScaler(), SelectKBest(chi2, k=1)), LogisticRegression()),
    "best by information": (numbers(SelectKBest(mutual_info_classif, k=1)), LogisticRegression()),
    "by a model": (numbers(SelectFromModel(DecisionTreeClassifier())), LogisticRegression()),
    "forest's leaves": (numbers(RandomTreesEmbedding(3)), LogisticRegression()),
}
PIPELINES = {name: make_pipeline(*steps) for name, steps in PREPARED.items()}
NESTED = {
    "calibrated forest": CalibratedClassifierCV(RandomForestClassifier(3), cv=2, method="isotonic"),
    "calibrated machine": CalibratedClassifierCV(SVC(), cv=2),
    "folds": CalibratedClassifierCV(PLAIN, cv=StratifiedKFold(2, shuffle=True, random_state=0)),
    "bagged neighbours": BaggingClassifier(KNeighborsClassifier(3), 2, max_features=0.5),
    "boosted categories": HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2, categorical_features=[2, 3]),
    "searched": GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2),
    "threshold": FixedThresholdClassifier(RandomForestClassifier(3)),
    "tuned threshold": TunedThresholdClassifierCV(LogisticRegression(), scoring="f1", cv=2),
    "votes": VotingClassifier([("a", RandomForestClassifier(3)), ("b", SVC()), ("c", KNeighborsClassifier(3))]),
    "stack": StackingClassifier([("a", HistGradientBoostingClassifier(max_iter=3))], DecisionTreeClassifier(), cv=2),
    "best first": DecisionTreeClassifier(max_leaf_nodes=6),
    "pruned": DecisionTreeClassifier(ccp_alpha=0.01),
}
EVERY = CLASSIFIERS | NEIGHBOURS | SELECTED | PIPELINES | NESTED


def fitted(estimator: Any) -> PairwiseFairClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of estimators that would like more people or more rounds
        return PairwiseFairClassifier(estimator).fit(PEOPLE, OUTCOME)


ALIKE = [*list(NEIGHBOURS)[1:], *list(SELECTED)[1:]]  # each much like the first of its kind


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in ALIKE else ()) for name in EVERY]
)
def test_what_saves_loads_and_decides_alike(tmp_path: Path, name: str) -> None:
    model = fitted(EVERY[name])
    model.save(tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert np.array_equal(again.predict_proba(PEOPLE), model.predict_proba(PEOPLE))
    assert re.sub("0x[0-9a-f]+", "", repr(again)) == re.sub("0x[0-9a-f]+", "", repr(model))
    again.save(tmp_path / "again.skops")


class Own(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Self:  # noqa: ARG002
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return (np.asarray(X)[:, 0] > 0).astype(int)


def doubled(rows: Any) -> Any:
    return 2 * rows


@pytest.mark.parametrize(
    ("estimator", "named"),
    [(Own(), "Own"), (make_pipeline(numbers(FunctionTransformer(doubled)), LogisticRegression()), "doubled")],
    ids=["class", "function"],
)
def test_types_of_ones_own_are_named_when_saving(tmp_path: Path, estimator: Any, named: str) -> None:
    """A long fit is not lost to a refusal, and nobody finds out later."""
    model = fitted(estimator)
    needed = [f"{__name__}.{named}"]
    with pytest.warns(UserWarning, match=r"saved, but .* loading must name them") as told:
        model.save(tmp_path / "model.skops")
    assert f"load(path, trusted={needed})" in str(told[0].message)
    assert told[0].filename.endswith("fitted.py") is False
    with pytest.raises(ModelFileError, match=named):
        PairwiseFairClassifier.load(tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops", trusted=needed)
    assert np.array_equal(again.predict_proba(PEOPLE), model.predict_proba(PEOPLE))


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    for step in (FunctionTransformer(lambda rows: rows),):
        model = fitted(make_pipeline(numbers(step), LogisticRegression()))
        with pytest.raises(
            ModelFileError, match=r"model\.skops: this model cannot be saved: .* importable by their name"
        ):
            model.save(tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())
