"""How mean excess is counted: each answer alike, or by the paper's letter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.constraints.pairs import PairRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.constraints.pairs import Weighting
    from fairwise.judgments import Judgments

    Said = Callable[..., Judgments]


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
