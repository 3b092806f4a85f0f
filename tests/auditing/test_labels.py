"""An audit takes the labels that a fit takes, and says what it does with the chances of pairs to be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairwise import PairwiseFairClassifier
from fairwise.auditing import audit, held_out
from fairwise.errors import InputError
from fairwise.judgments import Judgments

if TYPE_CHECKING:
    Panel = Callable[..., tuple[Judgments, pd.Series]]

LABELS = [("bad", "good"), ("good", "reject"), (1, 2), (False, True), ("0", "1")]


def same(one: Any, other: Any) -> None:
    for table in ("overall", "by_judge", "by_pair", "judgments"):
        pd.testing.assert_frame_equal(getattr(one, table), getattr(other, table))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("labels", LABELS, ids=str)
@pytest.mark.parametrize("good", [0, 1])
def test_labels_by_name_are_labels_by_number(panel: Panel, seed: int, labels: tuple[Any, Any], good: int) -> None:
    judgments, scores = panel(seed)
    by_number = audit(scores, judgments, 0.05, favorable_label=good)
    by_name = audit(scores, judgments, 0.05, favorable_label=labels[good], classes=np.array(labels))
    same(by_name, by_number)
    assert by_name.classes == labels
    assert by_name.favorable_label == labels[good]
    other = audit(1 - scores, judgments, 0.05, favorable_label=labels[good], classes=labels[::-1])
    pd.testing.assert_frame_equal(other.by_judge, by_number.by_judge)


@pytest.mark.parametrize("labels", LABELS, ids=str)
@pytest.mark.parametrize("good", [0, 1])
def test_an_outcome_tells_the_labels_as_it_tells_a_fit(panel: Panel, labels: tuple[Any, Any], good: int) -> None:
    judgments, scores = panel(1)
    codes = pd.Series(np.arange(len(scores)) % 2, index=scores.index)
    groups = pd.Series(np.where(scores.index < 4, "x", "y"), index=scores.index)
    words = codes.map(dict(enumerate(labels)))
    by_name = audit(scores, judgments, favorable_label=labels[good], groups=groups, outcome=words)
    by_number = audit(scores, judgments, favorable_label=good, groups=groups, outcome=codes)
    same(by_name, by_number)
    assert by_name.by_group is not None
    assert by_number.by_group is not None
    pd.testing.assert_frame_equal(by_name.by_group, by_number.by_group)
    if labels[good] not in (0, 1):
        same(audit(scores, judgments, favorable_label=labels[good], outcome=words), by_number)


@pytest.mark.parametrize("good", ["bad", "good"])
def test_the_audit_of_a_fit_is_its_certificate(good: str) -> None:
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"x": rng.normal(size=40), "z": rng.integers(0, 3, 40)})
    outcome = pd.Series(np.where(people["x"] + rng.normal(size=40) > 0, "good", "bad"), index=people.index)
    pairs = [(a, b) for a, b in rng.integers(0, 40, (30, 2)) if a != b]
    rows = pd.DataFrame([{"judge": "j", "a": a, "b": b, "answer": "a_at_least_b"} for a, b in pairs])
    judgments = Judgments(rows.drop_duplicates(["a", "b"]), people=people)
    model = PairwiseFairClassifier("tree", eta=0.05, favorable_label=good).fit(people, outcome, judgments=judgments)
    scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
    result = audit(scores, judgments, 0.1, favorable_label=good, classes=model.classes_)
    assert result.overall["mean_excess"]["value"] == pytest.approx(model.certificate_.mean_excess)
    assert result.overall["max_violation"]["value"] == pytest.approx(model.certificate_.max_violation)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"favorable_label": "good"}, "favorable_label='good' is not one of the outcomes: give 0 or 1, or name the"),
        ({"favorable_label": "good", "classes": ["good"]}, "give the two labels, such as model.classes_"),
        ({"favorable_label": "good", "classes": ["good", "good"]}, "give the two labels"),
        ({"favorable_label": "good", "classes": "good"}, "give the two labels"),
        ({"favorable_label": "fine", "classes": ["bad", "good"]}, "favorable_label='fine' .* give 'bad' or 'good'"),
        ({"classes": ["bad", "good"]}, "give favorable_label='bad' or 'good'"),
        ({"favorable_label": "b", "outcome": pd.Series(["a", 1])}, "outcome: labels of different kinds, 'a' and 1"),
    ],
)
def test_labels_that_do_not_fit_are_refused(panel: Panel, settings: dict[str, Any], told: str) -> None:
    judgments, scores = panel(0)
    with pytest.raises(InputError, match=told):
        audit(scores, judgments, **settings)


def with_chances(judgments: Judgments, people: Any = None) -> Judgments:
    frame = judgments.frame.copy()
    frame["selection_probability"] = np.random.default_rng(0).uniform(0.05, 1.0, len(frame))
    return Judgments(frame, people=people)


def test_an_audit_does_not_weight_by_chances_and_says_so(panel: Panel) -> None:
    judgments, scores = panel(2)
    plain = audit(scores, judgments, favorable_label=1)
    ignored = audit(scores, with_chances(judgments), favorable_label=1)
    same(ignored, plain)
    assert (plain.selection_probability, ignored.selection_probability) == ("not given", "ignored")
    assert "selection_probability is not used" in str(ignored)
    assert "selection_probability" not in str(plain)


def test_held_out_weights_by_chances_and_says_so(panel: Panel) -> None:
    judgments, scores = panel(2)
    people = pd.DataFrame({"x": scores})
    outcome = pd.Series(np.arange(len(scores)) % 2, index=scores.index)
    results = [
        held_out(LogisticRegression(), people, outcome, said, favorable_label=1, test_size=0.5)
        for said in (judgments.about(people), with_chances(judgments, people))
    ]
    assert [result.weighted for result in results] == [False, True]
    assert ["1 / selection_probability" in str(result) for result in results] == [False, True]
    assert results[0].overall["held_out"]["mean_violation"] != results[1].overall["held_out"]["mean_violation"]
