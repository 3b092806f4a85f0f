"""Arms: assigned in the transaction that begins or finishes, however many do so at once, and even among completers."""

from __future__ import annotations

import secrets
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sqlalchemy as sa

from fairwise.judgments import Answer
from fairwise.store import answers, export, participants, recording
from fairwise.store.roster import progress, roster
from fairwise.store.schema import participants as table
from fairwise.store.store import Store
from fairwise.study.design import Arm
from fairwise.study.schedules import ArmTurns, ShownPair
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LEASE = timedelta(hours=24)
TURNS = ArmTurns([Arm(name="a"), Arm(name="b", buttons="reversed")], seed=11)
PEOPLE, LEAVING = 300, 0.2


class Visitor:
    """Someone who is assigned when they begin, or when they finish."""

    def __init__(self, store: Store, day: float = 0, *, late: bool = False) -> None:
        self.store, self.day, self.token = store, day, secrets.token_bytes(32)
        self.late = late
        consent = participants.Consent(self.token, "v1", self.now, Stage.PAIRS, LEASE)
        begin = partial(participants.start, consent=consent, schedule=_one_pair, new_key=lambda: secrets.token_hex(9))
        self.begun = self.write(partial(begin, arms=None if late else TURNS))

    @property
    def now(self) -> datetime:
        return NOON + timedelta(days=self.day)

    @property
    def arm(self) -> str | None:
        found: participants.Participant = self.store.read_now(partial(participants.find, token_hash=self.token))
        return found.arm

    def write(self, change: Callable[..., Any]) -> Any:
        return self.store._writer.submit(change).result(timeout=120)

    def finish(self) -> None:
        pair = self.store.read_now(partial(answers.appearances_of, token_hash=self.token))[0]
        new = recording.NewAnswer(pair.key, secrets.token_hex(8), Answer.SAME, "", None, 1.0, self.now)
        self.write(partial(recording.record, token_hash=self.token, new=new))
        end = partial(participants.finish, rules="", expressible="", comments="", at=self.now)
        for _ in range(2):  # sent again it changes nothing
            self.write(partial(end, token_hash=self.token, arms=TURNS if self.late else None))

    def withdraw(self) -> None:
        self.write(partial(participants.withdraw, token_hash=self.token, at=self.now))


def _one_pair(number: int, _slot: int) -> list[ShownPair]:
    return [ShownPair(f"{number}-a", f"{number}-b", "uniform", None)]


@pytest.fixture
def store(new_database: Callable[[], str | Path]) -> Iterator[Store]:
    opened = Store.open(new_database(), "study")
    yield opened
    opened.close()


@contextmanager
def processes(address: str | Path) -> Iterator[list[Store]]:
    """On PostgreSQL as if two servers were running."""
    with ExitStack() as opened:
        stores = [Store.open(address, "study") for _ in range(2 if isinstance(address, str) else 1)]
        for store in stores:
            opened.callback(store.close)
        yield stores


def sizes(store: Store) -> Counter[str | None]:
    """Of the arms among those who finished."""
    return Counter(who.arm for who in store.read_now(progress) if who.stage == Stage.FINISHED)


def test_300_at_once_of_whom_a_fifth_leaves_are_even_if_assigned_at_the_end(
    new_database: Callable[[], str | Path],
) -> None:
    """Nobody follows those who leave."""
    with processes(new_database()) as stores, ThreadPoolExecutor(30) as threads:
        everyone = list(threads.map(lambda k: Visitor(stores[k % len(stores)], late=True), range(PEOPLE)))
        assert sizes(stores[0]) == {}
        stays = np.random.default_rng(5).random(PEOPLE) >= LEAVING
        stayed = [person for person, stay in zip(everyone, stays, strict=True) if stay]
        assert 220 < len(stayed) < 260
        list(threads.map(Visitor.finish, stayed))
        found = sizes(stores[0])
        assert found.total() == len(stayed)
        assert abs(found["a"] - found["b"]) <= 2
        assert {person.arm for person in everyone if person not in stayed} == {None}
        taken = sa.select(table.c.arm_turn).where(table.c.arm_turn.is_not(None)).order_by(table.c.arm_turn)
        turns = stores[0].read_now(lambda connection: list(connection.execute(taken).scalars()))
        assert turns == list(range(len(stayed)))  # nobody's turn was given twice


def test_300_at_once_of_whom_a_fifth_leaves_are_even_once_others_took_their_places(
    new_database: Callable[[], str | Path],
) -> None:
    chance = np.random.default_rng(6)
    with processes(new_database()) as stores, ThreadPoolExecutor(30) as threads:
        missing, day, drop_outs = PEOPLE, 0, 0
        while missing:
            begin = partial(lambda k, day: Visitor(stores[k % len(stores)], day), day=day)
            came = list(threads.map(begin, range(missing)))
            assert {person.arm for person in came} <= {"a", "b"}  # at once, before anything is shown
            stays = chance.random(missing) >= LEAVING
            list(threads.map(Visitor.finish, [one for one, stay in zip(came, stays, strict=True) if stay]))
            missing, day = missing - int(stays.sum()), day + 2
            drop_outs += missing
        assert drop_outs > 40
        found = sizes(stores[0])
        assert found.total() == PEOPLE
        assert abs(found["a"] - found["b"]) <= 2


def test_whoever_takes_a_place_takes_its_arm(store: Store) -> None:
    everyone = [Visitor(store) for _ in range(6)]
    assert [one.arm for one in everyone] == [TURNS[turn] for turn in range(6)]
    assert [one.begun.arm for one in everyone] == [one.arm for one in everyone]
    everyone[4].withdraw()
    everyone[1].withdraw()
    assert [Visitor(store).arm for _ in range(3)] == [TURNS[turn] for turn in (1, 4, 6)]


def test_a_turn_is_free_again_when_someone_withdraws_who_had_finished(store: Store) -> None:
    everyone = [Visitor(store, late=True) for _ in range(6)]
    for one in everyone[:5]:
        one.finish()
    gone = everyone[2]
    gone.withdraw()
    everyone[5].finish()
    assert everyone[5].arm == TURNS[2]
    assert [one.arm for one in everyone[:2]] == [TURNS[0], TURNS[1]]


def test_arms_are_exported_and_known_to_operators(store: Store) -> None:
    everyone = [Visitor(store) for _ in range(4)]
    for one in everyone[:3]:
        one.finish()
    judges = store.read_now(export.judges)
    assert list(judges["arm"]) == [TURNS[turn] for turn in range(3)]
    assert [who.arm for who in store.read_now(progress)] == [TURNS[turn] for turn in range(4)]
    assert [who.arm for who in store.read_now(roster)] == [TURNS[turn] for turn in range(4)]


def test_a_study_without_arms_has_no_such_column(store: Store) -> None:
    Visitor(store, late=True)
    someone = Visitor(store, late=True)
    someone.late = False
    someone.finish()
    assert someone.arm is None
    assert "arm" not in store.read_now(export.judges)
