"""What is kept: any order of answering, sending again and withdrawing leaves one current answer per pair."""

from __future__ import annotations

import asyncio
import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from fairwise.elicitation import export
from fairwise.elicitation.designs import ShownPair
from fairwise.elicitation.store import pairs, participants
from fairwise.elicitation.store.engine import database_url, writing_engine
from fairwise.elicitation.store.migrate import migrate
from fairwise.elicitation.store.problems import AlreadyFinished, NotYet, Unknown
from fairwise.elicitation.store.store import Store
from fairwise.elicitation.store.tables import answers, appearances, closings, metadata, withdrawals
from fairwise.elicitation.store.tables import participants as participants_table
from fairwise.errors import InputError
from fairwise.judgments import Answer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TOTAL = 3
LEASE = timedelta(hours=24)


def schedule(number: int, _slot: int) -> list[ShownPair]:
    return [ShownPair(f"{number}-{k}a", f"{number}-{k}b", "uniform", None) for k in range(TOTAL)]


class Someone:
    """A participant as the web app handles one."""

    def __init__(self, store: Store, token: bytes | None = None, stage: str = "pairs") -> None:
        self.store, self.token = store, token or secrets.token_bytes(32)
        self.start(stage)

    def start(self, stage: str = "pairs") -> participants.Participant:
        consent = participants.Consent(self.token, "v1", NOW, stage, LEASE)
        started: participants.Participant = self.write(
            lambda c: participants.start(c, consent, schedule, lambda: secrets.token_urlsafe(18))
        )
        return started

    def write(self, change: Callable[..., Any]) -> Any:
        return self.store._writer.submit(change).result(timeout=30)

    def read(self, question: Callable[..., Any], **more: Any) -> Any:
        return self.store.read_now(partial(question, token_hash=self.token, **more))

    def answer(self, position: int, answer: Answer, nonce: str, key: str | None = None, why: str = "") -> int:
        key = key or self.read(pairs.shown, position=position).key
        new = pairs.NewAnswer(key, nonce, answer, why, None, 1.0, NOW)
        return int(self.write(partial(pairs.record, token_hash=self.token, new=new)))

    def finish(self) -> None:
        self.write(partial(participants.finish, token_hash=self.token, rules="", expressible="", comments="", at=NOW))

    def withdraw(self) -> None:
        self.write(partial(participants.withdraw, token_hash=self.token, at=NOW))


@pytest.fixture
def store(new_database: Callable[[], str | Path]) -> Any:
    opened = Store.open(new_database(), "study")
    yield opened
    opened.close()


class Study(RuleBasedStateMachine):
    """Compares the store with what a participant would expect of it."""

    people = Bundle("people")
    database: Any

    @initialize()
    def open(self) -> None:
        self.store = Store.open(self.database(), "study")
        self.expected: dict[int, dict[int, list[Answer]]] = {}
        self.finished: set[int] = set()
        self.withdrawn = 0

    @rule(target=people)
    def arrive(self) -> tuple[int, Someone]:
        someone = Someone(self.store)
        number = someone.start().number  # agreeing twice is agreeing once
        assert number not in self.expected
        self.expected[number] = {position: [] for position in range(1, TOTAL + 1)}
        return number, someone

    @rule(
        who=people,
        position=st.integers(1, TOTAL),
        answer=st.sampled_from(Answer),
        sent=st.integers(1, 3),
        alike=st.booleans(),
    )
    def answer(self, who: tuple[int, Someone], position: int, answer: Answer, sent: int, alike: bool) -> None:
        number, someone = who
        nonce = secrets.token_hex(8)
        for _ in range(sent):  # double clicks and replays
            if number in self.finished:
                with pytest.raises(AlreadyFinished):
                    someone.answer(position, answer, nonce, key=someone.read(pairs.shown, position=position).key)
                return
            assert someone.answer(position, answer, nonce) == position
        versions = self.expected[number][position]
        if not versions or versions[-1] != answer:
            versions.append(answer)
        if alike:  # the same said in another tab
            someone.answer(position, answer, secrets.token_hex(8))

    @rule(who=people, position=st.integers(1, TOTAL))
    def replay_an_old_form(self, who: tuple[int, Someone], position: int) -> None:
        number, someone = who
        if number in self.finished or not self.expected[number][position]:
            return
        key = someone.read(pairs.shown, position=position).key
        with self.store._reading.connect() as connection:
            nonce, said = connection.execute(
                sa.select(answers.c.nonce, answers.c.answer)
                .join(appearances)
                .where(appearances.c.key == key)
                .order_by(answers.c.version)
                .limit(1)
            ).one()
        someone.answer(position, Answer(said), nonce, key=key)

    @rule(who=people)
    def finish(self, who: tuple[int, Someone]) -> None:
        number, someone = who
        if number not in self.finished and not all(self.expected[number].values()):
            with pytest.raises(NotYet):
                someone.finish()
            return
        someone.finish()
        someone.finish()
        self.finished.add(number)

    @rule(who=consumes(people))
    def withdraw(self, who: tuple[int, Someone]) -> None:
        number, someone = who
        someone.withdraw()
        del self.expected[number]
        self.finished.discard(number)
        self.withdrawn += 1
        with pytest.raises(Unknown):
            someone.withdraw()
        with pytest.raises(Unknown):
            someone.read(participants.find)

    @invariant()
    def one_current_answer_per_pair(self) -> None:
        if not hasattr(self, "store"):
            return
        with self.store._reading.connect() as connection:
            kept: dict[tuple[int, int], list[str]] = {}
            rows = connection.execute(
                sa.select(participants_table.c.number, appearances.c.position, answers.c.answer)
                .join(appearances, appearances.c.participant_id == participants_table.c.id)
                .join(answers, answers.c.appearance_id == appearances.c.id)
                .order_by(answers.c.version)
            )
            for number, position, answer in rows:
                kept.setdefault((number, position), []).append(answer)
            assert kept == {
                (number, position): [str(answer) for answer in versions]
                for number, positions in self.expected.items()
                for position, versions in positions.items()
                if versions
            }
            exported = export.judgments(connection).frame
            assert len(exported) == len(kept)
            assert not exported.duplicated(["judge", "a", "b"]).any()
            assert connection.execute(sa.select(sa.func.count()).select_from(withdrawals)).scalar() == self.withdrawn
            for table in (appearances, closings):
                owners = set(connection.execute(sa.select(table.c.participant_id)).scalars())
                assert owners <= set(connection.execute(sa.select(participants_table.c.id)).scalars())

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()


