"""Each fault of ``make faults`` once, with few people: nothing acknowledged is lost or doubled, everyone finishes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import pytest
from faults.phases import PHASES
from faults.run import run

from faults import several

if TYPE_CHECKING:
    from collections.abc import Callable

Found = TypeVar("Found")
ENDED = "everyone goes on to the end"


def apart(work: Callable[[], Found]) -> Found:
    """In a thread of its own: where a browser was tested before, this one has an event loop already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


@pytest.mark.slow
@pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
def test_every_fault_once(database: str) -> None:
    found = apart(lambda: run(database, people=25, hard=0.02, thinking=0.2))
    assert [each.phase for each in found if not each.whole] == []
    only_elsewhere = {"PostgreSQL stopped at once"} if database == "SQLite" else {"disk full", "files that cannot grow"}
    assert {each.phase for each in found} | {"disk full"} == set(PHASES) - only_elsewhere | {ENDED, "disk full"}
    last = found[-1].compared
    assert found[-1].finished == last.participants >= 25
    assert last.acknowledged >= 25 * 20


@pytest.mark.slow
@pytest.mark.parametrize("what", [what for what in several.SETTINGS if what != "two servers on one PostgreSQL"])
def test_several_servers_on_one_database(what: str) -> None:
    found = apart(lambda: several.run(what, people=25, kills=1, thinking=0.2))
    assert found.compared.whole
    assert not found.seen.strange_pages
    assert found.finished == found.compared.participants == 25
