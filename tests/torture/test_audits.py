"""Audits, agreement and reliability of next to nothing: numbers by hand, or a clear refusal."""

from __future__ import annotations

from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.torture_panels import ENDS, FREE, NOTHING, ORDER, SPLIT, TWO, WEIGHTLESS, said
from tests.support.torturing import (
    Case,
    Refused,
    hold_on_one_and_two_threads,
    hold_to_what_is_expected,
    hold_when_done_again,
    parametrised,
)

from fairwise import Judgments, audit
from fairwise.judgments import (
    check_failures,
    cluster_judges,
    find_conflicts,
    judge_drivers,
    krippendorff_alpha,
    position_bias,
    repeat_consistency,
)

EVEN, STEPS, SURE = [0.5] * 4, [0.0, 0.25, 0.5, 1.0], [0.0, 0.0, 1.0, 1.0]
ALIKE, ROOT = said(("u", 0, 3, "same"), ("v", 1, 2, "same")), 0.025**0.5
AVERAGES = ["max_violation", "mean_violation", "mean_excess", "fairness_loss", "share_followed"]


def audited(scores: Any, judgments: Judgments, row: str = "value", **more: Any) -> Any:
    given = pd.Series(scores) if isinstance(scores, list) else scores
    return lambda: audit(given, judgments, **({"gamma": 0.0} | more)).overall.loc[row, AVERAGES]


# Largest and mean violation, mean excess (half of it, for one answer), fairness loss, share kept.
CASES = [
    Case("audit: scores all the same", audited(EVEN, ENDS), [0, 0, 0, 0, 1]),
    Case("audit: scores all 0", audited([0.0] * 4, ENDS), [0, 0, 0, 0, 1]),
    Case("audit: scores all 1, as whole numbers", audited([1] * 4, ENDS), [0, 0, 0, 0, 1]),
    Case("audit: scores 0 and 1", audited(SURE, ENDS), [1, 1, 0.5, 0.5, 0]),
    Case("audit: scores yes and no", audited([False, False, True, True], ENDS), [1, 1, 0.5, 0.5, 0]),
    Case("audit: gamma 1", audited(SURE, ENDS, gamma=1), [1, 1, 0, 0, 1]),
    Case("audit: gamma exactly reached", audited(STEPS, said(("u", 1, 2, "same")), gamma=0.25), [0.25, 0.25, 0, 0, 1]),
    Case("audit: an order kept", audited(SURE, said(("u", 3, 0, "a_at_least_b")), favorable_label=1), [0, 0, 0, 0, 1]),
    Case("audit: an order broken", audited(SURE, ORDER, favorable_label=1), [1, 0, 0.5, 0.5, 0]),
    Case("audit: the same order, 0 is good", audited(SURE, ORDER, favorable_label=0), [0, 0, 0, 0, 1]),
    Case("audit: nobody said anything", audited(STEPS, NOTHING), [0, 0, 0, 0, nan]),
    Case("audit: nothing asked", audited(STEPS, FREE), [0, 0, 0, 0, nan]),
    Case("audit: answers of no weight", audited(SURE, WEIGHTLESS), [1, 0, 0, 0, nan]),
    Case("audit: answers of 1e100", audited(SURE, said(("u", 0, 3, "same", 1e100))), [1, 1, 0.5, 5e99, 0]),
    Case("audit: two judges of one mind", audited(SURE, TWO), [1, 1, 0.5, 0.5, 0]),
    Case("audit: two judges of two minds", audited(SURE, SPLIT), [1, 1, 0.25, 0.25, 0]),
    Case("audit: by the panel's letter", audited(SURE, SPLIT, weighting="panel"), [1, 1, 0.25, 0.25, 0]),
    Case("audit: scores of 5e-324", audited([0.0, 0, 0, 5e-324], ENDS), [0, 0, 0, 0, 1]),
    Case("interval of one judge, low", audited(SURE, ENDS, "low"), [1, nan, nan, nan, nan]),
    Case("interval of one judge, high", audited(SURE, ENDS, "high"), [1, nan, nan, nan, nan]),
    Case("interval of nobody", audited(SURE, NOTHING, "low"), [0, nan, nan, nan, nan]),
    Case("interval of two about one pair", audited(SURE, TWO, "low"), [1, nan, nan, nan, nan]),
    # Two of two alike: so are at least sqrt(0.025) = 0.158... of all, with 97.5 %.
    Case("interval of two alike, low", audited(SURE, ALIKE, "low"), [1, ROOT, ROOT / 2, ROOT / 4, 0]),
    Case("interval of two alike, high", audited(SURE, ALIKE, "high"), [1, 1, 0.5, 0.25, 1 - ROOT]),
    Case("interval of two alike is marked", audited(SURE, ALIKE, "covered"), [1, 0, 0, 0, 0]),
]
REFUSED_SCORES: list[tuple[str, Any, str]] = [
    ("NaN", [0.1, 0.2, 0.3, nan], r"scores: missing \(NaN\) for these people: 3"),
    ("above 1", [0.1, 0.2, 0.3, 1 + 1e-15], "for person 3 is not a probability; allowed: 0 to 1"),
    ("below 0", [-5e-324, 0.2, 0.3, 1.0], "scores: -5e-324 for person 0 is not a probability"),
    ("percentages", [10.0, 20.0, 30.0, 40.0], r"10.0 for person 0 is not a probability \(3 more like it\)"),
    ("infinity", [0.1, 0.2, 0.3, inf], "inf for person 3 is not a probability"),
    ("text", ["a", "b", "c", "d"], "scores: numbers are needed"),
    ("nobody judged", pd.Series([0.5], index=[7]), "scores: nothing for these people: 0, 3"),
    (
        "one person twice",
        pd.Series([0.5, 0.5, 0.1], index=[0, 0, 3]),
        "scores: every id must be there once; repeated: 0",
    ),
    ("an array for ids", np.array(STEPS), "a Series of P.label = 1. indexed by person id is needed, not ndarray"),
]
CASES += [
    Case(f"audit refused: {name}", audited(scores, ENDS), Refused(words)) for name, scores, words in REFUSED_SCORES
]
ARGUMENTS: list[tuple[str, Any, str]] = [
    *(("gamma", value, f"gamma={value} is not allowed: it must be a number from 0 to 1") for value in (-0.1, 2, nan)),
    *(("confidence", value, f"confidence={value} is not allowed") for value in (0, 1, nan)),
    ("confidence", "x", "confidence='x' is not allowed"),
    ("favorable_label", 2, "favorable_label=2 is not one of the outcomes: give 0 or 1"),
    ("favorable_label", np.array([0, 1]), "favorable_label=array.* is not one of the outcomes"),
    ("weighting", None, "weighting=None is not allowed"),
]
CASES += [
    Case(f"audit refused: {name}={value}", audited(STEPS, ENDS, **{name: value}), Refused(words))
    for name, value, words in ARGUMENTS
]
CASES += [
    Case("audit refused: an order without a good label", audited(STEPS, ORDER), Refused("Some answers are ordered"))
]


