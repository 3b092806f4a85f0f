"""Options about the table of people, and what they read: all of it, or blocks of a large one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairwise.cli.options.parsing import names
from fairwise.cli.terminal import note
from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.cli.options.learning import LearningOptions
    from fairwise.learning.large.table import LargeTable
    from fairwise.tables.files import PeopleFile


_option = partial(typer.Option, rich_help_panel="People")
PeoplePath = Annotated[Path, _option("--people", help="Table of people, one row each: .csv, .parquet or .xlsx.")]
IdColumn = Annotated[str, _option("--id", help="Column with each person's id.")]


NumericColumns = Annotated[
    str,
    _option("--numeric", help="Columns to read as numbers; whatever else stands there is missing.", metavar="COLUMNS"),
]
NaValues = Annotated[
    str, _option("--na-values", help="Cells that mean a missing value, in any column: ?,unknown.", metavar="VALUES")
]

_OF_MORE = "; of more, say how good each is, --label-values, or that they are amounts, --outcome-kind amount"


@dataclass(frozen=True)
class PeopleOptions:
    """A table of people to learn from."""

    people: PeoplePath
    id: IdColumn
    outcome: Annotated[
        str, _option("--outcome", help="Column to predict: two values, those of --label-values, or amounts.")
    ]
    drop: Annotated[str, _option("--drop", help="Columns not to learn from: race,sex.", metavar="COLUMNS")] = ""
    numeric: NumericColumns = ""
    na_values: NaValues = ""

    def read(self, used: tuple[str, ...] = (), *, several: bool = False, amounts: bool = False) -> TrainingPeople:
        """Read the table; the outcome is never among the columns to learn from. Those to be `used` must be there."""
        from fairwise.tables.files import PeopleFile

        drop = names(self.drop)
        columns = (self.outcome, *drop, *used)
        numeric, na_values = names(self.numeric), names(self.na_values)
        file = PeopleFile.read(self.people, self.id, *columns, numeric=numeric, na_values=na_values)
        outcome = (
            _amounts(file, self.outcome) if amounts else file.outcome(self.outcome, several=several, of_more=_OF_MORE)
        )
        unnamed = [name for name in file.table.columns if used and not name.strip()]  # row numbers, most often
        features = file.features(outcome=self.outcome, drop=(*drop, *unnamed))
        note_doubts(file, features)
        return TrainingPeople(file, features, outcome)


def note_doubts(file: PeopleFile, features: pd.DataFrame) -> None:
    """Say which columns of text are nearly all numbers or dates, and what was made missing."""
    for line in (*file.notes, *file.warnings(features)):
        note(f"Warning: {line}")


def _amounts(file: PeopleFile, name: str) -> pd.Series[Any]:
    """A column of amounts; whatever is no number is refused with its line."""
    import numpy as np
    import pandas as pd

    column = file.column(name)
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    shown = column.where(column.notna(), None)
    file.source.refuse(~np.isfinite(numbers.to_numpy()), name, shown, "is no amount; allowed: numbers")
    return numbers.rename(name)


@dataclass(frozen=True, eq=False)
class TrainingPeople:
    """People, what is known about them, and their outcomes as labelled in the file."""

    file: PeopleFile
    features: pd.DataFrame
    outcome: pd.Series[Any]

    def label(self, text: str | None) -> object:
        """Return the outcome's label that is written like this."""
        from fairwise.tables.files import label_written

        if text is None:
            return None
        return label_written(text, self.outcome, self.file.source, str(self.outcome.name))

    def columns(self, wanted: tuple[str, ...]) -> pd.DataFrame:
        """Return columns of the file, also of those that are not learnt from."""
        for name in wanted:
            self.file.column(name)
        return self.file.table[list(wanted)]


MANY_ROWS = 1_000_000
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def people_in_blocks(people: PeopleOptions, learning: LearningOptions, *, shared: bool) -> LargeTable | None:
    """The people as a table to be read in blocks, if they are many (or the work is shared) and the model allows it."""
    two_passes = learning.estimator == "linear-regression" and learning.solver == "no-regret"
    if (
        not two_passes
        or learning.group_constraints
        or learning.label_values
        or learning.of_amounts
        or not _is_large(people.people, shared=shared)
    ):
        return None
    from fairwise.learning.large.table import LargeTable

    return LargeTable(
        people.people,
        outcome=people.outcome,
        id=people.id,
        drop=names(people.drop),
        numeric=names(people.numeric),
        na_values=names(people.na_values),
    )


def scores_in_blocks(path: Path, id_column: str, score_column: str, *, shared: bool) -> LargeTable | None:
    """Scores likewise."""
    if not _is_large(path, shared=shared):
        return None
    from fairwise.learning.large.table import LargeTable

    return LargeTable(path, outcome=score_column, id=id_column, columns=())


def block_label(text: str | None, table: LargeTable) -> object:
    """The outcome's label that is written like this, in the type of the column; whether it occurs is seen later."""
    if text is None:
        return None
    kind = table.kind_of(table.outcome)
    if kind == "boolean":
        if text.lower() not in _BOOLEANS:
            raise InputError(f"{table.name}, column {table.outcome}: {text!r} is not one of the outcomes: true, false")
        return _BOOLEANS[text.lower()]
    try:
        return {"integer": int, "number": float}.get(kind, str)(text)
    except ValueError:
        raise InputError(f"{table.name}, column {table.outcome}: {text!r} is not one of the outcomes") from None


def _is_large(path: Path, *, shared: bool) -> bool:
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    if shared:
        return True
    import pyarrow.parquet as pq

    try:
        rows: int = pq.read_metadata(path).num_rows
    except (OSError, ValueError):
        return False  # the reader for tables in memory says what is wrong
    return rows > MANY_ROWS
