"""The paper's own examples: Serena Williams, James Blake, John McEnroe and the umpire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from fairwise.constraints.pairs import PairRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.judgments import Judgments

    Said = Callable[..., Judgments]

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
