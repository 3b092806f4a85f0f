"""A small study to be treated badly: its people are made up, so that it is read in no time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = 20
_PEOPLE = 120


def make_study(home: Path, **choices: Any) -> Path:
    """With anchors, which depend on who else takes part, and on time."""
    table = pd.DataFrame(
        {
            "person": [f"p{number}" for number in range(_PEOPLE)],
            "age": [18 + number for number in range(_PEOPLE)],
            "town": [("Aachen", "Bern", "Como")[number % 3] for number in range(_PEOPLE)],
        }
    )
    table.to_csv(home / "people.csv", index=False)
    told = {"title": "Faults", "pairs": PAIRS, "design": {"anchors": 4, "anchor_pool": 40}, **choices}
    new_study(home / "study", PeopleFile.read(home / "people.csv", "person"), ["age", "town"], told)
    return home / "study"
