"""Which label is the good one stays known when scikit-learn numbers the labels before it hands them on."""

from __future__ import annotations

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
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import held_out
from fairwise.errors import InputError

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
        found = inside(by_values(labels, good).set_fit_request(judgments=True), outcome(labels))
    assert np.array_equal(found, direct(labels, good).predict_proba(PEOPLE))


@labels_and_good(quick=USUAL)
def test_numbered_labels_are_the_same_model_across_folds(labels: tuple[Any, Any], good: Any) -> None:
    expected = expected_across_folds(labels, good)
    assert np.array_equal(across_folds(by_values(labels, good), outcome(labels)), expected)
    with sklearn.config_context(enable_metadata_routing=True):
        model = by_values(labels, good).set_fit_request(judgments=True)
        calibrated = CalibratedClassifierCV(model, cv=FOLDS).fit(PEOPLE, outcome(labels), judgments=JUDGMENTS)
    for (_, test), one in zip(FOLDS.split(PEOPLE), calibrated.calibrated_classifiers_, strict=True):
        assert np.array_equal(one.estimator.predict_proba(PEOPLE.iloc[test]), expected[test])


@pytest.mark.parametrize(("labels", "good"), [(labels, good) for labels in LABELS for good in labels if good != 1])
def test_the_good_label_alone_is_right_or_refused(labels: tuple[Any, Any], good: Any) -> None:
    """Whoever names one label of theirs is told to name both, unless it can be known."""
    try:
        found = across_folds(learner(favorable_label=good), outcome(labels))
    except (InputError, ValueError) as error:
        assert "label_values={" in str(error)  # noqa: PT017
        assert good not in (0, 1)
    else:
        assert np.array_equal(found, expected_across_folds(labels, good))


def test_a_refusal_says_what_to_write() -> None:
    with pytest.raises(InputError, match=r"give 0 or 1\. If .* name both: label_values=\{'good': 1, the other: 0\}"):
        learner(favorable_label="good").fit(PEOPLE, CODES, judgments=JUDGMENTS)


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
        ({"label_values": {"bad": 0, "fine": 1}}, "label_values is about 'bad' and 'fine', but the outcomes are 'bad'"),
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
