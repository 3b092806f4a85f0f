"""Jobs in the database: each is done by one at a time, goes on after a crash, and can be stopped."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from fairwise.store import jobs
from fairwise.store.erasure import delete_participant
from fairwise.store.errors import NotUnderWay
from fairwise.store.schema import participants
from fairwise.store.store import Store

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
    return store.change_now(
        partial(jobs.report_progress, job=find(store, job_id), progress=0.4, message="half way", at=at)
    )


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


def test_a_job_that_ends_its_own_process_is_given_up(store: Store) -> None:
    job_id, at = submit(store), NOW
    for attempt in range(1, jobs.MOST_ATTEMPTS + 1):
        taken = take(store, at)
        assert taken is not None
        assert (taken.id, taken.attempts) == (job_id, attempt)
        at += timedelta(minutes=1)  # nobody says any more that it is being done
    other = submit(store, "the next one")
    following = take(store, at)
    assert following is not None
    assert following.id == other, "it is not in the way of others"
    given_up = find(store, job_id)
    assert (given_up.state, given_up.ended_at) == ("failed", at)
    assert "begun 3 times" in given_up.message


def test_one_that_comes_further_or_is_put_back_is_tried_on(store: Store) -> None:
    job_id, at = submit(store), NOW
    for attempt in range(2 * jobs.MOST_ATTEMPTS):
        at += timedelta(minutes=1)
        taken = take(store, at)
        assert taken is not None, "it came further each time"
        told = partial(jobs.report_progress, job=taken, progress=0.1 + attempt / 100, message="on", at=at)
        assert store.change_now(told) is False
    for _ in range(2 * jobs.MOST_ATTEMPTS):
        store.change_now(partial(jobs.put_back, job=find(store, job_id)))
        assert take(store, at) is not None, "the server was only stopped"


def someone(store: Store, number: int) -> int:
    """A participant, who may be deleted."""
    values = {
        "number": number,
        "token_hash": bytes([number]) * 32,
        "consent_version": "v1",
        "consented_at": NOW,
        "stage": "pairs",
    }
    added = sa.insert(participants).returning(participants.c.id)
    return store.change_now(lambda c: int(c.execute(added, values).scalar_one()))


EVERYONE = sa.select(participants.c.id, participants.c.number)


def withdraw(store: Store, number: int) -> bool:
    which = participants.c.number == number
    return store.change_now(lambda c: delete_participant(c, which)[1])


def test_a_run_with_answers_of_someone_who_withdrew_is_void(store: Store) -> None:
    for number in (1, 2, 3):
        someone(store, number)
    job_id = submit(store)
    first = take(store)
    assert first is not None
    assert store.change_now(partial(jobs.note_participants, job=first, who=EVERYONE)) == [1, 2, 3]
    assert withdraw(store, 2) is True
    assert store.change_now(partial(jobs.report_progress, job=first, progress=0.9, message="nearly", at=NOW)) is True
    for state in ("done", "cancelled", "failed"):
        assert store.change_now(partial(jobs.end, job=first, state=state, message="", at=NOW)) is False
    with pytest.raises(NotUnderWay):
        store.change_now(partial(jobs.note_participants, job=first, who=EVERYONE))
    store.change_now(partial(jobs.put_back, job=first))
    found = find(store, job_id)
    assert (found.state, found.restarts, found.progress, found.message) == ("waiting", 1, 0.0, "")

    someone(store, 4)  # who comes now is not in it, or it might never end
    second = take(store, NOW)
    assert second is not None
    assert store.change_now(partial(jobs.note_participants, job=second, who=EVERYONE)) == [1, 3]
    assert withdraw(store, 4) is False
    assert store.change_now(partial(jobs.end, job=second, state="done", message="", at=NOW)) is True
    assert find(store, job_id).state == "done"
    assert withdraw(store, 3) is True
    assert (find(store, job_id).state, find(store, job_id).restarts) == ("waiting", 2)


def test_what_is_being_stopped_is_not_done_and_not_made_again(store: Store) -> None:
    someone(store, 1)
    job_id = submit(store)
    job = take(store)
    assert job is not None
    store.change_now(partial(jobs.note_participants, job=job, who=EVERYONE))
    store.change_now(partial(jobs.want_cancel, job_id=job_id))
    assert withdraw(store, 1) is True
    assert end(store, job_id, "done") is False
    assert end(store, job_id, "cancelled", "An operator stopped it.") is True
    assert find(store, job_id).message == "An operator stopped it."
