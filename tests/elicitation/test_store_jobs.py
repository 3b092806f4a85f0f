"""Jobs in the database: each is done by one at a time, goes on after a crash, and can be stopped."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fairwise.elicitation.store import jobs
from fairwise.elicitation.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
STALE = timedelta(seconds=30)


@pytest.fixture
def database(new_database: Callable[[], str | Path]) -> str | Path:
    return new_database()


@pytest.fixture
def store(database: str | Path) -> Iterator[Store]:
    with closing(Store.open(database, "study")) as opened:
        yield opened


def submit(store: Store, name: str = "a fit", at: datetime = NOW) -> int:
    return store.change_now(lambda c: jobs.submit(c, {"name": name, "gamma": 0.1, "eta": None}, "Ada", at))


def take(store: Store, at: datetime = NOW) -> jobs.Job | None:
    return store.change_now(partial(jobs.take, at=at, stale=STALE))


def find(store: Store, job_id: int) -> jobs.Job:
    found = store.read_now(partial(jobs.find_job, job_id=job_id))
    assert found is not None
    return found


def tell(store: Store, job_id: int, at: datetime = NOW) -> bool:
    return store.change_now(partial(jobs.tell, job=find(store, job_id), progress=0.4, message="half way", at=at))


def end(store: Store, job_id: int, state: str, message: str = "") -> bool:
    return store.change_now(partial(jobs.end, job=find(store, job_id), state=state, message=message, at=NOW))


def test_a_job_from_the_queue_to_its_end(store: Store) -> None:
    job_id = submit(store, "é = 1")
    assert find(store, job_id) == jobs.Job(
        job_id, NOW, "Ada", {"name": "é = 1", "gamma": 0.1, "eta": None}, "waiting", 0.0, "", False, None, None, None
    )
    later = NOW + timedelta(seconds=9)
    taken = take(store, later)
    assert taken is not None
    assert (taken.id, taken.state, taken.started_at, taken.alive_at) == (job_id, "running", later, later)
    assert tell(store, job_id, later + timedelta(seconds=1)) is False
    told = find(store, job_id)
    assert (told.progress, told.message, told.alive_at) == (0.4, "half way", later + timedelta(seconds=1))
    end(store, job_id, "done")
    done = find(store, job_id)
    assert (done.state, done.progress, done.message, done.ended_at) == ("done", 1.0, "", NOW)
    assert take(store, NOW + timedelta(days=1)) is None
    assert store.read_now(partial(jobs.find_job, job_id=job_id + 1)) is None


def test_oldest_first_and_newest_first_in_the_list(store: Store) -> None:
    ids = [submit(store, name) for name in ("one", "two", "three")]
    assert [job.id for job in store.read_now(jobs.all_jobs)] == ids[::-1]
    assert [job.id if job else None for job in (take(store) for _ in range(4))] == [*ids, None]


def test_what_nobody_is_alive_for_is_taken_over_and_nothing_else(store: Store) -> None:
    job_id = submit(store)
    take(store)
    tell(store, job_id, NOW + timedelta(seconds=10))
    assert take(store, NOW + timedelta(seconds=40)) is None
    again = take(store, NOW + timedelta(seconds=41))
    assert again is not None
    assert (again.id, again.progress) == (job_id, 0.4)
    assert again.started_at == NOW, "it was begun when it was begun first"
    assert take(store, NOW + timedelta(seconds=42)) is None
    store.change_now(partial(jobs.put_back, job=find(store, job_id)))
    assert find(store, job_id).state == "waiting"
    at_once = take(store, NOW + timedelta(seconds=43))
    assert at_once is not None


def test_cancelling(store: Store) -> None:
    waiting, running, done = (submit(store) for _ in range(3))
    store.change_now(partial(jobs.want_cancel, job_id=waiting))
    ended = find(store, waiting)
    assert (ended.state, ended.cancel_wanted) == ("cancelled", True)
    assert ended.ended_at is not None
    assert abs(ended.ended_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert [job.id if job else None for job in (take(store), take(store))] == [running, done]
    store.change_now(partial(jobs.want_cancel, job_id=running))
    assert tell(store, running) is True
    end(store, running, "cancelled")
    end(store, running, "done")
    assert find(store, running).state == "cancelled", "what has ended stays as it is"
    assert tell(store, running) is True, "whoever still works on it is told to stop"
    end(store, done, "failed", "no answers yet")
    store.change_now(partial(jobs.want_cancel, job_id=done))
    failed = find(store, done)
    assert (failed.state, failed.message, failed.progress) == ("failed", "no answers yet", 0.0)


def test_several_runners_at_once_never_take_the_same_job(store: Store, database: str | Path) -> None:
    ids = [submit(store) for _ in range(30)]
    taken: list[int] = []

    def run() -> None:
        with closing(Store.open(database, "study")) as own:
            while (job := take(own)) is not None:
                taken.append(job.id)

    runners = [threading.Thread(target=run) for _ in range(3)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join(60)
    assert Counter(taken) == Counter(ids)
