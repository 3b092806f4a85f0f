from __future__ import annotations

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from fairwise.cli.options import budget, fraction, fractions, group_rule, names, sizes

hundredths = st.integers(0, 100)


@given(start=hundredths, width=hundredths, step=st.integers(1, 40))
def test_a_range_has_both_ends_and_even_steps(start: int, width: int, step: int) -> None:
    stop = min(100, start + width)
    values = fractions(f"{start / 100}:{stop / 100}:{step / 100}")
    assert values[0] == start / 100
    assert values[-1] == stop / 100
    # Every value is the number that a person would write, not one with a rounding error.
    assert set(values) == {*(i / 100 for i in range(start, stop, step)), stop / 100}
    assert list(values) == sorted(values)


@given(st.lists(hundredths, min_size=1, max_size=8))
def test_a_list_is_sorted_and_has_each_value_once(numbers: list[int]) -> None:
    assert fractions(" , ".join(str(n / 100) for n in numbers)) == tuple(sorted({n / 100 for n in numbers}))


def test_ranges_and_numbers_can_be_mixed() -> None:
    assert fractions("0.5,0:0.2:0.1") == (0.0, 0.1, 0.2, 0.5)
    assert fractions("0:1:0.3") == (0.0, 0.3, 0.6, 0.9, 1.0)
    assert sizes("100,10:30:10") == (10, 20, 30, 100)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "'' in '' is not a number"),
        ("0:1", "from:to:step"),
        ("0:1:0.1:2", "from:to:step"),
        ("0:1:0", "step above 0"),
        ("1:0:0.1", "goes up"),
        ("0:1:x", "'x' in '0:1:x' is not a number"),
        ("0:2:0.5", "1.5 is not a number from 0 to 1"),
        ("-0.1", "-0.1 is not a number from 0 to 1"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("1e-999999", "not a number"),
        ("0:1:0.0000001", "at most 10000"),
    ],
)
def test_refused_ranges(text: str, part: str) -> None:
    with pytest.raises(typer.BadParameter, match=part.replace("(", r"\(")):
        fractions(text)


@given(st.text(max_size=12))
def test_any_text_is_a_range_or_refused(text: str) -> None:
    try:
        values = fractions(text)
    except typer.BadParameter:
        return
    assert values
    assert all(0 <= value <= 1 for value in values)


@pytest.mark.parametrize("text", ["0", "1.5", "-3"])
def test_sizes_are_whole_numbers_from_1(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="whole number from 1"):
        sizes(text)


def test_budgets() -> None:
    assert [budget(text) for text in ("None", "0.25", "0")] == [None, 0.25, 0]
    for text in ("nan", "2", "much", "inf"):
        with pytest.raises(typer.BadParameter, match="number from 0 to 1"):
            fraction(text)


def test_rules_for_groups() -> None:
    assert group_rule("tpr:0.1:race + sex").columns == ("race", "sex")
    assert group_rule("eo:0.1:a:b").columns == ("a:b",)
    for text, part in [
        ("fnr:0.1:race", "dp, tpr, fpr, eo, error"),
        ("fpr:0.1", "rate:bound:column"),
        ("fpr:x:r", "'x'"),
    ]:
        with pytest.raises(typer.BadParameter, match=part):
            group_rule(text)


def test_names() -> None:
    assert names(" race,, sex ") == ("race", "sex")
    assert names("") == ()
