"""Options about the table of people, and what they read."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairwise.cli.parsing import names

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.tables.people_file import PeopleFile

_PANEL = "People"
PeoplePath = Annotated[
    Path, typer.Option("--people", help="Table of people, one row each: .csv or .parquet.", rich_help_panel=_PANEL)
]
IdColumn = Annotated[str, typer.Option("--id", help="Column with each person's id.", rich_help_panel=_PANEL)]
_Outcome = Annotated[str, typer.Option("--outcome", help="Column to predict: two values.", rich_help_panel=_PANEL)]
_Drop = Annotated[
    str, typer.Option("--drop", help="Columns not to learn from: race,sex.", metavar="COLUMNS", rich_help_panel=_PANEL)
]
_Columns = Annotated[
    str, typer.Option("--columns", help="Learn from these only: age,priors.", metavar="COLUMNS", rich_help_panel=_PANEL)
]


@dataclass(frozen=True)
class PeopleOptions:
    """A table of people to learn from."""

    people: PeoplePath
    id: IdColumn
    outcome: _Outcome
    drop: _Drop = ""
    columns: _Columns = ""

    def read(self) -> "TrainingPeople":
        """Read the table; the outcome is never among the columns to learn from."""
        from fairwise.tables.people_file import PeopleFile

        drop, only = names(self.drop), names(self.columns)
        file = PeopleFile.read(self.people, self.id, self.outcome, *drop, *only)
        outcome = file.outcome(self.outcome)
        features = file.features(outcome=self.outcome, drop=drop, only=only)
        return TrainingPeople(file, features, outcome)


@dataclass(frozen=True, eq=False)
class TrainingPeople:
    """People, what is known about them, and their outcomes as labelled in the file."""

    file: "PeopleFile"
    features: "pd.DataFrame"
    outcome: "pd.Series[Any]"

    def label(self, text: str | None) -> Any:
        """Return the outcome's label that is written like this."""
        from fairwise.tables.people_file import label_written

        if text is None:
            return None
        return label_written(text, self.outcome, self.file.source, str(self.outcome.name))

    def columns(self, wanted: tuple[str, ...]) -> "pd.DataFrame":
        """Return columns of the file, also of those that are not learnt from."""
        for name in wanted:
            self.file.column(name)
        return self.file.table[list(wanted)]
