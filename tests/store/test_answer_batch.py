"""Answers and questions that come at the same time: together they say what they would say one after the other."""

from __future__ import annotations

import asyncio
import random
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.someone import NOW, TOTAL, Someone, shown_pair

from fairwise.judgments import Answer
from fairwise.store import answers
from fairwise.store.errors import Full, NotYet, Unknown
from fairwise.store.recording import FIRST_ANSWERS, NewAnswer, RoundPolicy, SentAnswer, record, record_all
from fairwise.store.schema import answers as answers_table
from fairwise.store.schema import repeats
from fairwise.store.store import Batchable, BatchedReads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fairwise.store.store import Store

_SAID = (Answer.SAME, Answer.NO_CONSTRAINT)


def sent(who: Someone, position: int, answer: Answer, nonce: str, policy: RoundPolicy = FIRST_ANSWERS) -> SentAnswer:
    key = who.read(shown_pair, position=position).key
    return SentAnswer(who.token, NewAnswer(key, nonce, answer, "", None, 1.0, NOW), policy)


def kept(store: Store) -> list[Any]:
    """All that was written about answers, whatever the rows are numbered."""
    columns = [column for column in answers_table.c if column.name != "id"]
    both = [sa.select(*columns), sa.select(repeats)]
    return [sorted(map(tuple, store.read_now(lambda c, query=query: c.execute(query).all()))) for query in both]  # type: ignore[misc]


