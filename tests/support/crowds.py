"""People for a table that is read in blocks, and the two ways to learn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairwise import Judgments, LargeTable, PairwiseFairClassifier

if TYPE_CHECKING:
    import pandas as pd


SETTINGS: dict[str, Any] = {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 200}


@dataclass(frozen=True, eq=False)
class Crowd:
    """More people than fit into a few blocks, with numbers, text and gaps, and what was said about some of them."""

    people: pd.DataFrame
    outcome: pd.Series[Any]
    answers: pd.DataFrame

    @property
    def table(self) -> pd.DataFrame:
        return self.people.assign(paid=self.outcome)

    def in_memory(self, **settings: Any) -> PairwiseFairClassifier:
        judgments = Judgments(self.answers, people=self.people)
        return PairwiseFairClassifier(**SETTINGS, **settings).fit(self.people, self.outcome, judgments=judgments)

    def in_blocks(self, table: Any, **settings: Any) -> PairwiseFairClassifier:
        y = None if isinstance(table, LargeTable) else "paid"
        return PairwiseFairClassifier(**SETTINGS, **settings).fit(table, y, judgments=Judgments(self.answers))
