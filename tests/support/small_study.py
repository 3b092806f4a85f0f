"""A small study to test on and to attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from fairwise.study.new_study import new_study
from fairwise.tables.people_file import PeopleFile

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from fairwise.study.folder import StudyFolder

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

    def make(**choices: Any) -> StudyFolder:
        folder = tmp_path_factory.mktemp("studies") / "study"
        wanted = {"title": "A study", "treated_well": "to be let in", "pairs": 4, **choices}
        return new_study(folder, PeopleFile.read(source, "person"), ["age", "town"], wanted, outcome=OUTCOME)

    return make
