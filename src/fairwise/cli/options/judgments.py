"""Options about the file of judgments, and what they read."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.judgments import Judgments
    from fairwise.judgments.files import Account


SKIP = "skip"
# Written out, because fairwise.judgments takes long to load and --help must not wait for it.
ANSWERS = ("same", "a_at_least_b", "b_at_least_a", "no_constraint")
COLUMNS = (
    *("judge", "a", "b", "answer", "weight", "round", "design"),
    *("seconds", "answered_at", "selection_probability", "error_bound"),
)


def column_map(texts: Sequence[str]) -> dict[str, str]:
    """Return our column names and what the file calls them, from ``ours=theirs,…``.

    >>> column_map(["judge=rater,a=left", "b=right"])
    {'judge': 'rater', 'a': 'left', 'b': 'right'}
    """
    mapping: dict[str, str] = {}
    for part in _parts(texts, "--map"):
        ours, equals, theirs = part.partition("=")
        ours, theirs = ours.strip(), theirs.strip()
        if not equals or not theirs:
            raise typer.BadParameter(f"--map {part!r}: write ours=theirs, such as judge=rater.")
        if ours not in COLUMNS:
            turned = f" Did you mean {theirs}={ours}?" if theirs in COLUMNS else ""
            raise typer.BadParameter(f"--map {part!r}: {ours!r} is not one of {', '.join(COLUMNS)}.{turned}")
        if ours in mapping:
            raise typer.BadParameter(f"--map: {ours} is given twice, as {mapping[ours]!r} and as {theirs!r}.")
        mapping[ours] = theirs
    return mapping


def answer_map(texts: Sequence[str]) -> dict[str, str]:
    """Return the file's words and what they mean, from ``theirs=ours,…``; nothing before = is an empty cell.

    >>> answer_map(["0=same,1=no_constraint", "=skip"])
    {'0': 'same', '1': 'no_constraint', '': 'skip'}
    """
    mapping: dict[str, str] = {}
    for part in _parts(texts, "--map-answer"):
        theirs, equals, ours = part.rpartition("=")
        theirs, ours = theirs.strip(), ours.strip()
        if not equals or ours not in (*ANSWERS, SKIP):
            turned = f" Did you mean {ours}={theirs}?" if theirs in (*ANSWERS, SKIP) else ""
            raise typer.BadParameter(
                f"--map-answer {part!r}: write theirs=ours, ours being one of {', '.join(ANSWERS)}, {SKIP}.{turned}"
            )
        if mapping.get(theirs, ours) != ours:
            raise typer.BadParameter(f"--map-answer: {theirs!r} cannot be both {mapping[theirs]} and {ours}.")
        mapping[theirs] = ours
    return mapping


def _parts(texts: Sequence[str], option: str) -> list[str]:
    """Split at commas, except between quotation marks."""
    try:
        return [part for row in csv.reader(texts, skipinitialspace=True, strict=True) for part in row if part.strip()]
    except csv.Error as error:
        raise typer.BadParameter(f"{option}: {error}.") from None


_option = partial(typer.Option, rich_help_panel="Judgments")
_COLUMNS = "Columns under other names, ours=theirs: judge=rater,a=left,b=right,answer=choice."
_WORDS = "Answers in other words, theirs=ours: 0=same,1=no_constraint,9=skip."
_Table = Annotated[Path, _option("--judgments", help="What people said: .csv, .parquet or .xlsx.")]
_KINDS = "Who the judges are: a table with the column judge and any others, such as relation."


@dataclass(frozen=True)
class JudgmentsOptions:
    """A file of judgments, perhaps from another tool."""

    judgments: _Table
    map: Annotated[list[str] | None, _option("--map", help=_COLUMNS, metavar="OURS=THEIRS")] = None
    map_answer: Annotated[list[str] | None, _option("--map-answer", help=_WORDS, metavar="THEIRS=OURS")] = None
    judge: Annotated[str | None, _option("--judge", help="Who answered, where the file has no such column.")] = None
    answer: Annotated[
        str | None, _option("--answer", help="What every row says, where the file has no such column.")
    ] = None
    judges: Annotated[Path | None, _option("--judges", help=_KINDS)] = None

    def __post_init__(self) -> None:
        """Refuse wrong usage before any file is read."""
        column_map(self.map or ())
        answer_map(self.map_answer or ())

    def read(self, people: pd.DataFrame | None = None) -> tuple[Judgments, Account | None]:
        """Return the judgments, and an account of what became what if anything was translated."""
        from fairwise.judgments import Judgments
        from fairwise.judgments.files import translate_answers
        from fairwise.judgments.table import MEASURED_ONLY
        from fairwise.judgments.validation import Reading, check
        from fairwise.tables.files import read_table

        frame, source = read_table(self.judgments, self._check_header)
        columns, fixed = column_map(self.map or ()), self._fixed()
        account = None
        if columns or self.map_answer or fixed:
            words = answer_map(self.map_answer or ())
            frame, source, account = translate_answers(frame, source, columns, words, fixed, "--map-answer VALUE=same")
        judgments = Judgments(check(frame, source, people, Reading("id", MEASURED_ONLY, "last"), self._attributes()))
        if not len(judgments.counted()):
            raise InputError(f"{self.judgments}: there is not a single answer that counts")
        return judgments, account

    def _attributes(self) -> pd.DataFrame | None:
        """What is known about the judges, if anything."""
        from fairwise.tables.files import column_of, read_table, typed

        if self.judges is None:
            return None
        table, source = read_table(self.judges)
        column_of(table, "judge", source)
        return table.drop(columns="judge").apply(typed).set_axis(table["judge"], axis="index")

    def _fixed(self) -> dict[str, str]:
        return {name: value for name, value in (("judge", self.judge), ("answer", self.answer)) if value is not None}

    def _check_header(self, header: list[str]) -> None:
        """Refuse a file without the columns that are needed, and say how to name those that are there."""
        from fairwise.errors import some
        from fairwise.judgments.validation import REQUIRED
        from fairwise.tables.rows import require_column

        columns, fixed = column_map(self.map or ()), self._fixed()
        for theirs in columns.values():
            require_column(theirs, header, str(self.judgments))
        for name in fixed:
            if name in header or name in columns:
                raise InputError(f"{self.judgments}: has a column for {name}, so --{name} cannot be given as well")
        missing = [name for name in REQUIRED if name not in {*header, *columns, *fixed}]
        if missing:
            hints = [f"or give one for all rows with --{name}" for name in missing if name in {"judge", "answer"}]
            raise InputError(
                f"{self.judgments}: no column {' and no column '.join(missing)}; found: {some(header)}; "
                f"if it is there under another name: {'; '.join([f'--map {missing[0]}=NAME', *hints])}"
            )
