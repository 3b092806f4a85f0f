"""What a model's scores do to each answer: how far it is broken, and whether it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.constraints.violations import ASKS_NOTHING, FOLLOWED, excess, status_of
from fairwise.judgments.answer import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.constraints.pairs import FloatArray, IntArray, PairRows


@dataclass(frozen=True, eq=False)
class Measured:
    """The answers that count, each with what the scores do to it.

    Attributes
    ----------
    rows
        The ordered pairs in force.
    table
        One line per answer: judge, a, b, answer, weight, row, favorable_a, favorable_b (probabilities of the
        favourable label), violation, excess, status.
    favorable
        ``(m,)`` probability of the favourable label of the people in some row.
    pair
        ``(N,)`` number of each answer's unordered pair, from 0.
    judge
        ``(N,)`` number of each answer's judge, from 0.
    same, asks, followed
        ``(N,)`` whether each answer is `same`, whether it asks for anything, and whether what it asks for is done.
    gamma
        Difference allowed on every pair.
    """

    rows: PairRows
    table: pd.DataFrame
    favorable: FloatArray
    pair: IntArray
    judge: IntArray
    same: NDArray[np.bool_]
    asks: NDArray[np.bool_]
    followed: NDArray[np.bool_]
    gamma: float

    @property
    def row_excess(self) -> FloatArray:
        """``(K,)`` excess of every ordered pair in force."""
        return excess(self.rows.violations(self.favorable), self.gamma)


def measure(rows: PairRows, favorable: pd.Series, gamma: float) -> Measured:
    """Confront the answers with ``favorable``, the probability of the favourable label of everyone in them."""
    of_person = favorable.to_numpy(dtype=float)
    in_rows = of_person[favorable.index.get_indexer(rows.people)]
    table = rows.answers[["judge", "a", "b", "answer", "weight", "row"]].reset_index(drop=True)
    answer = table["answer"].to_numpy(dtype=object)
    for side in ("a", "b"):
        table[f"favorable_{side}"] = of_person[favorable.index.get_indexer(pd.Index(table[side]))]
    violation = rows.answer_violations(in_rows)
    status = status_of(answer, violation, gamma)
    table["violation"] = violation
    table["excess"] = excess(violation, gamma)
    table["status"] = status
    return Measured(
        rows=rows,
        table=table,
        favorable=in_rows,
        pair=pd.factorize(rows.answer_pair)[0].astype(np.intp),
        judge=pd.factorize(table["judge"], sort=True)[0].astype(np.intp),
        same=np.asarray(answer == Answer.SAME, dtype=bool),
        asks=np.asarray(status != ASKS_NOTHING, dtype=bool),
        followed=np.asarray(status == FOLLOWED, dtype=bool),
        gamma=gamma,
    )
