"""A small study to attack, and a count of all that was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.support.small_study import study_maker
from tests.support.tried import PROPERTY, Tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fairwise.study.folder import StudyFolder


@pytest.fixture(scope="session")
def make_study(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StudyFolder]:
    return study_maker(tmp_path_factory)


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
