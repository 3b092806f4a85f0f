"""Curves over a table that is read in blocks: all games between two passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing.curve_points import RATE, point_row
from fairwise.auditing.made_from import COLUMN, MadeFrom

if TYPE_CHECKING:
    from fairwise.judgments import Judgments
    from fairwise.learning.large.counts import Counts
    from fairwise.learning.large.table import LargeTable
    from fairwise.learning.solvers.solution import Solution

PANEL = "panel"


def large_frontier(
    table: LargeTable,
    judgments: Judgments,
    points: list[tuple[float, float | None]],
    settings: dict[str, Any],
    *,
    by_judge: bool,
    client: Any = None,
) -> pd.DataFrame:
    """The same table as :func:`~fairwise.frontier` gives for people in memory.

    The rows are read once before all games and once after them, however many points and judges there are.
    """
    from fairwise.learning.large.first_pass import read_summary
    from fairwise.learning.large.fit import check_large_settings, count_games, play, rules_for

    settings = {**settings, "gamma": 0.0, "eta": 1.0}
    checked = check_large_settings(settings, table, two_passes=True)
    summary = read_summary(table, judgments, client)
    judges = judgments.judges if by_judge else [PANEL]
    own = [rules_for(checked, summary, judgments.select([judge]) if by_judge else judgments) for judge in judges]
    played = [play(summary, rules, [rules.problem.at_point(*point) for point in points]) for rules in own]
    counted = count_games(table, summary, played, client)
    lines = []
    for judge, rules, found in zip(judges, own, counted, strict=True):
        for point, (solution, count) in zip(points, found, strict=True):
            row = point_row(rules, solution, *point, settings["weighting"], summary.n_rows)
            rates_of_groups = {} if table.groups is None else _group_rates(solution, count, summary.groups)
            lines.append({"judge": judge, **row, **rates_of_groups})
    return pd.DataFrame(lines).assign(**{COLUMN: str(MadeFrom.of(None, None, judgments, settings))})


def _group_rates(solution: Solution, count: Counts, groups: list[str]) -> dict[str, float]:
    """False positive rate of each group: how likely someone without label 1 is to get it."""
    given = count.label_1[:, 0] @ solution.weights
    with np.errstate(invalid="ignore"):
        rates = given / count.people[:, 0]
    return {f"{RATE}{group}": float(rate) for group, rate in zip(groups, rates, strict=True)}
