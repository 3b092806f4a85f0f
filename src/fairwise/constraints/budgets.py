"""How much excess is allowed: over the whole panel (eta), for each judge, and for groups of judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.errors import InputError, quote, some
from fairwise.messages import Message, marked
from fairwise.tables.rows import encode, text_of

if TYPE_CHECKING:
    from fairwise.constraints.pairs import FloatArray, IntArray, PairRows, Weighting


Limits = Mapping[Any, float]


@dataclass(frozen=True, eq=False)
class Budget:
    """``shares @ slack[rows] <= limit``; with ``limit == 0`` no slack is allowed on these rows."""

    name: str
    rows: IntArray
    shares: FloatArray
    limit: float


PANEL = Message("panel")
"""Name of the budget that eta limits."""

JUDGE = marked("judge {name}")
"""Template of the name of a judge's own budget."""


def panel_budget(rows: PairRows, eta: float, weighting: Weighting) -> Budget:
    """The paper's eta: mean excess over everything that was asked (its equation 3). Rows of no weight stay free."""
    shares = rows.shares(weighting)
    counted = np.flatnonzero(shares > 0)
    return Budget(PANEL, counted, shares[counted], eta)


def judge_budgets(rows: PairRows, limits: float | Limits, panel: pd.DataFrame | None = None) -> list[Budget]:
    """One budget per judge: excess over their own pairs in force, divided by twice the pairs shown to them.

    ``limits`` is one number for all, or a number for each judge named (the others then have no budget). Where the rows
    are of a part of a panel, ``panel`` has a row for each of its judges: a budget of those who are absent is left out.
    """
    codes, judges = pd.factorize(rows.answers["judge"])
    n_shown = pd.Series(rows.answer_pair).groupby(codes).nunique()
    own_rows = pd.Series(rows.entry_row).groupby(codes[rows.entry_answer]).unique()
    # Judges are matched as they are written, like ids: 1 and "1" are one judge.
    limit_by_judge = limits if isinstance(limits, Mapping) else dict.fromkeys(judges, limits)
    limit_of = {str(judge): float(limit) for judge, limit in limit_by_judge.items()}
    unknown = set(limit_of) - {str(judge) for judge in [*judges, *(() if panel is None else panel.index)]}
    if unknown:
        raise InputError(f"judge_budgets names {min(unknown)!r}, who gave no answer that counts")
    budgets = []
    for code, judge in enumerate(judges):
        if str(judge) in limit_of and code in own_rows.index:
            mine = np.sort(own_rows.loc[code])
            share = 1.0 / (2.0 * int(n_shown.loc[code]))
            budgets.append(
                Budget(Message(JUDGE, name=str(judge)), mine, np.full(len(mine), share), limit_of[str(judge)])
            )
    return budgets


def attribute_budgets(
    rows: PairRows,
    attributes: pd.DataFrame,
    limits: Mapping[Any, Limits],
    weighting: Weighting,
    panel: pd.DataFrame | None = None,
) -> list[Budget]:
    """One budget per attribute and value named, such as ``{"relation": {"affected": 0.0}}``.

    It is to the judges of that value what eta is to the panel: the mean excess that an audit of those judges alone
    reports, every answer with its weight. Judges of whom the attribute is not known are in no group. ``attributes``
    has a row for every judge, ``panel`` one for every judge of the whole of which the rows are a part: a budget of a
    value that only absent judges have is left out.
    """
    judge_row = attributes.index.get_indexer(pd.Index(rows.answers["judge"]))
    named = {text_of(name): name for name in attributes.columns}
    budgets = []
    for attribute, limit_of in limits.items():
        if text_of(attribute) not in named:
            known = f"they have {some(named.values())}" if named else "they have none (judge_attributes=)"
            raise InputError(f"judge_budgets names {quote(attribute)}, no attribute of these judges: {known}")
        # Values are matched as they are written, like judges and ids.
        codes, values = encode(attributes[named[text_of(attribute)]])
        everyone = values if panel is None else encode(panel[named[text_of(attribute)]])[1]
        for value, limit in limit_of.items():
            if text_of(value) not in everyone:
                raise InputError(
                    f"judge_budgets names {quote(attribute)} {quote(value)}, but no judge has it: "
                    f"there are {some(everyone)}"
                )
            if text_of(value) not in values:
                continue
            theirs = codes == values.tolist().index(text_of(value))
            shares = rows.shares(weighting, among=theirs[judge_row])
            counted = np.flatnonzero(shares > 0)
            budgets.append(Budget(f"{attribute} {value}", counted, shares[counted], float(limit)))
    return budgets
