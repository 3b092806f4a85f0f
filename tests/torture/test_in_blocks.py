"""Odd columns of tables that are read in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.torture_fits import FOUR, HALVES
from tests.support.torturing import (
    Case,
    Refusal,
    Refused,
    come_of,
    hold_on_one_and_two_threads,
    hold_to_what_is_expected,
    hold_when_done_again,
    parametrised,
)

from fairwise import PairwiseFairClassifier


def in_blocks(estimator: str, column: Any) -> Any:
    """The error of a model of two blocks of four people each."""
    block = pd.DataFrame({"x": column, "y": HALVES})
    return lambda: PairwiseFairClassifier(estimator).fit(iter([block, block]), "y").certificate_.error


def case(name: str, estimator: str, column: Any, expected: Any) -> Case:
    return Case(f"{name}, {estimator}", in_blocks(estimator, column), expected)


X = FOUR["x"].to_numpy()
CASES = [
    one
    for estimator in ("linear", "linear-regression")
    for one in (
        *(case(f"numbers times {scale:g}", estimator, X * scale, 0.0) for scale in (1, 1e9, 1e-9, 1e140, 1e-150)),
        case("numbers plus 1e15", estimator, X + 1e15, 0.0),
        case("a constant column", estimator, X * 0, 0.5),
        case("refused: 1e200", estimator, X * 1e200, Refused("Column 'x' holds numbers too large to be scaled")),
        case("refused: infinity", estimator, [0, 1, 2, np.inf], Refused("Column 'x' is infinity for person 3")),
        case(
            "refused: beyond 2**53", estimator, [0, 1, 2, 2**53 + 1], Refused(f"Column 'x' is {2**53 + 1} for person 3")
        ),
    )
]


@parametrised(CASES)
def test_odd_columns_in_blocks_give_the_right_answer_or_a_clear_refusal(case: Case) -> None:
    hold_to_what_is_expected(case)


@pytest.mark.slow
@parametrised(CASES)
def test_odd_columns_in_blocks_give_the_same_when_done_again(case: Case) -> None:
    hold_when_done_again(case)


@pytest.mark.slow
@parametrised(CASES[::3])
def test_odd_columns_in_blocks_give_the_same_on_one_and_two_threads(case: Case) -> None:
    hold_on_one_and_two_threads(case)


def test_numbers_of_1e_200_are_told_apart_in_blocks_or_refused() -> None:
    result = come_of(case("", "linear-regression", X * 1e-200, 0.0))
    assert isinstance(result, Refusal) or result == 0.0
