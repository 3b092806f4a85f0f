"""Scores of more people than fit into memory: those of judged people are found in one pass, all are checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.errors import InputError, shown
from fairwise.learning.large.table import LargeTable, large_table

if TYPE_CHECKING:
    from fairwise.constraints.pairs import IntArray
    from fairwise.judgments import Judgments
    from fairwise.learning.large.first_pass import JudgedIds
    from fairwise.learning.large.passes import Span

SCORE = "score"


def scores_in_blocks(scores: Any) -> LargeTable | None:
    """Scores that are to be read in blocks (with a column ``score``), as such a table; None for those in memory."""
    if isinstance(scores, LargeTable):
        return scores
    table = large_table(scores, SCORE)
    if table is not None:
        table.read_only((), id="id" if "id" in table.header else None)  # without that column, the index
    return table


def judged_scores(table: LargeTable, judgments: Judgments, client: Any = None) -> pd.Series[Any]:
    """The score of everyone in a judgment that counts, by id."""
    from fairwise.learning.large.first_pass import JudgedIds
    from fairwise.learning.large.passes import over_spans

    wanted = JudgedIds.of(judgments)
    work = _Look(wanted, table.outcome, table.name)
    found = [who for results in over_spans(table.spans(client), work, client) for who in results]
    if not found:
        raise InputError(f"{table.name}: not a single row")
    return wanted.collected(found, pd.DataFrame({table.outcome: []}, dtype=float), table.name)[table.outcome]


@dataclass(frozen=True, eq=False)
class _Look:
    """The work on one span: every score checked, those of judged people returned."""

    wanted: JudgedIds
    column: str
    name: str

    def __call__(self, span: Span) -> list[tuple[IntArray, IntArray, pd.DataFrame]]:
        found = []
        for block in span.blocks():
            scores = pd.to_numeric(block.table[self.column], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
            wrong = np.flatnonzero(~((scores >= 0) & (scores <= 1)))
            if len(wrong):
                first = int(wrong[0])
                raise InputError(
                    f"{self.name}, row {block.start + first} (counting from 0), column {self.column}: "
                    f"{shown(block.table[self.column].iloc[first])} for person {shown(block.table.index[first])} is "
                    "not the probability of label 1; allowed: a number from 0 to 1"
                )
            which, rows = self.wanted.among(block)
            found.append((which, block.start + rows, pd.DataFrame({self.column: scores[rows]})))
        return found
