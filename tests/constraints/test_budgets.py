"""How much excess the panel and each judge may suffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.constraints.budgets import Budget, judge_budgets, panel_budget
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.judgments import Judgments

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def rows(said: Callable[..., Judgments]) -> PairRows:
    return PairRows.from_judgments(
        said(
            ("ann", 1, 2, "same"),
            ("ann", 3, 4, "no_constraint"),
            ("bea", 2, 1, "a_at_least_b", 5.0),
            ("cal", 1, 3, "no_constraint"),
            ("dan", 5, 6, "same", 0.0),
        )
    )


def by_pair(rows: PairRows, budget: Budget) -> dict[tuple[Any, Any], float]:
    reference, owed = rows.people[rows.reference[budget.rows]], rows.people[rows.owed[budget.rows]]
    return dict(zip(zip(reference.tolist(), owed.tolist(), strict=True), budget.shares.tolist(), strict=True))


def test_the_panel_budget_is_mean_excess(rows: PairRows) -> None:
    for weighting in ("answers", "panel"):
        budget = panel_budget(rows, 0.25, weighting)
        excess = np.linspace(0.1, 0.9, len(rows))
        assert budget.limit == 0.25
        assert budget.shares @ excess[budget.rows] == pytest.approx(rows.shares(weighting) @ excess)


def test_rows_of_no_weight_are_free_even_where_no_excess_is_allowed(rows: PairRows) -> None:
    assert set(by_pair(rows, panel_budget(rows, 0.0, "answers"))) == {(1, 2), (2, 1)}


def test_a_judge_counts_their_own_rows_over_twice_the_pairs_shown_to_them(rows: PairRows) -> None:
    budgets = {budget.name: budget for budget in judge_budgets(rows, 0.1)}
    assert set(budgets) == {"judge ann", "judge bea", "judge dan"}  # cal asked for nothing
    assert by_pair(rows, budgets["judge ann"]) == {(1, 2): 1 / 4, (2, 1): 1 / 4}
    assert by_pair(rows, budgets["judge bea"]) == {(1, 2): 1 / 2}  # weights are the panel's affair
    assert by_pair(rows, budgets["judge dan"]) == {(5, 6): 1 / 2, (6, 5): 1 / 2}
    assert {budget.limit for budget in budgets.values()} == {0.1}


def test_a_pair_answered_in_two_rounds_counts_once() -> None:
    shown = [{"judge": "ann", "a": 1, "b": 2, "answer": "same", "round": number} for number in (1, 2)]
    rows = PairRows.from_judgments(Judgments(shown, rounds="all"))
    (budget,) = judge_budgets(rows, 0.1)
    assert by_pair(rows, budget) == {(1, 2): 1 / 2, (2, 1): 1 / 2}


def test_limits_by_name_leave_the_others_without_a_budget(rows: PairRows) -> None:
    (budget,) = judge_budgets(rows, {"bea": 0.3, "cal": 0.0})
    assert (budget.name, budget.limit) == ("judge bea", 0.3)


def test_judges_may_be_numbers(said: Callable[..., Judgments]) -> None:
    rows = PairRows.from_judgments(said((7, 1, 2, "same"), (8, 1, 2, "same")))
    (budget,) = judge_budgets(rows, {8: 0.2})
    assert budget.name == "judge 8"


def test_an_unknown_judge_is_named(rows: PairRows) -> None:
    with pytest.raises(InputError, match="judge_budgets names 'zoe', who gave no answer that counts"):
        judge_budgets(rows, {"ann": 0.1, "zoe": 0.1})