def alpha(judgments: Judgments, **more: Any) -> Any:
    return lambda: krippendorff_alpha(judgments, **more).alpha


def noted(words: str, result: Any) -> None:
    assert words in str(result)


def panel(*answers: str) -> Judgments:
    """Judges as many as words, who answer about pairs as many as letters: same, no constraint."""
    full = {"s": "same", "n": "no_constraint"}
    pairs = [(0, 1), (1, 2), (2, 3)]
    return said(*((f"j{j}", *pairs[k], full[c]) for j, word in enumerate(answers) for k, c in enumerate(word)))


CASES += [
    Case("alpha of full agreement", alpha(panel("sn", "sn")), 1.0),
    # Four answers, three of one kind: observed 1/2 of pairs differ; of 12 ordered pairs 6 differ, 1/2.
    Case("alpha of chance", alpha(panel("sn", "ss")), 0.0),
    # Observed: all differ, 1; expected 2 * 2 * 2 / 12 = 2/3.
    Case("alpha of full disagreement", alpha(panel("sn", "ns")), -0.5),
    Case("alpha of a constant answer", alpha(panel("ss", "ss", "ss")), nan),
    Case("alpha of one judge", alpha(panel("sns")), nan),
    Case("alpha of nobody", alpha(NOTHING), nan),
    Case("alpha without interval", alpha(panel("sn", "sn")), 1.0),
    Case(
        "why alpha is undefined: constant",
        partial(krippendorff_alpha, panel("ss", "ss")),
        partial(noted, "are the same answer"),
    ),
    Case(
        "why alpha is undefined: alone",
        partial(krippendorff_alpha, panel("ss")),
        partial(noted, "answered by two judges"),
    ),
    Case("alpha refused: confidence", alpha(panel("sn", "ss"), confidence=nan), Refused("confidence=nan; allowed")),
    Case("alpha refused: a word for confidence", alpha(panel("sn", "ss"), confidence="x"), Refused("confidence='x'")),
    Case("alpha refused: level", alpha(panel("sn", "ss"), level="five"), Refused("level='five'; allowed")),
    Case("repeats of nobody", lambda: repeat_consistency(NOTHING).overall.share, nan),
    Case("sides of nobody", lambda: position_bias(NOTHING).p_value, nan),
    Case("one ordered answer is no evidence", lambda: position_bias(ORDER).p_value, 1.0),
    Case("checks of nobody", lambda: check_failures(NOTHING).overall.share, nan),
    Case(
        "conflicts of nobody",
        lambda: [len(find_conflicts(NOTHING).opposed), find_conflicts(NOTHING).n_shared_pairs],
        [0, 0],
    ),
    Case("drivers of one answer", lambda: judge_drivers(ENDS).by_judge["found"].astype(float), [0.0]),
    Case("groups of one judge", lambda: cluster_judges(ENDS), partial(noted, "No clear groups of judges")),
    Case("groups of nobody", lambda: cluster_judges(NOTHING), partial(noted, "No clear groups of judges")),
]


@parametrised(CASES)
def test_audits_of_next_to_nothing_are_right_or_refused(case: Case) -> None:
    hold_to_what_is_expected(case)


@pytest.mark.slow
@parametrised(CASES)
def test_audits_give_the_same_when_done_again(case: Case) -> None:
    hold_when_done_again(case)


@pytest.mark.slow
@parametrised(CASES[::3])
def test_audits_give_the_same_on_one_and_two_threads(case: Case) -> None:
    hold_on_one_and_two_threads(case)
