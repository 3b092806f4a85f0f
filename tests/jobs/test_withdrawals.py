"""After somebody withdrew no single answer of theirs is found in any file, whenever it was that they did."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.fits import read_json
from tests.support.fitting import NOW, answered, ended, job_of, study_of, submitted, until, working
from tests.support.traces import files_with, traces_of

from fairwise import PairwiseFairClassifier
from fairwise.archive.backup import take_backup
from fairwise.archive.bundle import write_bundle
from fairwise.jobs.runner import JobFolder, Runner, _Stopping
from fairwise.store import jobs, participants
from fairwise.store.erasure import erase, forget_in_time
from fairwise.store.fit_files import (
    FRONTIER,
    INFLUENCE,
    MODEL,
    PRICES,
    REPORT,
    REPORTS,
    RULES,
    SCORES,
    SUMMARY,
    WITH_ANSWERS,
    job_folder,
    unfinished_folder,
)
from fairwise.store.housekeeping import tidy_fits
from fairwise.store.schema import participants as table
from fairwise.store.store import Store, snapshot
from fairwise.study.recruitment import Keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

FILES = (FRONTIER, INFLUENCE, MODEL, PRICES, *REPORTS.values(), RULES, SCORES, SUMMARY)
GONE = 3


class Killed(Exception):  # noqa: N818 - nothing is wrong
    """The process ended."""


class Panel:
    """A study whose panel has answered, in a database that is in its folder if it is SQLite's."""

    def __init__(self, study: StudyFolder, database: str | Path) -> None:
        self.study, self.database = study, database
        self.store = Store.open(database, study.fingerprint)

    def withdraw(self, number: int = GONE) -> None:
        """As their page does it."""
        token = sa.select(table.c.token_hash).where(table.c.number == number)
        token_hash = self.store.read_now(lambda c: c.execute(token).scalar_one())
        leave = partial(participants.withdraw, token_hash=token_hash, at=datetime.now(UTC))
        if self.store.change_now(leave):
            tidy_fits(self.study.path, self.store)
        forget_in_time(self.study.settings, self.store, self.database)

    def runner(self) -> Runner:
        return Runner(self.study.path, self.store, Event())

    def taken(self) -> jobs.Job:
        job = self.store.change_now(partial(jobs.take, at=datetime.now(UTC), stale=timedelta(hours=1)))
        assert job is not None
        return job


@pytest.fixture
def panel(new_database: Callable[[], str | Path], tmp_path: Path) -> Iterator[Panel]:
    study, database = study_of(tmp_path), new_database()
    if not isinstance(database, str):
        database = study.path / "study.sqlite"
    made = Panel(study, database)
    with closing(made.store):
        answered(study, made.store, 5)
        yield made


def files_after(panel: Panel, home: Path, traces: list[Any]) -> set[str]:
    """Where something is found: in the folder, in a new backup and in a new bundle."""
    backup, bundle = home / "backup.zip", home / "bundle.zip"
    take_backup(backup, panel.study, panel.database, with_secret=True)
    with snapshot(panel.database) as connection:
        write_bundle(bundle, panel.study, connection)
    return files_with(traces, panel.study.path, backup, bundle)


@pytest.mark.slow
def test_no_answer_is_in_any_file_after_a_withdrawal(panel: Panel, tmp_path: Path) -> None:
    with working(panel.study.path, panel.database):
        done = submitted(panel.store, case_details=True)
        assert until(panel.store, done, ended).state == "done"
    traces = traces_of(panel.store, GONE)
    before = files_after(panel, tmp_path, traces)
    assert {*WITH_ANSWERS, f"backup.zip: {PRICES}", "bundle.zip: schedule.csv"} <= before
    assert not [name for name in before if MODEL in name]
    judges = read_json(panel.study.path, done, SUMMARY)["judges"]

    panel.withdraw()
    assert files_after(panel, tmp_path, traces) == set()
    assert {file.name for file in job_folder(panel.study.path, done).iterdir()} == {MODEL, RULES, SCORES, SUMMARY}
    with working(panel.study.path, panel.database):  # and then it is made again by itself
        again = until(panel.store, done, ended)
    assert (again.state, again.restarts) == ("done", 1)
    assert files_after(panel, tmp_path, traces) == set()
    folder = job_folder(panel.study.path, done)
    assert {file.name for file in folder.iterdir()} == set(FILES)
    assert [file.name for file in folder.parent.iterdir()] == [str(done)]
    assert read_json(panel.study.path, done, SUMMARY)["judges"] == judges - 1
    prices = PairwiseFairClassifier.load(folder / MODEL, prices=folder / PRICES).prices_
    assert prices["judge"].nunique() == judges - 1


