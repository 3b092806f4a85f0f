"""Which tables of people are read in blocks, and the label of an outcome that nobody has read yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairwise.cli.parsing import names
from fairwise.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.cli.learning_options import LearningOptions
    from fairwise.cli.people_options import PeopleOptions
    from fairwise.learning.large.table import LargeTable

MANY_ROWS = 1_000_000
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def people_in_blocks(people: PeopleOptions, learning: LearningOptions, *, shared: bool) -> LargeTable | None:
    """The people as a table to be read in blocks, if they are many (or the work is shared) and the model allows it."""
    two_passes = learning.estimator == "linear-regression" and learning.solver == "no-regret"
    if not two_passes or learning.group_constraint or not _is_large(people.people, shared=shared):
        return None
    from fairwise.learning.large.table import LargeTable

    columns = names(people.columns) or None
    return LargeTable(people.people, outcome=people.outcome, id=people.id, columns=columns, drop=names(people.drop))


def scores_in_blocks(path: Path, id_column: str, score_column: str, *, shared: bool) -> LargeTable | None:
    """Scores likewise."""
    if not _is_large(path, shared=shared):
        return None
    from fairwise.learning.large.table import LargeTable

    return LargeTable(path, outcome=score_column, id=id_column, columns=())


def label_written(text: str | None, table: LargeTable) -> Any:
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
