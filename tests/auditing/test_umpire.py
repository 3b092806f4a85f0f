"""The paper's own example, audited: Williams, Blake, McEnroe and the umpire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from fairwise.auditing import audit

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.judgments import Judgments

GOOD_LABEL = pd.Series({"Williams": 0.5, "Blake": 0.8, "McEnroe": 0.9})


def test_80_percent_against_50_at_gamma_one_tenth(said: Callable[..., Judgments]) -> None:
    result = audit(GOOD_LABEL, said(("u", "Williams", "Blake", "a_at_least_b")), gamma=0.1, favorable_label=1)
    assert result.overall["max_violation"]["value"] == pytest.approx(0.3)
    assert result.judgments["excess"].tolist() == pytest.approx([0.2])
    assert result.worst() == ["Person Williams was to be treated at least as well as Blake, but gets 0.50 against 0.80"]


def test_half_and_seventy_percent_of_stakeholders_break_eta_007(said: Callable[..., Judgments]) -> None:
    shown = []
    for judge in range(10):
        shown += [
            (judge, "Williams", "Blake", "a_at_least_b" if judge < 5 else "no_constraint"),
            (judge, "Williams", "McEnroe", "a_at_least_b" if judge < 7 else "no_constraint"),
            (judge, "Blake", "McEnroe", "no_constraint"),
        ]
    result = audit(GOOD_LABEL, said(*shown), gamma=0, favorable_label=1)
    expected = (0.5 * 0.3 + 0.7 * 0.4) / 6
    assert result.overall["fairness_loss"]["value"] == pytest.approx(expected)
    assert result.overall["mean_excess"]["value"] == pytest.approx(expected)  # all judges saw the same pairs
    assert result.overall["share_kept"]["value"] == 0.0


def test_where_the_label_is_bad_the_debt_turns_round(said: Callable[..., Judgments]) -> None:
    judgments = said(("u", "Williams", "Blake", "a_at_least_b"))
    assert audit(GOOD_LABEL, judgments, favorable_label=0).overall["max_violation"]["value"] == 0.0
    assert audit(1 - GOOD_LABEL, judgments, favorable_label=0).overall["max_violation"]["value"] == pytest.approx(0.3)
