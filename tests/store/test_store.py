"""Many who write at once, from several threads and processes, lose and double nothing."""

from __future__ import annotations

import asyncio
import secrets
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from tests.support.someone import LEASE, NOW, TOTAL, Someone, schedule

from fairwise.judgments import Answer
from fairwise.store import participants
from fairwise.store.schema import answers
from fairwise.store.store import Store
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_many_at_once_lose_and_double_nothing(store: Store) -> None:
    everyone = [Someone(store) for _ in range(20)]

    def all_answers(someone: Someone) -> None:
        for position in range(1, TOTAL + 1):
            for _ in range(2):
                someone.answer(position, Answer.SAME, f"nonce{position}")

    with ThreadPoolExecutor(20) as threads:
        list(threads.map(all_answers, everyone))
    with store._reading.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar() == 20 * TOTAL


def test_two_processes_on_one_database(new_database: Callable[[], str | Path]) -> None:
    address = new_database()
    one, other = Store.open(address, "study"), Store.open(address, "study")
    try:
        token = secrets.token_bytes(32)
        first, second = Someone(one, token), Someone(other, token)
        assert first.start() == second.start()

        def in_turn(number: int) -> None:
            (first if number % 2 else second).answer(1 + number % TOTAL, list(Answer)[number % 4], f"n{number}")

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(in_turn, range(60)))
        with one._reading.connect() as connection:
            versions = connection.execute(
                sa.select(answers.c.appearance_id, sa.func.count(), sa.func.max(answers.c.version)).group_by(
                    answers.c.appearance_id
                )
            ).all()
        assert len(versions) == TOTAL
        assert all(count == last for _, count, last in versions)
    finally:
        one.close()
        other.close()


def test_one_failure_does_not_take_others_with_it(store: Store) -> None:
    def fail(_connection: Any) -> None:
        raise ZeroDivisionError

    async def together() -> list[Any]:
        someone = [participants.Consent(secrets.token_bytes(32), "v1", NOW, Stage.PAIRS, LEASE) for _ in range(10)]
        changes: list[Any] = [
            partial(participants.start, consent=c, schedule=schedule, new_key=lambda: secrets.token_urlsafe(18))
            for c in someone
        ]
        changes.insert(5, fail)
        return await asyncio.gather(*(store.write(change) for change in changes), return_exceptions=True)

    results = asyncio.run(together())
    assert [type(result) for result in results].count(ZeroDivisionError) == 1
    assert sorted(result.number for result in results if isinstance(result, participants.Participant)) == [
        *range(1, 11)
    ]


def test_who_no_longer_waits_stops_nobody_else(new_database: Callable[[], str | Path]) -> None:
    store = Store.open(new_database(), "study")
    busy = Event()

    async def leave() -> str:
        first = asyncio.create_task(store.write(lambda _: busy.wait(10)))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(store.write(lambda _: "nobody hears this"))
        await asyncio.sleep(0.05)
        for task in (first, second):
            task.cancel()
        busy.set()
        return await asyncio.wait_for(store.write(lambda _: "done"), 10)

    assert asyncio.run(leave()) == "done"
    store.close()
