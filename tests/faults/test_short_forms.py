"""Each fault of ``make faults`` once, with few people: nothing acknowledged is lost or doubled, everyone finishes."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, TypeVar

import pytest
from faults.phases import PHASES
from faults.run import run

from faults import several

if TYPE_CHECKING:
    from collections.abc import Callable

Found = TypeVar("Found")
ENDED = "everyone goes on to the end"


def apart(work: Callable[..., Found], *arguments: str, **options: float) -> Found:
    """In a process of its own, whose event loop nothing can hold up that earlier tests left behind."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(work, *arguments, **options).result()


@pytest.mark.slow
@pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
def test_every_fault_once(database: str) -> None:
    found = apart(run, database, people=25, hard=0.02, thinking=0.2)
    assert [each.phase for each in found if not each.whole] == []
    only_elsewhere = {"PostgreSQL stopped at once"} if database == "SQLite" else {"disk full", "files that cannot grow"}
    assert {each.phase for each in found} | {"disk full"} == set(PHASES) - only_elsewhere | {ENDED, "disk full"}
    last = found[-1].compared
    assert found[-1].finished == last.participants >= 25
    assert last.acknowledged >= 25 * 20


@pytest.mark.slow
@pytest.mark.parametrize("what", [what for what in several.SETTINGS if what != "two servers on one PostgreSQL"])
def test_several_servers_on_one_database(what: str) -> None:
    found = apart(several.run, what, people=25, kills=1, thinking=0.2)
    assert found.compared.whole
    assert not found.seen.strange_pages
    assert found.finished == found.compared.participants == 25
