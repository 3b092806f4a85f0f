"""A small study whose panel has answered, and the process that does its jobs."""

from __future__ import annotations

import secrets
import signal
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import sqlalchemy as sa
from tests.support.someone import shown_pair

from fairwise.jobs.fit_data import read_fit_data
from fairwise.jobs.runner import JobFolder, perform, start_jobs
from fairwise.judgments import Answer
from fairwise.store import jobs, participants, recording, schema
from fairwise.study.new_study import new_study
from fairwise.study.settings import Stage
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.jobs.fit_data import FitData
    from fairwise.store.jobs import Job
    from fairwise.store.store import Store
    from fairwise.study.folder import StudyFolder

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ASKED = {"name": "First try", "estimator": "tree", "gamma": 0.1, "eta": 0.01, "favorable_label": "0"}
_PATIENCE = 300.0


class Here:
    """Does what workers do, in this process."""

    shares_disk = True

    def result(self, call: tuple[Any, ...], wait: Callable[[float], None]) -> Any:
        wait(0.0)
        function, *arguments = call
        return function(*arguments)


def made_here(study: StudyFolder, store: Store) -> FitData:
    """Do the job that waits, in this process; returns what it was made from, read again as if it had been cut short."""
    at = datetime.now(UTC)
    job = store.change_now(partial(jobs.take, at=at, stale=timedelta(hours=1)))
    assert job is not None
    folder = JobFolder(study.path, job)
    folder.open()
    for _ in range(2):
        data = read_fit_data(job, study.path, store, folder.unfinished)
    perform(data, folder, Here(), lambda _share, _words: None)
    folder.publish()
    store.change_now(partial(jobs.end, job=job, state="done", message="", at=at))
    return data


def study_of(home: Path, n_people: int = 80, pairs_each: int = 12, **more: Any) -> StudyFolder:
    """People whose outcome hangs on their age and their town: one of two, the place of one of three, or an amount."""
    rng = np.random.default_rng(0)
    age, town = rng.integers(18, 70, n_people), rng.choice(["North", "South"], n_people)
    reason = (age < 40) + 0.6 * (town == "South") + rng.normal(0, 0.6, n_people)
    table = pd.DataFrame({"id": [f"k{k}" for k in range(n_people)], "age": age, "town": town, "visits": age % 7})
    table["again"] = np.digitize(reason, [0.2, 0.9]) if "decisions" in more else (reason > 0.7).astype(int)
    if "amount" in more:
        table["again"] = np.clip(2000 + 3000 * reason, 0, 9000).round()
    table.to_csv(home / "people.csv", index=False)
    people = PeopleFile.read(home / "people.csv", "id")
    choices = {"title": "Who goes home", "treated_well": "to go home", "pairs": pairs_each, **more}
    return new_study(home / "study", people, ["age", "town", "visits"], choices, outcome="again")


def answered(
    study: StudyFolder,
    store: Store,
    n_judges: int = 8,
    *,
    finished: bool = True,
    simulated: bool = False,
    relation: str | None = None,
    seed: int = 1,
) -> None:
    """Everyone answers all their pairs."""
    rng = np.random.default_rng(seed)
    said = [*Answer, Answer.SAME, Answer.SAME]
    for _ in range(n_judges):
        token = secrets.token_bytes(32)
        consent = participants.Consent(token, "v1", NOW, Stage.PAIRS, timedelta(days=1), simulated=simulated)
        new_key = partial(secrets.token_urlsafe, 18)
        store.change_now(partial(participants.start, consent=consent, schedule=study.schedule, new_key=new_key))
        theirs = schema.participants.c.token_hash == token
        is_to_them = sa.update(schema.participants).where(theirs).values(relation=relation)
        store.change_now(partial(sa.Connection.execute, statement=is_to_them))
        for position in range(1, study.settings.pairs + 1):
            shown = store.read_now(partial(shown_pair, token_hash=token, position=position))
            answer = said[int(rng.integers(len(said)))]
            new = recording.NewAnswer(shown.key, secrets.token_hex(8), answer, "", None, 2.5, NOW)
            store.change_now(partial(recording.record, token_hash=token, new=new))
        if finished:
            finish = partial(participants.finish, token_hash=token, rules="", expressible="", comments="", at=NOW)
            store.change_now(finish)


def submitted(store: Store, **settings: Any) -> int:
    given: dict[str, Any] = {**ASKED, **settings}
    return store.change_now(lambda connection: jobs.submit(connection, given, "Ada", datetime.now(UTC)))


def job_of(store: Store, job_id: int) -> Job:
    found = store.read_now(lambda connection: jobs.find_job(connection, job_id))
    assert found is not None
    return found


def until(store: Store, job_id: int, reached: Callable[[Job], bool]) -> Job:
    """Wait for something to be so of a job."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        job = job_of(store, job_id)
        if reached(job):
            return job
        time.sleep(0.05)
    raise AssertionError(job)


def ended(job: Job) -> bool:
    return job.state in ("done", "failed", "cancelled")


@contextmanager
def working(
    folder: Path, database: str | Path, dask_address: str | None = None, *, equal: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    """The process that does the jobs, until the block ends or it is killed; other tests do not keep it waiting."""
    process = start_jobs(folder, database, dask_address, equal=equal)
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(_PATIENCE)


def killed(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
