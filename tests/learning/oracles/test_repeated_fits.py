"""Fits to the same rows again and again: what is done once must come out as if it were done each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.tree import DecisionTreeClassifier

from fairwise.learning.oracles.scikit_learn import RepeatedFits, looks_at_rows_only, may_begin_anywhere

N = 80


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(3.0, 2.0, N), "z": rng.normal(size=N), "word": rng.choice(["a", "b", "c"], N)})


def encoding() -> Any:
    words = make_column_selector(dtype_exclude="number")
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder=numbers)


def questions(n: int = 6) -> list[tuple[Any, Any, Any]]:
    """Places, labels and weights; of the third and fourth not all rows."""
    rng = np.random.default_rng(1)
    asked = []
    for number in range(n):
        places = np.arange(N) if number not in (2, 3) else np.arange(5, N)
        asked.append((places, (rng.random(len(places)) < 0.5).astype(int), rng.exponential(size=len(places))))
    return asked


@pytest.mark.parametrize("sparse", [True, False])
def test_a_pipeline_is_what_it_would_be_if_it_were_fitted_whole(table: pd.DataFrame, sparse: bool) -> None:
    first = encoding().set_params(sparse_threshold=1.0 if sparse else 0.0)
    pipeline = make_pipeline(first, DecisionTreeClassifier(max_depth=4, random_state=0))
    fits = RepeatedFits(pipeline, table)
    for places, labels, weights in questions():
        mine = fits.fit(places, labels, weights)
        rows = table.iloc[places]
        whole = clone(pipeline).fit(rows, labels, decisiontreeclassifier__sample_weight=weights)
        np.testing.assert_array_equal(mine.predict_proba(table), whole.predict_proba(table))
        behind = whole[:-1].transform(table)
        difference = fits.transformed(mine) - behind
        assert abs(difference).max() == 0.0


def test_transformers_are_fitted_again_only_where_the_rows_are_others(
    table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    real = StandardScaler.fit

    def counted(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(len(X))
        return real(self, X, *args, **kwargs)

    monkeypatch.setattr(StandardScaler, "fit", counted)
    fits = RepeatedFits(make_pipeline(encoding(), LogisticRegression()), table)
    for question in questions():
        fits.fit(*question)
    assert seen == [N, N - 5, N]


@pytest.mark.parametrize(
    ("transformer", "blind"),
    [
        (StandardScaler(), True),
        (encoding(), True),
        ("passthrough", True),
        (SelectKBest(k=1), False),
        (TargetEncoder(), False),
        (FunctionTransformer(np.abs), False),
        (make_pipeline(StandardScaler(), SelectKBest(k=1)), False),
        (make_column_transformer((StandardScaler(), ["x"]), remainder=TargetEncoder()), False),
        (type("StandardScaler", (StandardScaler,), {"__module__": "mine"})(), False),
    ],
    ids=lambda value: str(value)[:40],
)
def test_only_what_is_known_to_look_at_rows_alone_is_kept(transformer: Any, blind: bool) -> None:
    assert looks_at_rows_only(transformer) is blind


def test_transformers_that_look_at_outcomes_are_fitted_every_time(table: pd.DataFrame) -> None:
    pipeline = make_pipeline(SelectKBest(k=1), LogisticRegression())
    fits, numbers = RepeatedFits(pipeline, table[["x", "z"]].to_numpy()), table[["x", "z"]].to_numpy()
    for places, labels, weights in questions():
        mine = fits.fit(places, labels, weights)
        whole = clone(pipeline).fit(numbers[places], labels, logisticregression__sample_weight=weights)
        np.testing.assert_array_equal(mine[0].scores_, whole[0].scores_)
        np.testing.assert_array_equal(mine[1].coef_, whole[1].coef_)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky"])
def test_a_regression_that_begins_elsewhere_ends_at_the_same_minimum(table: pd.DataFrame, solver: Any) -> None:
    model = LogisticRegression(solver=solver, tol=1e-9, max_iter=1000)
    numbers = StandardScaler().fit_transform(table[["x", "z"]])
    fits = RepeatedFits(model, numbers)
    for places, labels, weights in questions():
        mine = fits.fit(places, labels, weights)
        whole = clone(model).fit(numbers[places], labels, sample_weight=weights)
        np.testing.assert_allclose(mine.coef_, whole.coef_, atol=1e-6)
        np.testing.assert_allclose(mine.intercept_, whole.intercept_, atol=1e-6)
        assert mine.get_params() == model.get_params()


def test_it_begins_at_the_fit_that_is_most_alike(table: pd.DataFrame) -> None:
    fits = RepeatedFits(make_pipeline(encoding(), LogisticRegression()), table)
    asked = [question for question in questions() if len(question[0]) == N]
    iterations = [int(fits.fit(*question)[-1].n_iter_[0]) for question in asked]
    assert min(iterations) > 3
    for places, labels, weights in asked:
        again = fits.fit(places, labels, weights * (1 + 1e-9))
        assert again[-1].n_iter_[0] <= 1


@pytest.mark.parametrize(
    ("model", "may"),
    [
        (LogisticRegression(), True),
        (LogisticRegression(solver="newton-cg", C=10.0), True),
        (LogisticRegression(C=np.inf), False),
        (LogisticRegression(solver="saga"), False),
        (LogisticRegression(l1_ratio=0.5, solver="saga"), False),
        (LogisticRegression(solver="liblinear"), False),
        (DecisionTreeClassifier(), False),
        (type("Mine", (LogisticRegression,), {})(), False),
    ],
    ids=lambda value: str(value)[:50],
)
def test_only_a_strictly_convex_loss_begins_anywhere(model: Any, may: bool) -> None:
    assert may_begin_anywhere(model) is may