@pytest.mark.slow
def test_any_order_of_events(new_database: Callable[[], str | Path]) -> None:
    machine = type("OnThisDatabase", (Study,), {"database": staticmethod(new_database)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_a_pair_belongs_to_one_participant(store: Store) -> None:
    ann, bob = Someone(store), Someone(store)
    with pytest.raises(Unknown):
        bob.answer(1, Answer.SAME, "n", key=ann.read(pairs.shown, position=1).key)
    with pytest.raises(Unknown):
        ann.read(pairs.shown, position=TOTAL + 1)
    assert ann.read(pairs.listed) == [(1, None), (2, None), (3, None)]


def test_nothing_is_answered_before_its_stage(store: Store) -> None:
    someone = Someone(store, stage="task")
    with pytest.raises(NotYet):
        someone.answer(1, Answer.SAME, "n")
    someone.write(partial(participants.move_on, token_hash=someone.token, leaving="practice", to="pairs"))
    assert someone.read(participants.find).stage == "task"  # not from a page they are not on
    someone.write(partial(participants.move_on, token_hash=someone.token, leaving="task", to="pairs"))
    assert someone.answer(1, Answer.SAME, "n") == 1


def test_numbers_are_never_used_again(store: Store) -> None:
    first = Someone(store)
    number = first.start().number
    first.withdraw()
    assert Someone(store).start().number == number + 1


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
        someone = [participants.Consent(secrets.token_bytes(32), "v1", NOW, "pairs", LEASE) for _ in range(10)]
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


def test_migrations_make_the_tables_the_code_expects(new_database: Callable[[], str | Path]) -> None:
    engine = writing_engine(database_url(new_database()))
    migrate(engine)
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_a_newer_database_is_refused(new_database: Callable[[], str | Path]) -> None:
    address = new_database()
    engine = writing_engine(database_url(address))
    migrate(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(InputError, match="newer Fairwise"):
        migrate(engine)
    engine.dispose()


def test_another_studys_answers_are_not_mixed_in(new_database: Callable[[], str | Path]) -> None:
    address = new_database()
    Store.open(address, "one").close()
    second = Store.open(address, "another")  # nobody has answered yet
    Someone(second)
    second.close()
    with pytest.raises(InputError, match="another study"):
        Store.open(address, "a third")
    Store.open(address, "another").close()


@pytest.mark.parametrize("address", ["mysql://localhost/x", "what is this", "postgresql+asyncpg://x/y"])
def test_other_databases_are_refused(address: str) -> None:
    with pytest.raises(InputError, match="allowed: postgresql"):
        database_url(address)


def test_an_address_is_never_shown_with_its_password() -> None:
    with pytest.raises(InputError) as refused:
        database_url("post gres://me:hunter2@host/x")
    assert "hunter2" not in str(refused.value)


def test_commits_wait_for_the_disk(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "study.sqlite", "study")
    with store._writing.connect() as connection:
        asked = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        }
    assert asked == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}
    store.close()


def test_what_was_withdrawn_is_gone_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    store = Store.open(path, "study")
    someone = Someone(store)
    secret = "a reason that nobody else would give"
    someone.answer(1, Answer.SAME, "n", why=secret)
    someone.withdraw()
    store.close()
    remains = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert secret.encode() not in remains


def test_two_answers_from_one_form_are_two_versions(store: Store) -> None:
    someone = Someone(store)
    for answer in (Answer.SAME, Answer.NO_CONSTRAINT, Answer.SAME, Answer.NO_CONSTRAINT):
        someone.answer(1, answer, "one form")
    assert someone.read(pairs.shown, position=1).answer == Answer.NO_CONSTRAINT  # what was pressed last is kept
    with store._reading.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar() == 2


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
