"""How much excess is allowed: over the whole panel (eta), and for each judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.constraints.pairs import FloatArray, IntArray, PairRows, Weighting


@dataclass(frozen=True, eq=False)
class Budget:
    """``shares @ slack[rows] <= limit``; with ``limit == 0`` no slack is allowed on these rows."""

    name: str
    rows: IntArray
    shares: FloatArray
    limit: float


def panel_budget(rows: PairRows, eta: float, weighting: Weighting) -> Budget:
    """The paper's eta: mean excess over everything that was asked (its equation 3). Rows of no weight stay free."""
    shares = rows.shares(weighting)
    counted = np.flatnonzero(shares > 0)
    return Budget("panel", counted, shares[counted], eta)


def judge_budgets(rows: PairRows, limits: float | Mapping[Any, float]) -> list[Budget]:
    """One budget per judge: excess over their own pairs in force, divided by twice the pairs shown to them.

    ``limits`` is one number for all, or a number for each judge named (the others then have no budget).
    """
    codes, judges = pd.factorize(rows.answers["judge"])
    shown = pd.Series(rows.answer_pair).groupby(codes).nunique()
    own_rows = pd.Series(rows.entry_row).groupby(codes[rows.entry_answer]).unique()
    # Judges are matched as they are written, like ids: 1 and "1" are one judge.
    given = limits if isinstance(limits, Mapping) else dict.fromkeys(judges, limits)
    limit_of = {str(judge): float(limit) for judge, limit in given.items()}
    unknown = set(limit_of) - {str(judge) for judge in judges}
    if unknown:
        raise InputError(f"judge_budgets names {min(unknown)!r}, who gave no answer that counts")
    budgets = []
    for code, judge in enumerate(judges):
        if str(judge) in limit_of and code in own_rows.index:
            mine = np.sort(own_rows.loc[code])
            share = 1.0 / (2.0 * int(shown.loc[code]))
            budgets.append(Budget(f"judge {judge}", mine, np.full(len(mine), share), limit_of[str(judge)]))
    return budgets
