"""What cannot be audited is refused, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from fairwise.auditing import audit
from fairwise.errors import InputError
from fairwise.judgments import Judgments

if TYPE_CHECKING:
    Said = Callable[..., Judgments]

SCORES = pd.Series({1: 0.2, 2: 0.7, 3: 0.4})


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (SCORES.replace(0.7, 1.2), "1.2 for person 2 is not a probability; allowed: 0 to 1"),
        (pd.Series({1: -0.1, 2: 1.5}), r"-0.1 for person 1 is not a probability \(1 more like it\)"),
        (SCORES.replace(0.7, np.nan), r"scores: missing \(NaN\) for these people: 2"),
        (SCORES.replace(0.7, np.inf), "inf for person 2"),
        (pd.Series([0.2, None, 0.4], index=[1, 2, 3], dtype="Float64"), r"scores: missing \(NaN\) for these people: 2"),
        (SCORES.drop(2), "scores: nothing for these people: 2"),
        (SCORES.drop([1, 2]), "scores: nothing for these people: 1, 2"),
        (pd.concat([SCORES, SCORES[[3]]]), "scores: every id must be there once; repeated: 3"),
        (pd.Series([0.1, 0.2, 0.3], index=[1, 2, None]), "scores: 1 ids in the index are missing"),
        (pd.Series([0.1, 0.2, 0.3], index=[1, "1", 2]), "scores: ids that look the same but differ in type"),
        (SCORES.set_axis(pd.MultiIndex.from_product([[1, 2, 3], [0]])), "scores: the index has several levels"),
        (SCORES.astype(str), "scores: numbers are needed"),
        (SCORES.to_numpy(), "scores: a Series of P.label = 1. indexed by person id is needed, not ndarray"),
        (SCORES.to_frame(), "not DataFrame"),
    ],
)
def test_scores(said: Said, scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        audit(scores, said(("u", 1, 2, "same")))


def test_scores_by_id_are_never_taken_for_positions() -> None:
    judgments = Judgments([{"judge": "u", "a": 1, "b": 2, "answer": "same"}], by="position")
    with pytest.raises(InputError, match="the judgments name people by position"):
        audit(SCORES, judgments)


def test_an_ordered_answer_needs_the_good_label(said: Said) -> None:
    with pytest.raises(InputError, match="give favorable_label=0 or 1"):
        audit(SCORES, said(("u", 1, 2, "a_at_least_b")))
    assert audit(SCORES, said(("u", 1, 2, "same"), ("u", 1, 3, "no_constraint"))).favorable_label is None


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"gamma": -0.1}, "gamma=-0.1 is not allowed: it must be a number from 0 to 1"),
        ({"gamma": float("nan")}, "gamma=nan"),
        ({"gamma": "0.1"}, "gamma='0.1'"),
        ({"gamma": True}, "gamma=True"),
        ({"favorable_label": 2}, "favorable_label=2 is not one of the outcomes: give 0 or 1"),
        ({"favorable_label": "1"}, "favorable_label='1'"),
        ({"weighting": "judges"}, "weighting='judges' is not allowed. Allowed: 'answers', 'panel'"),
        ({"confidence": 1.0}, "confidence=1.0 is not allowed: it must be a number between 0 and 1"),
        ({"outcome": SCORES}, "give groups= too"),
        ({"groups": ["x", "y", "z"]}, "groups: a Series or DataFrame indexed by person id is needed, not list"),
        ({"groups": pd.Series({1: "x", 2: "y"})}, "groups: nothing for these people: 3"),
        ({"groups": pd.Series({1: "x", 2: "y", 3: None}, name="sex")}, "groups: 'sex' is missing for 3"),
        (
            {"groups": SCORES, "outcome": pd.Series({1: 0, 2: 1, 3: 2})},
            "outcome: 2 for person 3 is not an outcome; allowed: 0 and 1",
        ),
        ({"groups": SCORES, "outcome": pd.Series({1: 0, 2: 1})}, "outcome: nothing for these people: 3"),
        ({"groups": SCORES, "outcome": [0, 1, 1]}, "outcome: a Series of 0 and 1 .* not list"),
        (
            {"groups": pd.DataFrame([["x", "y"]] * 3, index=[1, 2, 3], columns=["g", "g"])},
            "groups: columns with the same name: 'g'",
        ),
    ],
)
def test_settings(said: Said, setting: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        audit(SCORES, said(("u", 1, 2, "same")), **setting)


def test_a_bare_table_is_not_judgments() -> None:
    table: Any = pd.DataFrame({"judge": ["u"], "a": [1], "b": [2], "answer": ["same"]})
    with pytest.raises(InputError, match="not DataFrame; wrap a table in Judgments"):
        audit(SCORES, table)
