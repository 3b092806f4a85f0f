"""Models of several studies: one at a time, and each study in its turn."""

from __future__ import annotations

from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.fitting import submitted
from tests.support.several import folder_of_studies

from fairwise.jobs.runner import Runner, SeveralRunners
from fairwise.store import jobs
from fairwise.store.places import find_places
from fairwise.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.store.jobs import Job


@pytest.fixture
def home(make_study: Any, tmp_path: Path) -> Path:
    return folder_of_studies(tmp_path / "studies", make_study, "loans", "parole")


def opened(home: Path) -> dict[str, Store]:
    """As the server does it."""
    places = find_places(home, None).studies
    return {name: Store.open(place.database, None, place.path) for name, place in sorted(places.items())}


def test_jobs_of_all_studies_are_done_in_turn_and_never_two_at_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = opened(home)
    for _ in range(3):
        submitted(stores["loans"])
    submitted(stores["parole"])
    done: list[str] = []
    at_work: list[str] = []

    def do(runner: Runner, job: Job) -> None:
        assert not at_work
        at_work.append(runner._folder.name)
        runner._store.change_now(partial(jobs.want_cancel, job_id=job.id))
        runner._end(job, "cancelled", "")
        done.append(at_work.pop())

    monkeypatch.setattr(Runner, "_do", do)
    several = SeveralRunners(home, None, Event())
    while several.work_in_turn():
        pass
    assert sorted(done) == ["loans", "loans", "loans", "parole"]
    assert set(done[:2]) == {"loans", "parole"}  # whoever asked for many waits for whoever asked for one
    for store in stores.values():
        store.close()
    several.close()


def test_a_study_that_is_new_broken_or_gone_stops_no_other(
    home: Path, make_study: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("fairwise.jobs.runner._SECONDS_BETWEEN_LOOKS", 0.0)
    asked: list[str] = []
    monkeypatch.setattr(Runner, "work_once", lambda runner: asked.append(runner._folder.name))
    several = SeveralRunners(home, None, Event())

    def in_turn() -> set[str]:
        asked.clear()
        several.work_in_turn()
        return set(asked)

    assert in_turn() == set()  # databases are made by the server, which has opened none
    for store in opened(home).values():
        store.close()
    assert in_turn() == {"loans", "parole"}
    folder_of_studies(home, make_study, "broken")
    (home / "broken" / "database.json").write_text("{}", encoding="utf-8")
    (home / "loans").rename(home / "mortgages")
    assert in_turn() == {"mortgages", "parole"}
    assert in_turn() == {"mortgages", "parole"}
    assert caplog.text.count("models cannot be made") == 1
    several.close()
