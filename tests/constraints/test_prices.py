"""What each judgment costs, shared among those who gave it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.constraints.pairs import PairRows, price_table

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from fairwise.judgments import Judgments

    Said = Callable[..., Judgments]


def priced(
    rows: PairRows, multipliers: dict[tuple[str, str], float], level: dict[str, float] | None = None, gamma: float = 0.1
) -> pd.DataFrame:
    """Prices for multipliers by ``(reference, owed)`` and favourable probabilities by name."""
    names = list(zip(rows.people[rows.reference], rows.people[rows.owed], strict=True))
    values = np.array([multipliers.get(name, 0.0) for name in names])
    favorable = np.array([(level or {}).get(person, 0.5) for person in rows.people])
    return price_table(rows, values, favorable, gamma)


def column(table: pd.DataFrame, name: str) -> list[Any]:
    return [pytest.approx(value) for value in table[name].tolist()]


def test_one_line_for_every_answer_that_counts(said: Said) -> None:
    rows = PairRows.from_judgments(said(("ann", "x", "y", "same"), ("bea", "x", "z", "no_constraint")))
    table = priced(rows, {})
    assert table.columns.tolist() == ["judge", "a", "b", "answer", "price", "violation", "excess", "status"]
    assert table[["judge", "a", "b", "answer"]].to_numpy().tolist() == [
        ["ann", "x", "y", "same"],
        ["bea", "x", "z", "no_constraint"],
    ]


def test_a_price_is_the_multiplier_of_its_row(said: Said) -> None:
    rows = PairRows.from_judgments(said(("ann", "x", "y", "a_at_least_b"), ("ann", "y", "z", "b_at_least_a")))
    assert column(priced(rows, {("y", "x"): 0.3, ("y", "z"): 0.2}), "price") == [0.3, 0.2]


def test_where_both_directions_are_charged_only_the_difference_counts(said: Said) -> None:
    rows = PairRows.from_judgments(said(("ann", "x", "y", "same")))
    assert column(priced(rows, {("x", "y"): 0.5, ("y", "x"): 0.2}), "price") == [0.3]
    assert column(priced(rows, {("x", "y"): 0.5, ("y", "x"): 0.5}), "price") == [0.0]
    assert column(priced(rows, {("x", "y"): 0.0, ("y", "x"): 0.5}), "price") == [0.5]


def test_directions_asked_for_by_different_judges_are_netted_too(said: Said) -> None:
    rows = PairRows.from_judgments(said(("ann", "x", "y", "a_at_least_b"), ("bea", "x", "y", "b_at_least_a")))
    assert column(priced(rows, {("y", "x"): 0.5, ("x", "y"): 0.2}), "price") == [0.3, 0.0]


def test_judges_share_a_price_by_their_weights(said: Said) -> None:
    rows = PairRows.from_judgments(
        said(
            ("ann", "x", "y", "same", 3.0),
            ("bea", "y", "x", "b_at_least_a", 1.0),  # owes x what y gets, like ann
            ("cal", "x", "y", "no_constraint", 9.0),
            ("dan", "x", "y", "a_at_least_b", 0.0),
        )
    )
    assert column(priced(rows, {("y", "x"): 0.4}), "price") == [0.3, 0.1, 0.0, 0.0]


def test_answers_of_no_weight_share_what_a_judges_budget_makes_them_cost(said: Said) -> None:
    """Weights are the panel's affair: a judge's own budget can put a price on a row that nobody's weight is behind."""
    rows = PairRows.from_judgments(said(("ann", "x", "y", "a_at_least_b", 0.0), ("bea", "x", "y", "a_at_least_b", 0.0)))
    assert column(priced(rows, {("y", "x"): 0.4}), "price") == [0.2, 0.2]


def test_prices_add_up_to_the_net_multipliers(said: Said) -> None:
    rng = np.random.default_rng(0)
    answers = ["same", "a_at_least_b", "b_at_least_a", "no_constraint"]
    for _ in range(20):
        shown = [
            (judge, a, b, str(rng.choice(answers)), float(rng.choice([0.5, 1.0, 2.0])))
            for judge in "uvw"
            for a, b in ("pq", "qr", "pr")
        ]
        rows = PairRows.from_judgments(said(*shown))
        multipliers = rng.random(len(rows)) * rng.integers(2, size=len(rows))
        by_name = dict(zip(zip(rows.reference, rows.owed, strict=True), multipliers, strict=True))
        net = sum(value - min(value, by_name.get((j, i), 0.0)) for (i, j), value in by_name.items())
        table = price_table(rows, multipliers, np.zeros(len(rows.people)), 0.1)
        assert table["price"].sum() == pytest.approx(net)
        assert (table["price"] >= 0).all()


def test_violation_and_excess_are_those_of_the_answer(said: Said) -> None:
    rows = PairRows.from_judgments(
        said(
            ("ann", "x", "y", "same"),
            ("bea", "x", "y", "a_at_least_b"),
            ("cal", "x", "y", "b_at_least_a"),
            ("dan", "x", "y", "no_constraint"),
        )
    )
    table = priced(rows, {}, {"x": 0.2, "y": 0.55}, gamma=0.1)
    assert column(table, "violation") == [0.35, 0.35, 0.0, 0.0]
    assert column(table, "excess") == [0.25, 0.25, 0.0, 0.0]
    assert table["status"].tolist() == ["not followed", "not followed", "followed", "asks nothing"]


def test_nobody_said_anything(said: Said) -> None:
    assert len(priced(PairRows.from_judgments(said()), {})) == 0
