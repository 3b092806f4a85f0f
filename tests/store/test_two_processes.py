"""Two processes on PostgreSQL: nothing is accepted after another process ended the vote or closed the study."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.databases import new_postgres
from tests.support.someone import NOW, Someone, shown_pair

from fairwise.judgments import Answer
from fairwise.store import answers, participants, votes
from fairwise.store.errors import NotOpen, NotYet, StoreProblem
from fairwise.store.store import Store
from fairwise.store.study_state import set_state
from fairwise.store.tables import answers as answers_table
from fairwise.store.tables import ballots, jobs
from fairwise.store.writer import Joint
from fairwise.study.stages import Stage, StudyState
from fairwise.study.tally import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OPTIONS = [votes.Option(eta, 0.3 + eta, 10, 5) for eta in (0.0, 0.01, 0.02)]


@pytest.fixture
def two(postgres: str) -> Iterator[tuple[Store, Store]]:
    """Two processes of one study."""
    address = new_postgres(postgres)
    stores = Store.open(address, "study"), Store.open(address, "study")
    yield stores
    for store in stores:
        store.close()


def at_once(first: Callable[[], Any], second: Callable[[], Any], *, waits: Event) -> None:
    """Begin the second change while the first is not committed yet, and let the first commit a moment later."""
    running = [Thread(target=first), Thread(target=second)]
    running[0].start()
    assert waits.wait(60)
    running[1].start()
    for thread in running:
        thread.join(60)
        assert not thread.is_alive()


def held(store: Store, change: Callable[[sa.Connection], Any], begun: Event, ends: list[str], name: str) -> None:
    """Run a change whose commit waits until another process has tried its own for half a second, or has ended."""

    def slow(connection: sa.Connection) -> None:
        change(connection)
        begun.set()
        Event().wait(0.5)
        ends.append(name)  # the last thing before the commit

    store.change_now(slow)


def attempt(store: Store, change: Callable[[sa.Connection], Any], outcomes: list[Any], ends: list[str]) -> None:
    try:
        outcomes.append(store.change_now(change))
    except StoreProblem as refusal:
        outcomes.append(refusal)
    ends.append("second")


def prepared(store: Store) -> tuple[Someone, int]:
    """A finished participant and an open vote."""
    who = Someone(store)
    for position in (1, 2, 3):
        who.answer(position, Answer.SAME, f"n{position}")
    who.finish()
    job = {"made_at": NOW, "made_by": "Ada", "settings": "{}", "state": "done", "message": ""}
    number = store.change_now(lambda c: c.execute(sa.insert(jobs).returning(jobs.c.id), job).scalar_one())
    store.change_now(partial(votes.open_vote, job_id=number, rule=Rule.APPROVAL, options=OPTIONS, by="Ada", at=NOW))
    vote = store.read_now(votes.last_vote)
    assert vote is not None
    return who, vote.id


def test_no_ballot_after_the_end_of_a_vote(two: tuple[Store, Store]) -> None:
    one, other = two
    who, vote = prepared(one)
    begun, ends, outcomes = Event(), list[str](), list[Any]()
    close = partial(votes.close_vote, vote_id=vote, at=NOW)
    cast = partial(votes.cast, token_hash=who.token, vote_id=vote, ballot=(0,), at=NOW)
    at_once(lambda: held(one, close, begun, ends, "first"), lambda: attempt(other, cast, outcomes, ends), waits=begun)
    assert ends == ["first", "second"]
    assert isinstance(outcomes[0], NotYet)
    assert not one.read_now(lambda c: c.execute(sa.select(ballots)).all())


def test_a_vote_ends_after_the_ballots_under_way(two: tuple[Store, Store]) -> None:
    """So a tally that is read once the vote has ended holds every ballot."""
    one, other = two
    who, vote = prepared(one)
    begun, ends, outcomes = Event(), list[str](), list[Any]()
    cast = partial(votes.cast, token_hash=who.token, vote_id=vote, ballot=(0,), at=NOW)
    close = partial(votes.close_vote, vote_id=vote, at=datetime.now(UTC))
    at_once(lambda: held(one, cast, begun, ends, "first"), lambda: attempt(other, close, outcomes, ends), waits=begun)
    assert ends == ["first", "second"]
    assert len(one.read_now(lambda c: c.execute(sa.select(ballots)).all())) == 1


def test_who_withdraws_while_a_vote_ends_leaves_no_ballot_to_subtract(two: tuple[Store, Store]) -> None:
    one, other = two
    who, vote = prepared(one)
    second = Someone(one, stage=Stage.FINISHED)
    for voter in (who, second):
        one.change_now(partial(votes.cast, token_hash=voter.token, vote_id=vote, ballot=(0,), at=NOW))
    begun, ends, outcomes = Event(), list[str](), list[Any]()
    close = partial(votes.close_vote, vote_id=vote, at=datetime.now(UTC))
    leave = partial(participants.withdraw, token_hash=who.token, at=NOW)
    at_once(lambda: held(one, close, begun, ends, "first"), lambda: attempt(other, leave, outcomes, ends), waits=begun)
    assert ends == ["first", "second"]
    assert not one.read_now(lambda c: c.execute(sa.select(ballots)).all())


@pytest.mark.parametrize("joint", [False, True])
def test_no_answer_after_a_study_was_closed(two: tuple[Store, Store], joint: bool) -> None:
    one, other = two
    who = Someone(one, stage=Stage.PAIRS)
    key = who.read(shown_pair, position=1).key
    new = answers.NewAnswer(key, "n", Answer.SAME, "", None, 1.0, NOW)
    record: Any = Joint(answers.record_all, answers.SentAnswer(who.token, new, answers.record))
    if not joint:
        record = partial(answers.record, token_hash=who.token, new=new)
    begun, ends, outcomes = Event(), list[str](), list[Any]()
    at_once(
        lambda: held(one, partial(set_state, state=StudyState.CLOSED), begun, ends, "first"),
        lambda: attempt(other, record, outcomes, ends),
        waits=begun,
    )
    assert ends == ["first", "second"]
    assert isinstance(outcomes[0], NotOpen)
    assert not one.read_now(lambda c: c.execute(sa.select(answers_table)).all())
