"""How much excess the panel, each judge and each group of judges may suffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from fairwise.constraints.pairs import Budget, PairRows, attribute_budgets, judge_budgets, panel_budget
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


ABOUT = pd.DataFrame(
    {"relation": ["affected", "expert", "affected", None], "years": [1.0, 2.0, 2.0, 2.0]},
    index=["ann", "bea", "cal", "dan"],
)


def test_a_group_counts_its_own_answers_with_their_weights_over_twice_all_it_was_shown(rows: PairRows) -> None:
    affected, expert = attribute_budgets(rows, ABOUT, {"relation": {"affected": 0.1, "expert": 0.0}}, "answers")
    assert (affected.name, affected.limit) == ("relation affected", 0.1)
    assert by_pair(rows, affected) == {(1, 2): 1 / 6, (2, 1): 1 / 6}  # three answers of weight 1, one of them same
    assert (expert.name, expert.limit) == ("relation expert", 0.0)
    assert by_pair(rows, expert) == {(1, 2): 1 / 2}  # weight 5 of 5
    (by_panel,) = attribute_budgets(rows, ABOUT, {"relation": {"affected": 0.1}}, "panel")
    assert by_pair(rows, by_panel) == {(1, 2): 1 / 12, (2, 1): 1 / 12}  # three pairs, two judges


def test_values_are_matched_as_they_are_written(rows: PairRows) -> None:
    one, two = attribute_budgets(rows, ABOUT, {"years": {"1": 0.1, 2: 0.2}}, "answers")
    assert by_pair(rows, one) == {(1, 2): 1 / 4, (2, 1): 1 / 4}
    assert by_pair(rows, two) == {(1, 2): 5 / 12}  # dan's answer weighs nothing and stays free


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"town": {"Ulm": 0.1}}, "names 'town', no attribute of these judges: they have 'relation', 'years'"),
        ({"relation": {"friend": 0.1}}, "names 'relation' 'friend', but no judge has it: .*'affected', 'expert'"),
        ({"relation": {None: 0.1}}, "names 'relation' None, but no judge has it"),
    ],
)
def test_an_unknown_attribute_or_value_is_named_beside_those_there_are(
    rows: PairRows, limits: dict[str, dict[Any, float]], told: str
) -> None:
    with pytest.raises(InputError, match=f"judge_budgets {told}"):
        attribute_budgets(rows, ABOUT, limits, "answers")


def test_judges_without_attributes_are_told(rows: PairRows) -> None:
    with pytest.raises(InputError, match="'relation', no attribute of these judges: they have none"):
        attribute_budgets(rows, ABOUT[[]], {"relation": {"affected": 0.1}}, "answers")
