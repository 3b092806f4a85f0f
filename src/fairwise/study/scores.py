"""Scores of a current model, by which active pairs may be chosen: ``scores.parquet``, which is shown to nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairwise.errors import InputError
from fairwise.judgments.ids import some, text_of
from fairwise.study.parquet import read_parquet
from fairwise.study.people_cards import ID

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import pyarrow as pa

    from fairwise.datasets.people_file import PeopleFile

SCORE = "score"


def read_scores(file: Path, people: Collection[str]) -> dict[str, float]:
    """Return how likely each person gets the good label; everyone must have a score, and nobody else."""
    table = read_parquet(file)
    if table.column_names != [ID, SCORE]:
        raise InputError(f"{file}: needed: the columns {ID!r} and {SCORE!r}; found: {some(table.column_names)}")
    ids, scores = (table[name].to_pylist() for name in (ID, SCORE))
    if len(ids) != len(people) or set(ids) != set(people):
        raise InputError(f"{file}: its people are not those of the study")
    for person, score in zip(ids, scores, strict=True):
        if not isinstance(score, float) or not 0 <= score <= 1:
            raise InputError(f"{file}, person {person!r}: {score!r}; needed: a probability from 0 to 1")
    return dict(zip(ids, scores, strict=True))


@dataclass(frozen=True, eq=False)
class GivenScores:
    """Probabilities of label 1 in a column of an operator's file, and which label is the good one."""

    file: PeopleFile
    column: str
    favorable_label: int

    def table(self, ids: pa.Array) -> pa.Table:
        """Return these people's probabilities of the good label."""
        import pandas as pd
        import pyarrow as pa

        cells, source = self.file.column(self.column), self.file.source
        ones = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
        rule = "is not the probability of label 1; allowed: a number from 0 to 1"
        source.refuse(~((ones >= 0) & (ones <= 1)), self.column, cells.where(cells.notna(), None), rule)
        good = ones if self.favorable_label else 1 - ones
        found = dict(zip((text_of(person) for person in self.file.table.index), good.tolist(), strict=True))
        people = ids.to_pylist()
        missing = [person for person in people if person not in found]
        if missing:
            raise InputError(f"{source.where()}: no score for {len(missing)} of the people: {some(missing)}")
        return pa.table({ID: ids, SCORE: pa.array([found[person] for person in people], pa.float64())})