@contextmanager
def statements(connection: sa.Connection) -> Iterator[list[str]]:
    """What is sent to the database."""
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    sa.event.listen(connection, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        sa.event.remove(connection, "before_cursor_execute", note)


@pytest.mark.parametrize("seed", range(5))
def test_together_as_one_after_the_other(store: Store, seed: int) -> None:
    """Several forms of one person, double clicks, changed minds, other buttons of one form, and plain first answers."""
    chance, everyone = random.Random(seed), [Someone(store) for _ in range(6)]

    def some() -> list[SentAnswer]:
        return [
            sent(chance.choice(everyone), chance.randint(1, TOTAL), chance.choice(_SAID), f"form{chance.randint(0, 3)}")
            for _ in range(chance.randint(2, 12))
        ]

    class Undone(Exception):  # noqa: N818 - nothing is wrong
        pass

    for batch in (some() for _ in range(8)):
        expected: list[Any] = []

        def in_turn(connection: sa.Connection, batch: Sequence[SentAnswer] = batch, to: list[Any] = expected) -> None:
            positions = [record(connection, one.token_hash, one.new) for one in batch]
            columns = [column for column in answers_table.c if column.name != "id"]
            to += [positions]
            to += [sorted(map(tuple, connection.execute(q).all())) for q in (sa.select(*columns), sa.select(repeats))]
            raise Undone

        with pytest.raises(Undone):
            store.change_now(in_turn)
        assert [store.change_now(lambda c, batch=batch: record_all(c, batch)), *kept(store)] == expected  # type: ignore[misc]


def test_many_answers_take_as_many_questions_as_one(store: Store) -> None:
    """Also beside many of which nobody has the pair, from one sender or several."""
    everyone = [Someone(store) for _ in range(20)]

    def asked(batch: list[SentAnswer]) -> int:
        def change(connection: sa.Connection) -> int:
            with statements(connection) as found:
                outcomes = record_all(connection, batch)
            assert [one for one in outcomes if not isinstance(one, Unknown)] == [1] * len(
                {one.new.key for one in batch} & keys
            )
            return len(found)

        return store.change_now(change)

    first = [sent(who, 1, Answer.SAME, "n") for who in everyone]
    keys = {one.new.key for one in first}
    unknown = [one._replace(new=replace(one.new, key=f"none {k}")) for k, one in enumerate([*first[9:], *first[15:]])]
    alone = asked(first[:1])
    assert asked(first[1:9]) == alone
    assert asked([one for two in zip(first[9:], unknown, strict=False) for one in two]) == alone


def test_before_somebodys_first_answer_those_before_it_are_counted(store: Store) -> None:
    """Who is one too many is refused, also if all come at once."""
    everyone, most = [Someone(store) for _ in range(4)], 2

    def take(connection: sa.Connection, _token_hash: bytes) -> None:
        if connection.execute(sa.select(sa.func.count()).select_from(answers_table)).scalar_one() >= most:
            raise Full

    async def all_at_once() -> list[Any]:
        jobs = [
            Batchable(record_all, sent(who, 1, Answer.SAME, "n", RoundPolicy(before_first=take))) for who in everyone
        ]
        return await asyncio.gather(*map(store.write, jobs), return_exceptions=True)

    found = asyncio.run(all_at_once())
    assert sorted(str(type(one).__name__) for one in found) == ["Full", "Full", "int", "int"]
    assert len(kept(store)[0]) == most


def test_nobody_answers_for_somebody_else_among_others(store: Store) -> None:
    one, other, third = Someone(store), Someone(store), Someone(store)
    stolen = sent(other, 1, Answer.SAME, "n")._replace(token_hash=one.token)

    async def all_at_once() -> list[Any]:
        batch = [sent(third, 1, Answer.SAME, "n"), stolen, sent(third, 2, Answer.SAME, "m")]
        return await asyncio.gather(*(store.write(Batchable(record_all, s)) for s in batch), return_exceptions=True)

    first, refused, second = asyncio.run(all_at_once())
    assert (first, second) == (1, 2)
    assert isinstance(refused, Unknown)
    assert len(kept(store)[0]) == 2


@pytest.mark.parametrize("seed", range(10))
def test_refused_changes_leave_the_others_in_one_commit(store: Store, seed: int) -> None:
    """Answers and other changes, some refused before or after they wrote something; ten waiting batches each."""
    chance, everyone = random.Random(seed), [Someone(store) for _ in range(5)]
    counter, commits = sa.text("UPDATE counters SET value = value + 1"), list[int]()
    sa.event.listen(store._writing, "commit", lambda _: commits.append(1))

    def count(connection: sa.Connection) -> str:
        connection.execute(counter)
        return "counted"

    def refuse_late(connection: sa.Connection) -> None:
        count(connection)
        raise NotYet

    def fail(connection: sa.Connection) -> None:
        count(connection)
        raise ZeroDivisionError

    def total(connection: sa.Connection) -> int:
        return int(connection.execute(sa.text("SELECT SUM(value) FROM counters")).scalar_one())

    for number in range(10):
        before, answered = store.read_now(total), len(kept(store)[0])
        changes: list[Any] = [chance.choice([count, refuse_late, fail]) for _ in range(chance.randint(0, 4))]
        for who in chance.sample(everyone, 3):
            one = sent(who, chance.randint(1, TOTAL), chance.choice(_SAID), f"form{number}")
            changes.append(Batchable(record_all, one))
        unknown = sent(everyone[0], 1, Answer.SAME, "n")
        changes += [Batchable(record_all, unknown._replace(token_hash=b"?" * 32))] * chance.randint(1, 3)
        chance.shuffle(changes)
        opened, go = Event(), Event()
        first = store._writer.submit(lambda _, opened=opened, go=go: (opened.set(), go.wait(60)))  # type: ignore[misc]
        assert opened.wait(60)
        futures = [store._writer.submit(change) for change in changes]
        commits.clear()
        go.set()
        first.result(60)
        outcomes = [future.exception(60) or future.result() for future in futures]
        assert len(commits) == 2, "the one before, and all that waited for it"
        alone = {count: str, refuse_late: NotYet, fail: ZeroDivisionError}
        for change, outcome in zip(changes, outcomes, strict=True):
            stranger = isinstance(change, Batchable) and change.item.token_hash == b"?" * 32
            assert type(outcome) is alone.get(change, Unknown if stranger else int)
        assert store.read_now(total) - before == outcomes.count("counted")
        assert len(kept(store)[0]) >= answered


def test_pairs_that_are_looked_at_together(store: Store) -> None:
    everyone = [Someone(store) for _ in range(5)]
    for number, who in enumerate(everyone):
        for position in range(1, 1 + number % (TOTAL + 1)):
            who.answer(position, Answer.SAME, "n")
    wanted = [(who.token, position) for who in everyone for position in range(TOTAL + 2)]
    wanted.append((b"nobody" * 5 + b"..", 1))

    def alone(who: bytes, position: int) -> Any:
        try:
            return store.read_now(lambda c: answers.appearance_at(c, who, position))
        except Unknown:
            return None

    async def together() -> list[Any]:
        return await asyncio.gather(*(store.read(Batchable(answers.appearances_at, one)) for one in wanted))

    found = asyncio.run(together())
    assert found == [alone(*one) for one in wanted]
    assert found == store.read_now(lambda c: answers.appearances_at(c, wanted))
    assert sum(one is None for one in found) == 2 * len(everyone) + 1
    assert [one[1] for one in found if one is not None][::TOTAL] == [0, 1, 2, 3, 0]


# Questions of one kind, on no database at all


class Asking:
    """What was asked at once."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.go_on = asyncio.Event()
        self.questions = BatchedReads(self._read)

    async def _read(self, question: Callable[[Any], Any]) -> Any:
        await self.go_on.wait()
        return question(None)

    def double(self, _connection: Any, items: Sequence[int]) -> list[int]:
        self.asked.append(list(items))
        if 0 in items:
            raise ZeroDivisionError
        return [2 * item for item in items]

    def ask(self, item: int) -> asyncio.Future[int]:
        return self.questions.ask(Batchable(self.double, item))


def test_those_who_come_meanwhile_are_asked_together() -> None:
    async def ask() -> tuple[list[int], list[list[int]]]:
        asking = Asking()
        first = asking.ask(1)
        await asyncio.sleep(0)
        others = [asking.ask(item) for item in (2, 3, 4)]
        others[1].cancel()
        asking.go_on.set()
        found = await asyncio.gather(first, others[0], others[2])
        return [*found, await asking.ask(5)], asking.asked

    assert asyncio.run(ask()) == ([2, 4, 8, 10], [[1], [2, 4], [5]])


def test_a_question_that_fails_fails_for_those_who_asked_it_and_no_others() -> None:
    async def ask() -> list[Any]:
        asking = Asking()
        first = asking.ask(0)
        await asyncio.sleep(0)
        others = [asking.ask(item) for item in (2, 3)]
        asking.go_on.set()
        return await asyncio.gather(first, *others, return_exceptions=True)

    failed, *others = asyncio.run(ask())
    assert isinstance(failed, ZeroDivisionError)
    assert others == [4, 6]
