"""Which ordered pairs an answer puts in force, and with what weight."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from fairwise.constraints.pairs import PairRows
from fairwise.judgments import Answer, Judgments

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.constraints.pairs import Weighting

    Said = Callable[..., Judgments]


def in_force(rows: PairRows) -> dict[tuple[Any, Any], float]:
    """``(reference, owed)`` by name, with the mass behind each."""
    pairs = zip(rows.people[rows.reference].tolist(), rows.people[rows.owed].tolist(), strict=True)
    return dict(zip(pairs, rows.mass.tolist(), strict=True))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("a_at_least_b", {("b", "a")}),
        ("b_at_least_a", {("a", "b")}),
        ("same", {("a", "b"), ("b", "a")}),
        ("no_constraint", set()),
    ],
)
def test_each_answer_puts_its_ordered_pairs_in_force(said: Said, answer: str, expected: set[tuple[str, str]]) -> None:
    rows = PairRows.from_judgments(said(("j", "a", "b", answer)))
    assert set(in_force(rows)) == expected
    assert len(rows) == len(expected)


def test_a_at_least_b_bounds_what_b_gets_beyond_a(said: Said) -> None:
    rows = PairRows.from_judgments(said(("j", "a", "b", "a_at_least_b")))
    favorable = np.where(rows.people == "b", 0.9, 0.2)
    assert rows.differences(favorable) == pytest.approx([0.7])
    assert rows.violations(favorable) == pytest.approx([0.7])
    assert rows.violations(1 - favorable) == pytest.approx([0.0])  # the other way round earns no credit


def test_swapping_sides_changes_nothing(said: Said) -> None:
    for answer in Answer:
        one = PairRows.from_judgments(said(("j", "a", "b", answer)))
        other = PairRows.from_judgments(said(("j", "b", "a", answer.swapped())))
        assert in_force(one) == in_force(other)


def test_mass_adds_the_weights_of_all_answers_behind_a_row(said: Said) -> None:
    rows = PairRows.from_judgments(
        said(
            ("ann", 1, 2, "same", 2.0),
            ("bea", 2, 1, "a_at_least_b", 0.5),  # owes 2 what 1 gets
            ("cal", 1, 2, "b_at_least_a", 0.25),  # the same thing
            ("dan", 1, 2, "no_constraint", 100.0),
        )
    )
    assert in_force(rows) == {(2, 1): 2.0, (1, 2): 2.75}


def test_only_people_in_some_row_are_listed(said: Said) -> None:
    rows = PairRows.from_judgments(
        said(("j", 1, 2, "no_constraint"), ("j", 3, 4, "same"), ("j", 5, 4, "no_constraint"))
    )
    assert set(rows.people) == {3, 4}
    assert len(rows.answers) == 3


def test_without_answers_there_is_nothing_to_keep(said: Said) -> None:
    for judgments in (said(), said(("j", 1, 2, "no_constraint"))):
        rows = PairRows.from_judgments(judgments)
        assert len(rows) == len(rows.people) == 0
        assert rows.mean_violation(np.empty(0)) == 0.0
        assert rows.adjoint(np.empty(0)).shape == (0,)
        assert rows.shares("answers").shape == rows.shares("panel").shape == (0,)


def test_repeats_and_checks_put_nothing_in_force() -> None:
    rows = [
        {"judge": "j", "a": 1, "b": 2, "answer": "same", "design": "uniform", "round": 1},
        {"judge": "j", "a": 1, "b": 2, "answer": "a_at_least_b", "design": "repeat", "round": 2},
        {"judge": "j", "a": 3, "b": 4, "answer": "same", "design": "check", "round": 1},
    ]
    assert set(in_force(PairRows.from_judgments(Judgments(rows)))) == {(1, 2), (2, 1)}
    everything = PairRows.from_judgments(Judgments(rows, measured_only=(), rounds="all"))
    assert in_force(everything) == {(1, 2): 1.0, (2, 1): 2.0, (3, 4): 1.0, (4, 3): 1.0}


def test_of_several_rounds_the_last_counts() -> None:
    rows = [
        {"judge": "j", "a": 1, "b": 2, "answer": "same", "round": 1},
        {"judge": "j", "a": 2, "b": 1, "answer": "a_at_least_b", "round": 2},
    ]
    assert in_force(PairRows.from_judgments(Judgments(rows))) == {(1, 2): 1.0}
    assert in_force(PairRows.from_judgments(Judgments(rows, rounds="all"))) == {(1, 2): 2.0, (2, 1): 1.0}


def test_mean_violation_is_that_of_the_same_answers(said: Said) -> None:
    rows = PairRows.from_judgments(
        said(
            ("ann", "a", "b", "same", 3.0),
            ("bea", "b", "c", "same", 1.0),
            ("bea", "a", "c", "a_at_least_b", 50.0),
            ("bea", "a", "d", "no_constraint", 50.0),
        )
    )
    level = {"a": 0.1, "b": 0.5, "c": 0.4}
    favorable = np.array([level[person] for person in rows.people])
    assert rows.mean_violation(favorable) == pytest.approx((3 * 0.4 + 1 * 0.1) / 4)


def test_mean_violation_of_weightless_answers_is_nothing(said: Said) -> None:
    rows = PairRows.from_judgments(said(("ann", "a", "b", "same", 0.0)))
    assert rows.mean_violation(np.array([0.0, 1.0])) == 0.0


Panel = list[tuple[str, int, int, str, float]]


@st.composite
def panels(draw: st.DrawFn) -> Panel:
    """Any panel: up to four judges and six people, all answers, several weights, each pair once per judge."""
    shown = st.sampled_from([(judge, *pair) for judge in "abcd" for pair in combinations(range(6), 2)])
    rest = st.tuples(st.booleans(), st.sampled_from(list(Answer)), st.sampled_from([1.0, 0.5, 2.0, 0.0]))
    rows = draw(st.lists(st.tuples(shown, rest), max_size=20, unique_by=lambda row: row[0]))
    return [
        (judge, second, first, str(answer), weight) if swapped else (judge, first, second, str(answer), weight)
        for (judge, first, second), (swapped, answer, weight) in rows
    ]


def numbers(low: float, high: float, size: int) -> st.SearchStrategy[Any]:
    return st.lists(st.floats(low, high), min_size=size, max_size=size).map(np.array)


@examples(40)
@given(panels(), st.data())
def test_adjoint_is_the_transpose_of_differences(said: Said, panel: Panel, data: st.DataObject) -> None:
    rows = PairRows.from_judgments(said(*panel))
    if len(rows) == 0:
        return
    probabilities = data.draw(numbers(0, 1, len(rows.people)))
    multipliers = data.draw(numbers(0, 10, len(rows)))
    left = rows.differences(probabilities) @ multipliers
    assert left == pytest.approx(probabilities @ rows.adjoint(multipliers), abs=1e-9)


@examples(40)
@given(panels())
def test_rows_are_what_the_answers_say_one_by_one(said: Said, panel: Panel) -> None:
    expected: dict[tuple[Any, Any], float] = {}
    for _, a, b, answer, weight in panel:
        if answer in {"same", "a_at_least_b"}:
            expected[b, a] = expected.get((b, a), 0.0) + weight
        if answer in {"same", "b_at_least_a"}:
            expected[a, b] = expected.get((a, b), 0.0) + weight
    assert in_force(PairRows.from_judgments(said(*panel))) == expected


@examples(40)
@given(panels())
def test_every_entry_names_an_answer_that_asked_for_its_row(said: Said, panel: Panel) -> None:
    rows = PairRows.from_judgments(said(*panel))
    for row, answer in zip(rows.entry_row, rows.entry_answer, strict=True):
        _, a, b, given_answer, _ = panel[answer]
        asked = (rows.people[rows.reference[row]], rows.people[rows.owed[row]])
        allowed = {"same": {(a, b), (b, a)}, "a_at_least_b": {(b, a)}, "b_at_least_a": {(a, b)}}
        assert asked in allowed[given_answer]
    per_answer = np.bincount(rows.entry_answer, minlength=len(panel)).tolist()
    assert per_answer == [{"same": 2, "no_constraint": 0}.get(row[3], 1) for row in panel]


@examples(40)
@given(panels())
def test_answers_about_the_same_two_people_share_a_number(said: Said, panel: Panel) -> None:
    number = PairRows.from_judgments(said(*panel)).answer_pair.tolist()
    pairs = [frozenset(row[1:3]) for row in panel]
    assert len(set(zip(pairs, number, strict=True))) == len(set(pairs)) == len(set(number))


@examples(40)
@given(panels())
def test_a_judgment_of_two_judges_equals_one_of_double_weight(said: Said, panel: Panel) -> None:
    twins = [(f"{judge} again", *rest) for judge, *rest in panel]
    twice = PairRows.from_judgments(said(*panel, *twins))
    heavy = PairRows.from_judgments(said(*[(*row[:4], 2 * row[4]) for row in panel]))
    assert in_force(twice) == in_force(heavy)
    assert dict(zip(in_force(twice), twice.shares("answers"), strict=True)) == pytest.approx(
        dict(zip(in_force(heavy), heavy.shares("answers"), strict=True))
    )
    favorable = np.linspace(0, 1, len(heavy.people))
    level = dict(zip(heavy.people, favorable, strict=True))
    again = np.array([level[person] for person in twice.people])
    assert twice.mean_violation(again) == pytest.approx(heavy.mean_violation(favorable))


def by_pair(rows: PairRows, values: Any) -> dict[tuple[Any, Any], float]:
    pairs = zip(rows.people[rows.reference].tolist(), rows.people[rows.owed].tolist(), strict=True)
    return dict(zip(pairs, np.asarray(values).tolist(), strict=True))


def test_answers_are_divided_by_twice_all_weights_unconstrained_ones_included(said: Said) -> None:
    rows = PairRows.from_judgments(
        said(("ann", 1, 2, "same", 1.0), ("ann", 1, 3, "no_constraint", 4.0), ("bea", 2, 1, "a_at_least_b", 0.5))
    )
    whole = 2 * (1.0 + 4.0 + 0.5)
    assert by_pair(rows, rows.shares("answers")) == pytest.approx({(2, 1): 1 / whole, (1, 2): 1.5 / whole})


def test_panel_divides_by_judges_and_by_twice_the_distinct_pairs_shown(said: Said) -> None:
    rows = PairRows.from_judgments(
        said(
            ("ann", 1, 2, "same"),
            ("bea", 2, 1, "same"),  # the same two people, so not another pair
            ("bea", 1, 3, "no_constraint"),
            ("cal", 3, 4, "a_at_least_b"),
        )
    )
    whole = 3 * 2 * 3  # three judges, twice three pairs
    assert by_pair(rows, rows.shares("panel")) == pytest.approx(
        {(2, 1): 2 / whole, (1, 2): 2 / whole, (4, 3): 1 / whole}
    )


def test_both_agree_where_all_judges_see_the_same_pairs(said: Said) -> None:
    answers = {
        "ann": ("same", "no_constraint"),
        "bea": ("a_at_least_b", "same"),
        "cal": ("no_constraint", "no_constraint"),
    }
    shown = [
        (judge, "p", other, answer) for judge, both in answers.items() for other, answer in zip("qr", both, strict=True)
    ]
    rows = PairRows.from_judgments(said(*shown))
    assert rows.shares("panel") == pytest.approx(rows.shares("answers"))


@pytest.mark.parametrize("weighting", ["answers", "panel"])
def test_wronging_everyone_as_much_as_one_can_is_a_mean_of_one_half(said: Said, weighting: Weighting) -> None:
    """Of the two directions of ``same`` only one can be violated, and |A| counts both."""
    rows = PairRows.from_judgments(said(*[(judge, *pair, "same") for judge in "jk" for pair in ((1, 2), (3, 4))]))
    excess = rows.violations(np.where(np.isin(rows.people, [1, 3]), 1.0, 0.0))
    assert rows.shares(weighting) @ excess == pytest.approx(0.5)


def test_answers_without_weight_have_no_share(said: Said) -> None:
    rows = PairRows.from_judgments(said(("ann", 1, 2, "same", 0.0)))
    assert rows.shares("answers").tolist() == [0.0, 0.0]


GOOD_LABEL = {"Williams": 0.5, "Blake": 0.8, "McEnroe": 0.9}


def test_80_percent_against_50_at_gamma_one_tenth_is_an_excess_of_two_tenths(said: Said) -> None:
    rows = PairRows.from_judgments(said(("Blake", "Williams", "Blake", "a_at_least_b")))
    violation = rows.violations(np.array([GOOD_LABEL[person] for person in rows.people]))
    assert violation == pytest.approx([0.3])
    assert np.maximum(violation - 0.1, 0.0) == pytest.approx([0.2])


def test_half_and_seventy_percent_of_stakeholders_break_eta_007(said: Said) -> None:
    """|A| = 6: three people, every pair shown to all ten stakeholders, in both orders."""
    shown = []
    for judge in range(10):
        shown += [
            (judge, "Williams", "Blake", "a_at_least_b" if judge < 5 else "no_constraint"),
            (judge, "Williams", "McEnroe", "a_at_least_b" if judge < 7 else "no_constraint"),
            (judge, "Blake", "McEnroe", "no_constraint"),
        ]
    rows = PairRows.from_judgments(said(*shown))
    excess = rows.violations(np.array([GOOD_LABEL[person] for person in rows.people]))
    expected = (0.5 * 0.3 + 0.7 * 0.4) / 6
    assert round(expected, 4) == 0.0717
    assert rows.shares("panel") @ excess == pytest.approx(expected)
    assert rows.shares("answers") @ excess == pytest.approx(expected)  # all judges saw the same pairs
    assert rows.shares("panel") @ excess > 0.07
