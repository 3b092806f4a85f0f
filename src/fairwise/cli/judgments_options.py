"""Options about the file of judgments, and what they read."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairwise.cli.imported_answers import Account, answer_map, column_map, translated
from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.judgments import Judgments

_PANEL = "Judgments"
_Path = Annotated[Path, typer.Option("--judgments", help="What people said: .csv or .parquet.", rich_help_panel=_PANEL)]
_Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help="Columns under other names, ours=theirs: judge=rater,a=left,b=right,answer=choice.",
        metavar="OURS=THEIRS",
        rich_help_panel=_PANEL,
    ),
]
_MapAnswer = Annotated[
    list[str] | None,
    typer.Option(
        "--map-answer",
        help="Answers in other words, theirs=ours: 0=same,1=no_constraint,9=skip.",
        metavar="THEIRS=OURS",
        rich_help_panel=_PANEL,
    ),
]
_Judge = Annotated[
    str | None,
    typer.Option("--judge", help="Who answered, where the file has no such column.", rich_help_panel=_PANEL),
]
_Answer = Annotated[
    str | None,
    typer.Option("--answer", help="What every row says, where the file has no such column.", rich_help_panel=_PANEL),
]

_Judges = Annotated[
    Path | None,
    typer.Option(
        "--judges",
        help="Who the judges are: a table with the column judge and any others, such as relation.",
        rich_help_panel=_PANEL,
    ),
]


@dataclass(frozen=True)
class JudgmentsOptions:
    """A file of judgments, perhaps from another tool."""

    judgments: _Path
    map: _Map = None
    map_answer: _MapAnswer = None
    judge: _Judge = None
    answer: _Answer = None
    judges: _Judges = None

    def __post_init__(self) -> None:
        """Refuse wrong usage before any file is read."""
        column_map(self.map or ())
        answer_map(self.map_answer or ())

    def read(self, people: "pd.DataFrame | None" = None) -> "tuple[Judgments, Account | None]":
        """Return the judgments, and an account of what became what if anything was translated."""
        from fairwise.judgments import Judgments
        from fairwise.judgments.table import MEASURED_ONLY
        from fairwise.judgments.validation import Reading, check
        from fairwise.tables.files import read_table

        frame, source = read_table(self.judgments, self._check_header)
        columns, fixed = column_map(self.map or ()), self._fixed()
        account = None
        if columns or self.map_answer or fixed:
            frame, source, account = translated(frame, source, columns, answer_map(self.map_answer or ()), fixed)
        judgments = Judgments(check(frame, source, people, Reading("id", MEASURED_ONLY, "last"), self._attributes()))
        if not len(judgments.counted()):
            raise InputError(f"{self.judgments}: there is not a single answer that counts")
        return judgments, account

    def _attributes(self) -> "pd.DataFrame | None":
        """What is known about the judges, if anything."""
        from fairwise.tables.files import read_table
        from fairwise.tables.people_file import column_of, typed

        if self.judges is None:
            return None
        table, source = read_table(self.judges)
        column_of(table, "judge", source)
        return table.drop(columns="judge").apply(typed).set_axis(table["judge"], axis="index")

    def _fixed(self) -> dict[str, str]:
        return {name: value for name, value in (("judge", self.judge), ("answer", self.answer)) if value is not None}

    def _check_header(self, header: list[str]) -> None:
        """Refuse a file without the columns that are needed, and say how to name those that are there."""
        from fairwise.judgments.validation import REQUIRED
        from fairwise.tables.files import require_column
        from fairwise.tables.ids import some

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
