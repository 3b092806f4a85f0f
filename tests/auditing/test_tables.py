"""Rates of groups through fairlearn, of draws with the given probabilities."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import demographic_parity_difference, equalized_odds_difference

from fairwise.auditing import audit

if TYPE_CHECKING:
    from fairwise.judgments import Judgments

    Said = Callable[..., Judgments]

SCORES = pd.Series({1: 0.2, 2: 0.6, 3: 1.0, 4: 0.0})
GROUP = pd.Series({4: "y", 3: "y", 2: "x", 1: "x"}, name="side")
OUTCOME = pd.Series({"1": 0, "2": 1, "3": 1, "4": 1})


def test_rates_by_hand(said: Said) -> None:
    result = audit(SCORES, said(("u", 1, 2, "same")), groups=GROUP, outcome=OUTCOME)
    assert result.by_group is not None
    lines = result.by_group.set_index("group")
    assert lines["attribute"].tolist() == ["side", "side"]
    assert lines["people"].tolist() == [2, 2]
    names = ["selection_rate", "base_rate", "error", "false_positive_rate", "true_positive_rate"]
    assert [lines[name]["x"] for name in names] == pytest.approx([0.4, 0.5, 0.3, 0.2, 0.6])
    assert np.isnan(lines["false_positive_rate"]["y"])  # nobody there has outcome 0


def test_without_outcomes_only_selection_rates(said: Said) -> None:
    both = pd.DataFrame({"side": GROUP, "all": "everyone"})
    result = audit(SCORES, said(("u", 1, 2, "same")), groups=both)
    assert result.by_group is not None
    assert result.by_group.columns.tolist() == ["attribute", "group", "people", "selection_rate"]
    assert result.by_group["attribute"].tolist() == ["side", "side", "all"]
    assert result.group_gaps is not None
    assert result.group_gaps["selection_rate"].tolist() == pytest.approx([0.1, 0.0])


def test_on_certain_decisions_the_gaps_are_fairlearns(said: Said) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(2, size=(200, 3)), columns=["score", "outcome", "group"])
    result = audit(
        frame["score"].astype(float), said(("u", 1, 2, "same")), groups=frame["group"], outcome=frame["outcome"]
    )
    assert result.group_gaps is not None
    gaps = result.group_gaps.iloc[0]
    data = (frame["outcome"], frame["score"])
    parity = demographic_parity_difference(*data, sensitive_features=frame["group"])
    odds = equalized_odds_difference(*data, sensitive_features=frame["group"])
    assert gaps["selection_rate"] == pytest.approx(parity)
    assert max(gaps["false_positive_rate"], gaps["true_positive_rate"]) == pytest.approx(odds)


def test_without_groups_there_are_none(said: Said) -> None:
    result = audit(SCORES, said(("u", 1, 2, "same")))
    assert result.by_group is None
    assert result.group_gaps is None


def test_an_audit_without_groups_imports_neither_fairlearn_nor_scikit_learn() -> None:
    code = (
        "import sys, pandas as pd; from fairwise.auditing import audit; from fairwise.judgments import Judgments;"
        "audit(pd.Series({1: .1, 2: .2}), Judgments([{'judge': 1, 'a': 1, 'b': 2, 'answer': 'same'}]));"
        "sys.exit(any(name in sys.modules for name in ('fairlearn', 'sklearn', 'numba', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
