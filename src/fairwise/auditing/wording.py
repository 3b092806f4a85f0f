"""An audit in words: its worst pairs, and a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.auditing.intervals import LEAST_JUDGES, LEAST_PAIRS
from fairwise.judgments.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

_LINES = {
    "max_violation": "Largest violation of a pair",
    "mean_violation": "Mean violation of 'same'",
    "mean_excess": "Mean excess over gamma",
    "fairness_loss": "Fairness loss (the paper's)",
    "share_kept": "Judgments kept within gamma",
}

NOT_COVERED = (
    f"* a rough guide only: fewer than {LEAST_JUDGES} judges, or fewer than {LEAST_PAIRS} pairs with a violation (or "
    "without one)"
)
"""What to say below intervals that are not `covered`."""


NOT_WEIGHTED = "These numbers are about the answers given; selection_probability is not used (held_out weights by it)."


def worst_pairs(by_pair: pd.DataFrame, n: int) -> list[str]:
    """Say what was asked and what happens, for the ``n`` pairs with the largest excess; only those that have any."""
    broken = by_pair[by_pair["excess"] > 0].head(n)
    return [_sentence(line) for line in broken.to_dict("records")]


def _sentence(line: Mapping[Any, Any]) -> str:
    worse, better = ("a", "b") if line["favorable_a"] < line["favorable_b"] else ("b", "a")
    gets = [f"{line[f'favorable_{side}']:.2f}" for side in (worse, better)]
    if line[str(Answer.A_AT_LEAST_B if worse == "a" else Answer.B_AT_LEAST_A)]:
        return (
            f"Person {line[worse]} was to be treated at least as well as {line[better]}, "
            f"but gets {gets[0]} against {gets[1]}"
        )
    return f"Person {line[worse]} was to be treated the same as {line[better]}, but gets {gets[0]} against {gets[1]}"


def summary(overall: pd.DataFrame, by_pair: pd.DataFrame, gamma: float, confidence: float) -> str:
    """A few lines for reading."""
    value, low, high, covered = (overall.loc[row].to_dict() for row in ("value", "low", "high", "covered"))
    counts = {name: int(value[name]) for name in ("judges", "answers", "pairs", "people", "in_force", "given_up")}
    about = f"{counts['pairs']} pairs of {counts['people']} people"
    lines = [
        f"{counts['answers']} answers of {counts['judges']} judges about {about}",
        f"{counts['in_force']} ask for something; {counts['given_up']} of these are broken by more than {gamma:g}",
        f"{'':30}{'value':>7}   {confidence:.0%} interval",
    ]
    marked = False
    for name, words in _LINES.items():
        known = name != "max_violation" and not np.isnan(low[name])
        ends = f"   {low[name]:.4f} to {high[name]:.4f}{'' if covered[name] else ' *'}" if known else ""
        lines.append(f"{words:30}{value[name]:7.4f}{ends}")
        marked |= known and not covered[name]
    if marked:
        lines.append(NOT_COVERED)
    return "\n".join([*lines, *worst_pairs(by_pair, 3)])
