"""The bounds are the formulas of the notes, in logarithms, and say so when they say nothing."""

from __future__ import annotations

from math import e, exp, log, sqrt
from typing import Any

import pytest

from fairwise.auditing import theorems
from fairwise.auditing.theorems import (
    corrected_error,
    corrected_fairness,
    hoeffding,
    sharper_fairness,
    smallest_deviation,
    stated_error,
    stated_fairness,
)
from fairwise.errors import InputError

STUDY = {"n": 5829, "m": 2 * 43 * 50, "d": 13}


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.1, 0.5])
def test_about_047_at_a_hundred_thousand_whatever_delta(delta: float) -> None:
    assert sharper_fairness(10**5, 10**5, 12, delta).deviation == pytest.approx(0.47, abs=0.005)
    assert not sharper_fairness(10**5, 10**5, 12, delta).vacuous


def test_the_sharper_bound_is_vacuous_at_study_size_and_says_so() -> None:
    bound = sharper_fairness(**STUDY, delta=0.05)
    assert bound.deviation > 1
    assert bound.vacuous
    assert "vacuous" in str(bound)


def test_both_forms_of_the_theorem_are_vacuous_at_study_size() -> None:
    for theorem in (stated_fairness, corrected_fairness):
        for eps in (0.01, 0.1, 0.25, 0.49):
            bound = theorem(**STUDY, eps=eps)
            assert bound.vacuous
            assert "vacuous" in str(bound)
            assert bound.failure == 1.0  # and not an overflow
        assert smallest_deviation(theorem, **STUDY, delta=0.05).vacuous


def test_small_cases_by_direct_evaluation() -> None:
    """d = 1 and an exaggerated n, where nothing overflows."""
    n, d, eps = 4, 1, 1.0
    for m in (1, 3):
        k, k_pairs = log(2 * n**2) / 8 + 1, 2 * log(2 * m) + 1
        first, second = 8 * (2 * e * n) ** k * exp(-n / 32), (2 * e * n) ** k_pairs * exp(-8 * m)
        assert stated_fairness(n, m, d, eps).log_failure == pytest.approx(log(first + second), rel=1e-9)
    n, m = 4, 3
    k, k_pairs = int(128 * log(4 * n)) + 1, int(32 * log(2 * n)) + 1
    first = log(4) + k * log(2 * e * n) - n / 32
    second = log(2) + k_pairs * log(e * n) - m / 2
    assert corrected_fairness(n, m, d, eps).log_failure == pytest.approx(first + log(1 + exp(second - first)))
    assert corrected_fairness(n, m, d, eps).deviation == 2 * eps + 1 / n


def test_with_enough_people_the_theorem_says_something() -> None:
    bound = smallest_deviation(corrected_fairness, 10**12, 10**12, 12, 0.05)
    assert not bound.vacuous
    assert bound.failure <= 0.05
    assert corrected_fairness(10**12, 10**12, 12, (bound.deviation - 1e-12) / 2 * 0.999).failure > 0.05
    assert sharper_fairness(10**12, 10**12, 12, 0.05).deviation < bound.deviation / 100


def test_the_printed_theorem_promises_more_than_the_corrected_one() -> None:
    stated, corrected = (
        smallest_deviation(theorem, 10**10, 10**10, 12, 0.05) for theorem in (stated_fairness, corrected_fairness)
    )
    assert stated.deviation < corrected.deviation
    assert not stated.proved
    assert corrected.proved


def test_error_has_an_order_as_stated_and_a_constant_as_corrected() -> None:
    stated, corrected = stated_error(10**5, 12, 0.05), corrected_error(10**5, 12, 0.05)
    assert stated.deviation == pytest.approx(sqrt((12 + log(20)) / 10**5))
    assert "not a bound" in str(stated)
    assert corrected.deviation == pytest.approx(
        2 * sqrt(24 * log(e * 10**5 / 12) / 10**5) + sqrt(log(40) / (2 * 10**5))
    )
    assert not corrected.vacuous
    assert corrected_error(30, 12, 0.05).vacuous


def test_more_people_more_pairs_and_a_smaller_class_help() -> None:
    base = sharper_fairness(10**5, 10**5, 12, 0.05).deviation
    assert sharper_fairness(2 * 10**5, 10**5, 12, 0.05).deviation < base
    assert sharper_fairness(10**5, 2 * 10**5, 12, 0.05).deviation < base
    assert sharper_fairness(10**5, 10**5, 6, 0.05).deviation < base


def test_the_table_has_every_bound_and_a_sentence() -> None:
    table = theorems(**STUDY)
    assert list(zip(table["about"], table["version"], strict=True)) == [
        ("error", "stated"),
        ("error", "corrected"),
        ("fairness loss", "stated"),
        ("fairness loss", "corrected"),
        ("fairness loss", "sharper"),
    ]
    assert table["vacuous"].tolist() == [False, False, True, True, True]
    assert all(("vacuous" in says) == vacuous for says, vacuous in zip(table["says"], table["vacuous"], strict=True))


def test_hoeffding() -> None:
    assert hoeffding(43, 0.05) == pytest.approx(sqrt(log(40) / 86))
    assert hoeffding(0, 0.05) == float("inf")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n": 0}, "n=0 is not allowed"),
        ({"m": 2.5}, "m=2.5 is not allowed"),
        ({"d": -1}, "d=-1 is not allowed"),
        ({"delta": 0}, "delta=0 is not allowed: it must be a number between 0 and 1"),
        ({"n": 20}, "n=20 people for d=13"),
    ],
)
def test_refusals(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        theorems(**(STUDY | changed))


def test_eps_must_be_above_zero() -> None:
    with pytest.raises(InputError, match="eps=0"):
        stated_fairness(**STUDY, eps=0)
