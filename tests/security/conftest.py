"""A small study to attack, and a count of all that was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tried import PROPERTY, Tried

from fairwise.datasets.people_file import PeopleFile
from fairwise.elicitation.new_study import new_study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fairwise.elicitation.folder import StudyFolder

OUTCOME = "a_result_that_must_never_be_seen"


@pytest.fixture(scope="session")
def make_study(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StudyFolder]:
    """A study about twelve people whose fields are hostile, and whose outcomes cannot be mistaken for anything else."""
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


@pytest.fixture
def tried(record_property: Callable[[str, object], None]) -> Iterator[Tried]:
    """What one test tries; the report adds up all of them."""
    counted = Tried()
    yield counted
    record_property(PROPERTY, counted.distinct)
    record_property("of them taken", counted.taken)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    rows = [
        (report.nodeid.rpartition("::")[2], dict(report.user_properties))
        for report in terminalreporter.stats.get("", ())
        if report.when == "teardown" and PROPERTY in dict(report.user_properties)
    ]
    if not rows:
        return
    terminalreporter.section(PROPERTY)
    for name, counted in sorted(rows):
        terminalreporter.line(f"{counted[PROPERTY]:>8,}  {name} ({counted['of them taken']:,} taken)")
    terminalreporter.line(f"{sum(counted[PROPERTY] for _, counted in rows):>8,}  in all")
