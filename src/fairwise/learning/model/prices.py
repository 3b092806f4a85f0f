"""What each judgment costs: the multiplier of its rows, shared among those who gave it; and whether it is followed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairwise.constraints.pairs import PairRows
from fairwise.constraints.violations import excess, status_of
from fairwise.learning.oracles.base import FloatArray


def price_table(rows: PairRows, multipliers: FloatArray, favorable: FloatArray, gamma: float) -> pd.DataFrame:
    """One line per answer that counts: judge, a, b, answer, price, violation, excess, status.

    The price is error per unit of gamma on that pair. Where both directions of a pair carry a multiplier only their
    difference is identified, so the smaller one is taken off both.
    """
    net = _net_of_reverse(rows, multipliers)
    weight = rows.answers["weight"].to_numpy(dtype=float)[rows.entry_answer]
    mass, givers = rows.mass[rows.entry_row], np.bincount(rows.entry_row)[rows.entry_row]
    part = np.where(mass > 0, weight / np.where(mass > 0, mass, 1.0), 1.0 / givers)
    n = len(rows.answers)
    violation = rows.answer_violations(favorable)
    table = rows.answers[["judge", "a", "b", "answer"]].copy()
    table["answer"] = table["answer"].astype(str)
    table["price"] = np.bincount(rows.entry_answer, part * net[rows.entry_row], minlength=n)
    table["violation"] = violation
    table["excess"] = excess(violation, gamma)
    table["status"] = status_of(table["answer"].to_numpy(dtype=object), violation, gamma).astype(object)
    return table.reset_index(drop=True)


def _net_of_reverse(rows: PairRows, multipliers: FloatArray) -> FloatArray:
    own = pd.MultiIndex.from_arrays([rows.reference, rows.owed])
    reverse = own.get_indexer(pd.MultiIndex.from_arrays([rows.owed, rows.reference]))
    opposite = np.where(reverse >= 0, multipliers[reverse], 0.0) if len(rows) else multipliers
    return np.asarray(multipliers - np.minimum(multipliers, opposite))