def writes(home: Any, *_given: Any) -> None:
    """In the place of a fit."""
    home.finish({name: f"{name} with p{GONE:05d}".encode() for name in FILES})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], None]], None]:
    """Let something else be done in the place of a fit, which takes half a minute."""

    class NoWorkers:
        def __init__(self, *_given: Any, **_settings: Any) -> None: ...

        def __enter__(self) -> None: ...

        def __exit__(self, *_given: object) -> None: ...

    def instead(work: Callable[[Any], None]) -> None:
        monkeypatch.setattr("fairwise.jobs.runner.LocalWorker", NoWorkers)
        monkeypatch.setattr("fairwise.jobs.runner.perform", lambda _task, home, *_given: work(home))

    return instead


def test_a_run_that_was_published_and_then_not_said_to_be_done_is_published_again(panel: Panel) -> None:
    """The machine stopped between the two; the second time, files of the first are in the way."""
    submitted(panel.store)
    home = JobFolder(panel.study.path, replace(panel.taken(), restarts=1))
    home.open()
    for _ in range(3):
        home.finish(dict.fromkeys(FILES, b""))
        home.publish()
    assert {file.name for file in job_folder(panel.study.path, 1).iterdir()} == set(FILES)


@pytest.mark.parametrize("leaves", ["by themselves", "erased"])
def test_who_withdraws_while_the_report_is_written_is_not_published(
    panel: Panel, quick: Callable[..., None], leaves: str
) -> None:
    """Everything is computed, and nobody asks any more whether to go on."""
    job_id = submitted(panel.store)

    def work(home: Any) -> None:
        writes(home)
        if leaves == "erased":
            panel.store.change_now(partial(erase, number=GONE, group_mark=Keys(bytes(32)).group_mark))
        else:
            token = sa.select(table.c.token_hash).where(table.c.number == GONE)
            token_hash = panel.store.read_now(lambda c: c.execute(token).scalar_one())
            panel.store.change_now(partial(participants.withdraw, token_hash=token_hash, at=NOW))

    quick(work)
    panel.runner()._do(panel.taken())
    assert (job_of(panel.store, job_id).state, job_of(panel.store, job_id).restarts) == ("waiting", 1)
    assert list((panel.study.path / "jobs").iterdir()) == []
    quick(writes)
    panel.runner()._do(panel.taken())
    assert job_of(panel.store, job_id).state == "done"
    assert {file.name for file in job_folder(panel.study.path, job_id).iterdir()} == set(FILES)


def test_files_that_are_taken_away_under_a_run_fail_nothing(panel: Panel, quick: Callable[..., None]) -> None:
    job_id = submitted(panel.store)

    def work(home: Any) -> None:
        panel.withdraw()
        assert not home.unfinished.exists(), "the answers that it had kept went at once"
        home.keep("own.skops", b"a model")

    quick(work)
    panel.runner()._do(panel.taken())
    assert (job_of(panel.store, job_id).state, job_of(panel.store, job_id).message) == ("waiting", "")


def test_killed_before_it_said_that_it_is_done_nothing_remains(panel: Panel, quick: Callable[..., None]) -> None:
    """The files were in their place, and the database did not know yet."""
    job_id = submitted(panel.store)
    quick(writes)
    job, runner = panel.taken(), panel.runner()

    def killed(*_given: object) -> bool:
        raise Killed

    runner._insist = lambda change: panel.store.change_now(lambda c: (change(c), killed())[0])  # type: ignore[method-assign]
    with pytest.raises(Killed):
        runner._do(job)
    assert job_of(panel.store, job_id).state == "running"
    assert (job_folder(panel.study.path, job_id) / REPORT).exists()
    panel.withdraw()
    assert not [file for file in panel.study.path.rglob("*") if file.name in WITH_ANSWERS]
    assert not [file for file in panel.study.path.rglob("*") if file.name.startswith("judgments")]


def test_when_nobody_is_left_it_says_so_and_nothing_of_it_remains(panel: Panel, quick: Callable[..., None]) -> None:
    job_id = submitted(panel.store)
    quick(writes)
    panel.runner()._do(panel.taken())
    for number in range(1, 6):
        panel.withdraw(number)
    answered(panel.study, panel.store, 1)
    panel.runner()._do(panel.taken())
    failed = job_of(panel.store, job_id)
    assert (failed.state, failed.restarts) == ("failed", 5)
    assert "Everyone whose answers it was made from has withdrawn" in failed.message
    assert list((panel.study.path / "jobs").iterdir()) == []


def test_what_an_ended_job_left_unfinished_goes(panel: Panel, quick: Callable[..., None]) -> None:
    """Put back with its answers when the server stopped, and then not wanted any more."""
    job_id = submitted(panel.store)

    def stopped(_home: Any) -> None:
        raise _Stopping

    quick(stopped)
    panel.runner()._do(panel.taken())
    kept = unfinished_folder(panel.study.path, job_id, 0)
    assert (kept / "judgments.parquet").exists()
    panel.store.change_now(partial(jobs.want_cancel, job_id=job_id))
    tidy_fits(panel.study.path, panel.store)
    assert not kept.exists()
