"""Weights of people and of answers: none, one, huge, tiny, and what is no weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.torture_fits import ESTIMATORS, FOUR, HALVES, Fit, fit_case
from tests.support.torturing import (
    Case,
    Refused,
    hold_on_one_and_two_threads,
    hold_to_what_is_expected,
    hold_when_done_again,
    parametrised,
)

# Two pairs of twins with opposite labels: of each pair the lighter is wrong, whatever the model.
TWINS = pd.DataFrame({"x": [0.0, 0.0, 1.0, 1.0]})
IN_TURN = (0, 1, 0, 1)
WEIGHTS: dict[str, tuple[Any, float]] = {
    "all equal": ([1, 1, 1, 1], 0.5),
    "all 1e308, whose sum is endless": ([1e308] * 4, 0.5),
    "all 5e-324, the smallest number": ([5e-324] * 4, 0.5),
    "three to one": ([3, 1, 1, 3], 0.25),
    "three to one, in 1e300": ([3e300, 1e300, 1e300, 3e300], 0.25),
    "three to one, in 1e-300": ([3e-300, 1e-300, 1e-300, 3e-300], 0.25),
    "three to one, in 5e-324": ([1.5e-323, 5e-324, 5e-324, 1.5e-323], 0.25),
    "none for one of each": ([0, 1, 1, 0], 0.0),
    "one person alone": ([0, 0, 0, 1], 0.0),
    "one pair alone": ([0, 0, 1, 3], 0.25),
    "one label alone": ([1, 0, 1, 0], 0.0),
    "next to nothing beside 1": ([1, 1e-300, 1e-300, 1], 0.0),
    "1e-300 beside 1e300": ([1e300, 1e-300, 1e-300, 1e300], 0.0),
    "one outweighs all": ([1, 1, 1, 1e18], 0.0),
    "yes and no": ([True, False, True, True], 1 / 3),
    "whole numbers beyond 2**53": ([2**60, 2**60, 2**60, 2**61], 0.4),
}
CASES = [
    fit_case(f"{name}, {which}", Fit(TWINS, IN_TURN, weight=weight, settings={"estimator": ESTIMATORS[which]}), error)
    for which in ("tree", "linear", "linear-regression")
    for name, (weight, error) in WEIGHTS.items()
]
CASES += [
    fit_case(f"{name}, as an array", Fit(TWINS, IN_TURN, weight=np.array(w)), e) for name, (w, e) in WEIGHTS.items()
]

# Whoever weighs nothing still binds the model; the error of breaking them is then free.
ENDS = (("u", 0, 3, "same"),)
BOUND: dict[str, tuple[Any, float]] = {
    "nobody": ([1, 1, 1, 1], 0.25),
    "one end": ([0, 1, 1, 1], 0.0),
    "both ends": ([0, 1, 1, 0], 0.0),
    "everyone else": ([1, 0, 0, 1], 0.5),
    "one end, nearly": ([1e-12, 1, 1, 1], 0.0),
    "everyone, in 1e-300": ([1e-300] * 4, 0.25),
    "one end much": ([1e12, 1, 1, 1], 0.0),
}
CASES += [fit_case(f"same ends, without weight: {name}", Fit(said=ENDS, weight=w), e) for name, (w, e) in BOUND.items()]

REFUSED: dict[str, tuple[Any, str]] = {
    "all zero": ([0, 0, 0, 0], "Every sample_weight is zero"),
    "a negative one": ([1, 1, -1e-300, 1], "sample_weight is -1e-300 for row 2: weights must not be negative"),
    "all negative": ([-1, -1, -1, -1], "sample_weight is -1.0 for row 0"),
    "a missing one": ([1, np.nan, 1, 1], "sample_weight is NaN for row 1: give every person a number of 0 or more"),
    "an endless one": ([1, 1, 1, np.inf], "sample_weight is infinity for row 3"),
    "too few": ([1, 1, 1], "sample_weight cannot be used"),
    "a table": ([[1, 1], [1, 1]], "sample_weight cannot be used"),
    "words": (["heavy", "light", "light", "light"], "sample_weight cannot be used"),
}
CASES += [Case(f"refused: {name}", Fit(weight=weight), Refused(words)) for name, (weight, words) in REFUSED.items()]


def answers(name: str, ends: float, other: float, eta: float, error: float) -> Case:
    """``same`` about the ends with one weight, ``no_constraint`` about the others with another."""
    said = (("u", 0, 3, "same", ends), ("u", 1, 2, "no_constraint", other))
    return fit_case(name, Fit(FOUR, HALVES, said, settings={"eta": eta}), error)


# The gap may be eta times twice the weight of all answers over that of this one; it saves a quarter of itself.
CASES += [
    answers("answers of equal weight", 1, 1, 0.1, 0.15),
    answers("answers of 1e100", 1e100, 1e100, 0.1, 0.15),
    answers("answers of 1e-100", 1e-100, 1e-100, 0.1, 0.15),
    answers("three to one", 3, 1, 0.15, 0.15),
    answers("three to one, in 1e90", 3e90, 1e90, 0.15, 0.15),
    answers("nothing beside it", 1, 0, 0.1, 0.2),
    answers("1e-100 beside it", 1, 1e-100, 0.1, 0.2),
    answers("1e9 beside it, and as little allowed", 1, 1e9, 1e-10, 0.2),
    answers("hardly any weight", 1e-100, 1, 0.1, 0.0),
    answers("hardly any weight and no budget", 1e-100, 1, 0.0, 0.25),
    answers("no weight at all", 0, 1, 0.0, 0.0),
    answers("nobody has weight", 0, 0, 0.0, 0.0),
]
EXTREME = {"1e101": 1e101, "1.7e308": 1.7e308, "1e-101": 1e-101, "5e-324": 5e-324}
CASES += [
    Case(
        f"refused: an answer of {name}",
        Fit(said=(("u", 0, 3, "same", weight),)),
        Refused(r"row 0 .*column weight: \S+ is too extreme a weight.*allowed: 0, or from 1e-100 to 1e\+100"),
    )
    for name, weight in EXTREME.items()
]


@parametrised(CASES)
def test_weights_count_by_their_ratios_or_are_refused(case: Case) -> None:
    hold_to_what_is_expected(case)


@pytest.mark.slow
@parametrised(CASES)
def test_weights_give_the_same_when_done_again(case: Case) -> None:
    hold_when_done_again(case)


@pytest.mark.slow
@parametrised(CASES[::3])
def test_weights_give_the_same_on_one_and_two_threads(case: Case) -> None:
    hold_on_one_and_two_threads(case)
