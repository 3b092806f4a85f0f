"""Names of labels are those of the outcomes; where scikit-learn numbers the labels, they are named by number."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import held_out
from fairwise.errors import InputError
from fairwise.learning import inputs
from fairwise.learning.settings import FitSettings
from fairwise.learning.target import read_target

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LABELS = [("bad", "good"), ("good", "reject"), (1, 2), (-1, 1), (0, 1), (False, True), ("0", "1"), (3.0, 7.0)]
USUAL = [("bad", "good"), (-1, 1), (False, True)]


def labels_and_good(quick: list[tuple[Any, Any]]) -> pytest.MarkDecorator:
    """All labels with either of them the good one; in the quick part these alone."""
    cases = [
        pytest.param(labels, good, id=f"{labels}-{good}", marks=() if labels in quick else pytest.mark.slow)
        for labels in LABELS
        for good in labels
    ]
    return pytest.mark.parametrize(("labels", "good"), cases)


FOLDS = KFold(3, shuffle=True, random_state=0)
N = 60


def town() -> tuple[pd.DataFrame, Judgments]:
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"x": rng.normal(size=N).round(1), "z": rng.integers(0, 3, N)})
    rows = [{"judge": "j", "a": a, "b": b, "answer": "a_at_least_b"} for a, b in rng.integers(0, N, (40, 2)) if a != b]
    return people, Judgments(pd.DataFrame(rows).drop_duplicates(["a", "b"]), people=people)


PEOPLE, JUDGMENTS = town()
ARRAY = PEOPLE.to_numpy(dtype=float)
BY_POSITION = Judgments(JUDGMENTS.frame, people=ARRAY, by="position")  # for those who make arrays of tables
CODES = (PEOPLE["x"] + np.random.default_rng(4).normal(size=N) * 0.7 > 0).to_numpy().astype(int)


def outcome(labels: tuple[Any, Any]) -> pd.Series:
    return pd.Series([labels[code] for code in CODES], index=PEOPLE.index)


def learner(**settings: Any) -> PairwiseFairClassifier:
    return PairwiseFairClassifier("tree", max_depth=1, gamma=0.0, **settings)


def by_values(labels: tuple[Any, Any], good: Any) -> PairwiseFairClassifier:
    return learner(label_values={label: int(label == good) for label in labels})


def by_numbers(labels: tuple[Any, Any], good: Any) -> PairwiseFairClassifier:
    """As the labels have to be named where scikit-learn numbers them."""
    return learner(label_values={number: int(label == good) for number, label in enumerate(labels)})


@cache
def direct(labels: tuple[Any, Any], good: Any, fold: int | None = None) -> PairwiseFairClassifier:
    """Fitted to the labels themselves, as one would without anything of scikit-learn around it."""
    rows = np.arange(N) if fold is None else list(FOLDS.split(PEOPLE))[fold][0]
    return learner(favorable_label=good).fit(PEOPLE.iloc[rows], outcome(labels).iloc[rows], judgments=JUDGMENTS)


def inside_voting(model: Any, y: pd.Series) -> Any:
    return VotingClassifier([("fair", model)], voting="soft").fit(PEOPLE, y, judgments=JUDGMENTS).predict_proba(PEOPLE)


class Final(LogisticRegression):  # type: ignore[misc]
    """Gets whatever the others get."""

    def fit(self, X: Any, y: Any, judgments: Any = None) -> Self:  # noqa: ARG002
        super().fit(X, y)
        return self


def inside_stacking(model: Any, y: pd.Series) -> Any:
    stack = StackingClassifier([("fair", model)], Final(), cv=FOLDS).fit(PEOPLE, y, judgments=JUDGMENTS)
    return stack.estimators_[0].predict_proba(PEOPLE)


def inside_bagging(model: Any, y: pd.Series) -> Any:
    bag = BaggingClassifier(model, 1, bootstrap=False).fit(ARRAY, y, judgments=BY_POSITION)
    return bag.predict_proba(ARRAY)


def inside_one_against_the_rest(model: Any, y: pd.Series) -> Any:
    return OneVsRestClassifier(model).fit(PEOPLE, y, judgments=JUDGMENTS).predict_proba(PEOPLE)


def inside_one_against_one(model: Any, y: pd.Series) -> Any:
    return OneVsOneClassifier(model).fit(ARRAY, y, judgments=BY_POSITION).estimators_[0].predict_proba(ARRAY)


WHOLE = [inside_voting, inside_stacking, inside_bagging, inside_one_against_the_rest, inside_one_against_one]


def across_folds(model: Any, y: pd.Series) -> Any:
    return cross_val_predict(model, PEOPLE, y, cv=FOLDS, method="predict_proba", params={"judgments": JUDGMENTS})


@cache
def expected_across_folds(labels: tuple[Any, Any], good: Any) -> Any:
    expected = np.empty((N, 2))
    for fold, (_, test) in enumerate(FOLDS.split(PEOPLE)):
        expected[test] = direct(labels, good, fold).predict_proba(PEOPLE.iloc[test])
    return expected


def test_which_label_is_good_matters_here() -> None:
    """Otherwise none of the tests below could fail."""
    one, other = (direct((0, 1), good).predict_proba(PEOPLE) for good in (0, 1))
    assert np.abs(one - other).max() > 0.2


@labels_and_good(quick=LABELS)
def test_both_ways_of_saying_it_are_one(labels: tuple[Any, Any], good: Any) -> None:
    model = by_values(labels, good).fit(PEOPLE, outcome(labels), judgments=JUDGMENTS)
    assert np.array_equal(model.predict_proba(PEOPLE), direct(labels, good).predict_proba(PEOPLE))
    assert model.favorable_label_ == direct(labels, good).favorable_label_ == good
    assert model.classes_.tolist() == list(labels)


@pytest.mark.parametrize("inside", WHOLE, ids=lambda inside: inside.__name__)
@labels_and_good(quick=USUAL)
def test_numbered_labels_are_the_same_model(
    inside: Callable[[Any, pd.Series], Any], labels: tuple[Any, Any], good: Any
) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        found = inside(by_numbers(labels, good).set_fit_request(judgments=True), outcome(labels))
        assert np.array_equal(found, direct(labels, good).predict_proba(PEOPLE))
        if labels in USUAL[:2]:
            with pytest.raises(InputError, match=r"label_values does not say how good .* there, name labels by these"):
                inside(by_values(labels, good).set_fit_request(judgments=True), outcome(labels))


@labels_and_good(quick=USUAL)
def test_numbered_labels_are_the_same_model_across_folds(labels: tuple[Any, Any], good: Any) -> None:
    expected = expected_across_folds(labels, good)
    assert np.array_equal(across_folds(by_numbers(labels, good), outcome(labels)), expected)
    with sklearn.config_context(enable_metadata_routing=True):
        model = by_values(labels, good).set_fit_request(judgments=True)  # it hands on the labels themselves
        calibrated = CalibratedClassifierCV(model, cv=FOLDS).fit(PEOPLE, outcome(labels), judgments=JUDGMENTS)
    for (_, test), one in zip(FOLDS.split(PEOPLE), calibrated.calibrated_classifiers_, strict=True):
        assert np.array_equal(one.estimator.predict_proba(PEOPLE.iloc[test]), expected[test])


@pytest.mark.parametrize(("labels", "good"), [(labels, good) for labels in LABELS for good in labels])
def test_a_favorable_label_is_refused_where_labels_may_be_numbered(labels: tuple[Any, Any], good: Any) -> None:
    with pytest.raises(InputError, match="there, name labels by these numbers"):
        across_folds(learner(favorable_label=good), outcome(labels))


def test_searches_scores_and_pipelines_hand_labels_on() -> None:
    """There a favorable label of a plain array is as clear as in a direct fit."""
    model = make_pipeline(learner(favorable_label=1)).set_params(memory=None)
    params = {"pairwisefairclassifier__judgments": JUDGMENTS}
    search = GridSearchCV(model, {"pairwisefairclassifier__gamma": [0.0]}, cv=FOLDS).fit(PEOPLE, CODES, **params)
    assert np.array_equal(search.predict_proba(PEOPLE), direct((0, 1), 1).predict_proba(PEOPLE))
    assert len(cross_val_score(learner(favorable_label=1), PEOPLE, CODES, cv=FOLDS, params={"judgments": JUDGMENTS}))


def test_a_refusal_says_what_to_write() -> None:
    with pytest.raises(InputError, match=r"give 0 or 1\. Some of scikit-learn, such as cross_val_predict"):
        learner(favorable_label="good").fit(PEOPLE, CODES, judgments=JUDGMENTS)
    with pytest.raises(InputError, match=r"favorable_label names the outcome 1, .* label_values=\{0: …, 1: …\}"):
        across_folds(learner(favorable_label=1), outcome((1, 2)))
    with pytest.raises(InputError, match=r"how good the outcomes 0, 1 are: it is about 'bad', 'good'\. Name the outc"):
        by_values(("bad", "good"), "bad").fit(PEOPLE, CODES, judgments=JUDGMENTS)


SMALL = PEOPLE[:16]
NAMES: list[Any] = [-1, 0, 1, 2, 3, 0.0, 1.0, 2.5, "0", "1", "deny", "approve", "b", True, False]


def test_labels_are_right_or_refused_in_random_settings() -> None:
    """Whatever names the labels, and whoever hands them on: as good as the user said, or an error."""
    rng = np.random.default_rng(0)
    right, refused = Counter[str](), Counter[str]()
    ordered = Judgments([{"judge": "j", "a": a, "b": a + 8, "answer": "a_at_least_b"} for a in range(8)], people=SMALL)
    codes = np.tile([0, 1], 8)
    quick = {"max_thresholds": 1, "tol": 0.1}
    direct_fits = [learner(**quick, favorable_label=k).fit(SMALL, codes, judgments=ordered) for k in (0, 1)]
    expected = [fit.predict_proba(SMALL) for fit in direct_fits]
    for _ in range(260):
        drawn = [NAMES[k] for k in rng.permutation(len(NAMES))]
        named = [type(drawn[0])(name) for name in drawn if type(name) is type(drawn[0])]
        labels = sorted(dict.fromkeys(named))[:2]
        if len(labels) < 2:
            continue
        good = labels[rng.integers(2)]
        way = str(rng.choice(["favorable_label", "values", "numbers", "other names", "more names"]))
        route = str(rng.choice(["direct", "array", "pipeline", "folds"]))
        values = {
            "values": {label: int(label == good) for label in labels},
            "numbers": {number: int(label == good) for number, label in enumerate(labels)},
            "other names": {"deny": int(labels[0] == good), "approve": int(labels[1] == good)},
            "more names": {label: int(label == good) for label in [*labels, *NAMES] if type(label) is type(good)},
        }.get(way)
        model = learner(**quick, favorable_label=good if values is None else None, label_values=values)
        y = pd.Series([labels[code] for code in codes], index=SMALL.index)
        try:
            if route == "folds":
                half = [(np.arange(16), np.arange(16))]
                found = cross_val_predict(
                    model, SMALL, y, cv=half, method="predict_proba", params={"judgments": ordered}
                )
            elif route == "pipeline":
                found = (
                    make_pipeline(model)
                    .fit(SMALL, y.to_numpy(), pairwisefairclassifier__judgments=ordered)
                    .predict_proba(SMALL)
                )
            else:
                fitted = model.fit(SMALL, y if route == "direct" else y.to_numpy(), judgments=ordered)
                found = fitted.predict_proba(SMALL)
        except InputError as error:
            assert "name" in str(error).lower()  # noqa: PT017
            refused[f"{way}, {route}"] += 1
            assert way not in ("favorable_label", "values") or route in ("folds", "pipeline")
            continue
        right[f"{way}, {route}"] += 1
        if found.shape[1] == 2 or route == "folds":
            assert found == pytest.approx(expected[labels.index(good)]), (labels, good, way, route)
    assert right.total() + refused.total() >= 200
    assert min(right["favorable_label, direct"], right["values, array"], right["numbers, folds"]) >= 3
    assert min(refused["favorable_label, folds"], refused["values, folds"], refused["other names, direct"]) >= 3


def test_values_and_losses_belong_to_their_labels_in_random_settings() -> None:
    """Two labels and more, in any order: each outcome has its own value and its own cost, or it is refused."""
    rng = np.random.default_rng(1)
    kinds: list[list[Any]] = [list(range(-2, 5)), ["a", "b", "c", "d", "0", "1", "2"], [0.0, 1.0, 2.0, 3.0, 7.0]]
    agreed = 0
    for _ in range(300):
        outcomes, named = (
            [kind[k] for k in rng.permutation(len(kind))[: rng.integers(2, 5)]]
            for kind in (kinds[k] for k in rng.integers(0, 3, 2))
        )
        if rng.random() < 0.5:
            named = [*rng.permutation(np.array(outcomes, dtype=object)), *named[:1]]
        named = list(dict.fromkeys(named))
        values = dict(zip(named, rng.permuted(np.linspace(0, 1, len(named))).round(3).tolist(), strict=True))
        loss = pd.DataFrame(rng.uniform(size=(len(values), len(values))), index=list(values), columns=list(values))
        y = np.array([outcomes[k] for k in [*range(len(outcomes)), *rng.integers(0, len(outcomes), 8)]])
        params = learner(label_values=values, loss=loss).get_params(deep=False)
        try:
            labels, codes = read_target(y, PEOPLE[: len(y)], FitSettings.of(params), None)
        except InputError:
            assert not set(outcomes) <= set(values) or len({type(name) is str for name in values}) > 1
            continue
        classes = labels.classes.tolist()
        assert [classes[code] for code in codes] == y.tolist()
        for code, costs in zip(codes, labels.costs(codes), strict=True):
            assert [loss.loc[classes[code], label] for label in classes] == costs.tolist()
        treated = np.array([1.0, 0.0] if labels.sign < 0 else [0.0, 1.0])
        if labels.values is not None:  # noqa: PD011
            treated = labels.values  # noqa: PD011
        assert [values[label] for label in classes] == treated.tolist()
        agreed += 1
    assert agreed > 100


def test_numbered_labels_of_any_fold_are_right_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in folds that lack some of the labels, which scikit-learn numbered over everyone."""
    monkeypatch.setattr(inputs, "may_number_labels", lambda: True)
    rng = np.random.default_rng(2)
    accepted, refused = Counter[bool](), Counter[bool]()
    for _ in range(600):
        own = sorted(rng.choice(5, size=rng.integers(2, 5), replace=False).tolist())  # the labels as users write them
        in_fold = sorted(rng.choice(len(own), size=rng.integers(2, len(own) + 1), replace=False).tolist())
        by_number = bool(rng.random() < 0.5)
        named = list(range(len(own))) if by_number else [*own, *(k for k in range(6) if k not in own)]
        named = named if by_number else named[: len(own) + int(rng.integers(0, 3))]
        values = dict(zip(named, rng.permutation(np.linspace(0, 1, len(named))).tolist(), strict=True))
        y = rng.permutation(np.repeat(in_fold, 5))
        settings = FitSettings.of(learner(label_values=values).get_params(deep=False))
        try:
            labels, codes = read_target(y, PEOPLE[: len(y)], settings, None)
        except InputError:
            refused[by_number] += 1
            assert in_fold != list(range(len(own))) or set(named) != set(in_fold)
            continue
        treated = np.array([1.0, 0.0] if labels.sign < 0 else [0.0, 1.0])
        treated = treated if labels.values is None else labels.values  # noqa: PD011
        meant = [values[code if by_number else own[code]] for code in y.tolist()]
        assert treated[codes].tolist() == meant, (own, in_fold, named)
        accepted[by_number] += 1
    assert min(accepted[True], accepted[False], refused[True], refused[False]) >= 10


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"label_values": {"bad": 0}}, "label_values={'bad': 0} is not allowed: say of each label how good it is"),
        ({"label_values": {"bad": 0, "good": 1.5}}, "from 0 to 1 and not all alike"),
        ({"label_values": {"bad": 0, "good": True}}, "from 0 to 1 and not all alike"),
        ({"label_values": {"bad": 1, "so so": 1, "good": 1}}, "from 0 to 1 and not all alike"),
        ({"label_values": ["bad", "good"]}, "say of each label how good it is"),
        ({"label_values": {"bad": 0, 1: 1}}, "names labels of different kinds"),
        (
            {"label_values": {"bad": 0, "good": 1}, "favorable_label": "bad"},
            "favorable_label='bad' is not the best label",
        ),
        ({"label_values": {"bad": 0, "fine": 1}}, "how good the outcome 'good' is: it is about 'bad', 'fine'"),
    ],
)
def test_what_is_wrong_is_told(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        learner(**settings).fit(PEOPLE, outcome(("bad", "good")), judgments=JUDGMENTS)


def test_saying_it_twice_is_fine() -> None:
    model = learner(favorable_label="good", label_values={"bad": 0, "good": 1})
    assert model.fit(PEOPLE, outcome(("bad", "good")), judgments=JUDGMENTS).favorable_label_ == "good"


@labels_and_good(quick=USUAL)
def test_it_is_saved_as_it_is(tmp_path: Path, labels: tuple[Any, Any], good: Any) -> None:
    model = by_values(labels, good).fit(PEOPLE, outcome(labels), judgments=JUDGMENTS)
    model.save(tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert again.label_values == model.label_values
    assert again.favorable_label_ == good


@pytest.mark.parametrize("good", ["bad", "good"])
def test_held_out_measures_in_the_same_direction(good: str) -> None:
    numbers = [
        held_out(model, PEOPLE, outcome(("bad", "good")), JUDGMENTS, n_repeats=1).overall["training"]
        for model in (by_values(("bad", "good"), good), learner(favorable_label=good))
    ]
    assert numbers[0].to_numpy() == pytest.approx(numbers[1].to_numpy(), nan_ok=True)


def test_clones_keep_it() -> None:
    model = by_values(("bad", "good"), "bad")
    assert clone(model).label_values == {"bad": 1, "good": 0}
