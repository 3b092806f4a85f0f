"""Two processes on PostgreSQL: nothing is accepted after another process ended the vote or closed the study."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.databases import new_postgres
from tests.support.panellists import TWO, open_round, panel
from tests.support.someone import LEASE, NOW, TOTAL, Someone, schedule, shown_pair

from fairwise.judgments import Answer
from fairwise.store import deliberation, participants, recording, recruitment, rooms, votes
from fairwise.store.errors import NotInvited, NotOpen, NotYet, RoundOver, StoreProblem
from fairwise.store.operators import Operator
from fairwise.store.schema import answers as answers_table
from fairwise.store.schema import ballots, jobs
from fairwise.store.schema import participants as participants_table
from fairwise.store.store import Batchable, Store
from fairwise.store.study_state import require_first_round, require_open, set_state, standing
from fairwise.study.deliberation import Rule
from fairwise.study.recruitment import Arrival
from fairwise.study.settings import Stage, StudyState

if TYPE_CHECKING:
    from collections.abc import Iterator

Change = Callable[[sa.Connection], Any]
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


def held(store: Store, change: Change, begun: Event, ends: list[str], name: str) -> None:
    """Run a change whose commit waits until another process has tried its own for half a second, or has ended."""

    def slow(connection: sa.Connection) -> None:
        change(connection)
        begun.set()
        Event().wait(0.5)
        ends.append(name)  # the last thing before the commit

    store.change_now(slow)


def attempt(store: Store, change: Change, outcomes: list[Any], ends: list[str]) -> None:
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
    who = Someone(two[0], stage=Stage.PAIRS)
    key = who.read(shown_pair, position=1).key
    new = recording.NewAnswer(key, "n", Answer.SAME, "", None, 1.0, NOW)
    record: Any = Batchable(recording.record_all, recording.SentAnswer(who.token, new))
    if not joint:
        record = partial(recording.record, token_hash=who.token, new=new)
    assert isinstance(outcome_after(two, partial(set_state, state=StudyState.CLOSED), record), NotOpen)
    assert not two[0].read_now(lambda c: c.execute(sa.select(answers_table)).all())


def outcome_after(two: tuple[Store, Store], first: Change, second: Change) -> Any:
    """Return what a change of one process gives that begins before another process commits the `first`."""
    begun, ends, outcomes = Event(), list[str](), list[Any]()
    at_once(
        lambda: held(two[0], first, begun, ends, "first"),
        lambda: attempt(two[1], second, outcomes, ends),
        waits=begun,
    )
    assert ends == ["first", "second"]
    return outcomes[0]


def consent(token: bytes, arrival: Arrival) -> Change:
    agreed = participants.Consent(token, "v1", NOW, Stage.PAIRS, LEASE, arrival=arrival)
    return partial(participants.start, consent=agreed, schedule=schedule, new_key=lambda: "key")


def test_nobody_begins_after_a_room_was_closed(two: tuple[Store, Store]) -> None:
    code = two[0].change_now(partial(rooms.open_room, name="Class", at=NOW))
    close = partial(rooms.close_room, code=code, at=NOW)
    assert isinstance(outcome_after(two, close, consent(b"t" * 32, Arrival.into_room(code))), NotInvited)


def test_nobody_begins_by_a_link_that_was_revoked(two: tuple[Store, Store]) -> None:
    token = b"t" * 32
    two[0].change_now(partial(recruitment.invite, people=[(token, "Ada")], at=NOW))
    revoke = partial(recruitment.revoke, token_hash=token, at=NOW)
    assert isinstance(outcome_after(two, revoke, consent(token, Arrival.by_personal_link("t"))), NotInvited)


def test_nobody_begins_after_the_first_round(two: tuple[Store, Store]) -> None:
    def begin(connection: sa.Connection) -> None:
        require_first_round(connection, NOW, None)
        consent(b"t" * 32, Arrival.by_open_link())(connection)

    assert isinstance(outcome_after(two, partial(deliberation.end_first_round, at=NOW), begin), RoundOver)


def test_a_report_does_not_show_a_reason_again_that_an_operator_hides(two: tuple[Store, Store]) -> None:
    one, _ = two
    panel(one, "ass", "bss", "ass", "nss", why={1: "Ask my neighbour"})
    open_round(one)
    (reason,) = one.read_now(partial(deliberation.reasons_about, pairs=TWO))
    ada, report = (
        Operator(1, "Ada", "owner"),
        partial(deliberation.report_reason, answer_id=reason.answer_id, name="r1", at=NOW),
    )
    decide = partial(deliberation.decide_reasons, names={reason.answer_id: "r1"}, operator=ada, at=NOW)
    for change in (partial(decide, state=deliberation.RELEASED), report, partial(decide, state=deliberation.RELEASED)):
        one.change_now(change)
    outcome_after(two, partial(decide, state=deliberation.HIDDEN), report)
    assert one.read_now(partial(deliberation.reasons_about, pairs=TWO))[0].state == deliberation.HIDDEN


def test_two_who_finish_at_once_end_the_first_round(two: tuple[Store, Store]) -> None:
    """Each holds the study as it is and waits for the other: one of them begins anew."""
    people = [Someone(store) for store in two]
    for who in people:
        for position in range(1, TOTAL + 1):
            who.answer(position, Answer.SAME, f"n{position}")

    def finish(connection: sa.Connection, who: Someone) -> None:
        require_open(connection)
        participants.finish(connection, who.token, rules="", expressible="", comments="", at=NOW)
        Event().wait(0.3)
        deliberation.end_when_enough(connection, 1, NOW)

    futures = [who.store._writer.submit(partial(finish, who=who)) for who in people]
    for future in futures:
        future.result(60)
    assert two[0].read_now(standing).round_over
    finished = sa.select(participants_table.c.id).where(participants_table.c.stage == Stage.FINISHED)
    assert len(two[0].read_now(lambda c: c.execute(finished).all())) == 2


def test_a_study_is_closed_while_others_answer_without_a_pause(postgres: str) -> None:
    """Those who hold it as it is take turns with the one who changes it."""
    address, done = new_postgres(postgres), Event()
    stores = [Store.open(address, "study") for _ in range(4)]
    refused = []

    def look(connection: sa.Connection) -> None:
        require_open(connection)
        Event().wait(0.002)

    def busy(store: Store) -> None:
        while not done.is_set():
            try:
                store.change_now(look)
            except NotOpen:
                refused.append(store)
                return

    running = [Thread(target=busy, args=[store]) for store in stores[1:] for _ in range(2)]
    for thread in running:
        thread.start()
    try:
        stores[0]._writer.submit(partial(set_state, state=StudyState.CLOSED)).result(30)
        for thread in running:
            thread.join(30)
    finally:
        done.set()
        for store in stores:
            store.close()
    assert len(refused) == len(running)
