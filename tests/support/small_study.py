"""A small study to test on and to attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from fairwise.study.folder import StudyFolder
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

OUTCOME = "a_result_that_must_never_be_seen"


def study_maker(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StudyFolder]:
    """Makes studies about twelve people with any settings.

    The people's fields are hostile, and their outcomes cannot be mistaken for anything else.
    """
    table = pd.DataFrame(
        {
            "person": [f"known-as-{k}" for k in range(12)],
            "age": range(20, 32),
            "town": [f"<b>Town {k % 3}</b> & =1+1" for k in range(12)],
            OUTCOME: [f"outcome-{k % 2}-never" for k in range(12)],
        }
    )
    source = tmp_path_factory.mktemp("people") / "people.csv"
    table.to_csv(source, index=False)

    def make(*, translated: bool = True, **choices: Any) -> StudyFolder:
        folder = tmp_path_factory.mktemp("studies") / "study"
        wanted = {"title": "A study", "treated_well": "to be let in", "pairs": 4, **choices}
        made = new_study(folder, PeopleFile.read(source, "person"), ["age", "town"], wanted, outcome=OUTCOME)
        return translate(made) if translated else made

    return make


def translate(study: StudyFolder) -> StudyFolder:
    """Take every word of the drafts for its translation, so that all languages are offered."""
    files = list(study.path.glob("study.*.toml"))
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines()[2:]
        file.write_text("\n".join(line.removeprefix("# ") for line in lines), encoding="utf-8")
    return StudyFolder.open(study.path) if files else study
