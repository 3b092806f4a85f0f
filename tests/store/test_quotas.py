"""Slots: everyone who starts gets one of their own, and anchors stay balanced over those who finish."""

from __future__ import annotations

import secrets
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.someone import shown_pair

from fairwise.judgments import Answer
from fairwise.store import answers, export, participants, recording
from fairwise.store.quotas import anchor_coverage
from fairwise.store.store import Store
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.study.folder import StudyFolder
    from fairwise.study.schedules import ShownPair

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LEASE = timedelta(hours=24)


def hours(number: float) -> datetime:
    return NOON + timedelta(hours=number)


class Visitor:
    """Someone who takes part at given hours."""

    def __init__(self, store: Store, schedule: Callable[[int, int], Any], hour: float = 0) -> None:
        self.store, self.token = store, secrets.token_bytes(32)
        consent = participants.Consent(self.token, "v1", hours(hour), Stage.PAIRS, LEASE)
        start = partial(participants.start, consent=consent, schedule=schedule, new_key=lambda: secrets.token_hex(9))
        self.slot = self.write(start).slot

    def write(self, change: Callable[..., Any]) -> Any:
        return self.store._writer.submit(change).result(timeout=60)

    def answer(self, position: int, hour: float = 0, answer: Answer = Answer.SAME) -> None:
        shown = self.store.read_now(partial(shown_pair, token_hash=self.token, position=position))
        new = recording.NewAnswer(shown.key, secrets.token_hex(8), answer, "", None, 1.0, hours(hour))
        self.write(partial(recording.record, token_hash=self.token, new=new))

    def finish(self, hour: float = 0) -> None:
        for pair in self.store.read_now(partial(answers.appearances_of, token_hash=self.token)):
            if pair.answer is None:
                self.answer(pair.position, hour)
        finish = partial(participants.finish, rules="", expressible="", comments="", at=hours(hour))
        self.write(partial(finish, token_hash=self.token))

    def withdraw(self) -> None:
        self.write(partial(participants.withdraw, token_hash=self.token, at=NOON))


@pytest.fixture
def store(new_database: Callable[[], str | Path]) -> Any:
    opened = Store.open(new_database(), "study")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def study(make_study: Callable[..., StudyFolder]) -> StudyFolder:
    return make_study(pairs=5, design={"anchors": 2, "anchor_pool": 7, "repeats": 1})


def anchors_of(store: Store) -> Counter[frozenset[str]]:
    with store._reading.connect() as connection:
        rows = connection.execute(sa.text("SELECT a, b FROM appearances WHERE design = 'anchor'"))
        return Counter(frozenset((row.a, row.b)) for row in rows)


def test_300_at_once_get_300_slots(new_database: Callable[[], str | Path], study: StudyFolder) -> None:
    address = new_database()
    with ExitStack() as opened, ThreadPoolExecutor(30) as threads:
        processes = 2 if isinstance(address, str) else 1
        stores = [Store.open(address, "study") for _ in range(processes)]
        for store in stores:
            opened.callback(store.close)
        everyone = list(threads.map(lambda k: Visitor(stores[k % processes], study.schedule), range(300)))
        assert sorted(person.slot for person in everyone) == list(range(300))
        used = anchors_of(stores[0])
        assert len(used) == 7
        assert max(used.values()) - min(used.values()) <= 1


def test_what_is_withdrawn_is_given_again_lowest_first(store: Store, study: StudyFolder) -> None:
    everyone = [Visitor(store, study.schedule) for _ in range(5)]
    for gone in (3, 1):
        everyone[gone].withdraw()
    assert [Visitor(store, study.schedule).slot for _ in range(3)] == [1, 3, 5]
    everyone[0].withdraw()
    assert Visitor(store, study.schedule).slot == 0


def test_who_finished_keeps_the_slot_for_ever(store: Store, study: StudyFolder) -> None:
    Visitor(store, study.schedule).finish()
    assert Visitor(store, study.schedule, hour=9999).slot == 1


def test_leases(store: Store, study: StudyFolder) -> None:
    silent = Visitor(store, study.schedule)
    slow = Visitor(store, study.schedule)
    slow.answer(1, hour=20)
    assert Visitor(store, study.schedule, hour=23.9).slot == 2
    assert Visitor(store, study.schedule, hour=24.1).slot == 0  # the silent one's
    assert Visitor(store, study.schedule, hour=43.9).slot == 3
    slow.answer(2, hour=43.95)
    assert Visitor(store, study.schedule, hour=44.1).slot == 4
    silent.finish(hour=45)  # late, with the pairs of their own
    assert silent.slot == 0


def test_the_pairs_are_those_of_number_and_slot(store: Store, study: StudyFolder) -> None:
    for _ in range(3):
        Visitor(store, study.schedule).withdraw()
    Visitor(store, study.schedule)
    asked: list[tuple[int, int]] = []

    def schedule(number: int, slot: int) -> tuple[ShownPair, ...]:
        asked.append((number, slot))
        return study.schedule(number, slot)

    someone = Visitor(store, schedule)
    assert asked == [(5, 1)]
    shown = [store.read_now(partial(shown_pair, token_hash=someone.token, position=k)) for k in range(1, 6)]
    assert [(pair.a, pair.b) for pair in shown] == [(pair.a, pair.b) for pair in study.schedule(5, 1)]


def test_balance_is_counted_on_those_who_finish(store: Store, study: StudyFolder) -> None:
    """Every third leaves; two days later others take their places."""
    for day in range(4):
        for number in range(12):
            someone = Visitor(store, study.schedule, hour=48 * day)
            if number % 3:
                someone.finish(hour=48 * day)
    with store._reading.connect() as connection:
        soon = anchor_coverage(connection, study.schedules.anchor_pool, since=hours(48 * 3 - 24))
        later = anchor_coverage(connection, study.schedules.anchor_pool, since=hours(48 * 4))
    assert [(pair.a, pair.b) for pair in soon] == list(study.schedules.anchor_pool)
    assert sum(pair.finished for pair in soon) == 32 * 2
    assert sum(pair.active for pair in soon) == 4 * 2
    assert [pair.active for pair in later] == [0] * 7
    together = [pair.finished + pair.active for pair in soon]
    assert max(together) - min(together) <= 1


def test_repeats_are_exported_and_only_measure(store: Store, study: StudyFolder) -> None:
    for _ in range(3):
        Visitor(store, study.schedule).finish()
    with store._reading.connect() as connection:
        judgments = export.judgments(connection)
    assert Counter(judgments.frame["design"]) == {"uniform": 6, "anchor": 6, "repeat": 3}
    repeats = judgments.frame["design"] == "repeat"
    assert judgments.frame.loc[repeats, "selection_probability"].isna().all()
    assert judgments.frame.loc[~repeats, "selection_probability"].between(0, 1).all()
    assert len(judgments.counted()) == 12
