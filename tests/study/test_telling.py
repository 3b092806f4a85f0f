"""What tells the outcome is not shown, also where there are several decisions or amounts; what only points to it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.study.new_study import telling_columns

LABELS = ["deny", "conditions", "release"]
THREE = [LABELS[k % 3] for k in range(30)]
LENT = [100.0 * (k * 7 % 30) for k in range(30)]


def told(results: list[Any], *, amounts: bool = False, **columns: list[Any]) -> dict[str, str]:
    return telling_columns(pa.table(columns), "given", pa.chunked_array([pa.array(results)]), amounts=amounts)


def test_the_same_three_decisions_in_other_words() -> None:
    again = [{"deny": "c", "conditions": "a", "release": "b"}[label] for label in THREE]
    assert told(THREE, again=again)["again"].startswith("this tells everyone's outcome, 'given'")
    assert not told(THREE, nearly=["a", "b", "c", *again[3:]])


@pytest.mark.parametrize(
    ("levels", "sides"),
    [
        ((0, 10, 20), "given = conditions or release has a higher number here than everyone with given = deny"),
        ((10, 10, 20), "given = release has a higher number here than everyone with given = deny or conditions"),
        ((5, 1, 5), "given = deny or release has a higher number here than everyone with given = conditions"),
    ],
)
def test_a_threshold_that_parts_some_decisions_from_the_others(levels: tuple[int, ...], sides: str) -> None:
    numbers = [levels[LABELS.index(label)] + k / 100 for k, label in enumerate(THREE)]
    assert sides in told(THREE, numbers=numbers)["numbers"]
    mixed = [*numbers[:-1], 100.0 if numbers[-1] < 5 else -100.0]
    assert not told(THREE, mixed=mixed)


def test_a_value_that_only_one_of_three_decisions_has() -> None:
    cell = ["yes" if label == "deny" else "no" for label in THREE]
    assert "whether it is given = deny can be read from it for certain" in told(THREE, cell=cell)["cell"]
    assert not told(THREE, cell=["no", *cell[1:]])
    few = ["deny" if k < 7 else label for k, label in enumerate(["conditions", "release"] * 10)]  # seven of them
    assert not told(few, cell=["yes" if label == "deny" else "no" for label in few])


def test_the_same_amount_in_another_currency_or_from_the_other_end() -> None:
    for numbers, words in (
        ([amount * 0.51 for amount in LENT], "has a higher number"),
        ([10_000 - amount for amount in LENT], "has a lower number"),
        ([float(amount > 1500) for amount in LENT], "everyone with given above 1500 has a higher number"),
        ([float(amount <= 1500) for amount in LENT], "everyone with given above 1500 has a lower number"),
    ):
        assert words in told(LENT, amounts=True, numbers=numbers)["numbers"]


def test_amounts_of_which_everybody_has_another_are_not_all_alike() -> None:
    """Ages differ for everyone, as amounts do, and say nothing of them."""
    ages = [float(k * 11 % 30) for k in range(30)]
    assert not told(LENT, amounts=True, ages=ages)
    assert not told(LENT, amounts=True, town=[f"town {k}" for k in range(30)])
    some = [float(k // 3 * 7 % 10) for k in range(30)]  # three people have the same
    assert "this tells everyone's" in told(some, amounts=True, words=[f"about {amount}" for amount in some])["words"]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=16, max_size=40),
    st.booleans(),
)
def test_a_threshold_is_found_if_and_only_if_there_is_one(rows: list[tuple[int, int]], amounts: bool) -> None:
    outcome, numbers = (np.array(column) for column in zip(*rows, strict=True))
    found = "threshold" in told(outcome.tolist(), amounts=amounts, numbers=numbers.astype(float).tolist()).get(
        "numbers", ""
    )
    there = False
    for cut in range(1, 6):
        above = numbers >= cut
        if min(above.sum(), (~above).sum()) >= 8:
            high, low = set(outcome[above]), set(outcome[~above])
            there |= (min(high) > max(low) or max(high) < min(low)) if amounts else not high & low
    same = len(rows) >= 20 and "tells everyone's" in told(
        outcome.tolist(), amounts=amounts, numbers=numbers.astype(float).tolist()
    ).get("numbers", "")
    assert found == (there and not same)
