"""What is kept: any order of answering, sending again and withdrawing leaves one current answer per pair."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
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
from tests.support.someone import TOTAL, Someone, shown_pair

from fairwise.judgments import Answer
from fairwise.store import answers, export, participants
from fairwise.store.errors import AlreadyFinished, NotYet, Unknown
from fairwise.store.schema import answers as answers_table
from fairwise.store.schema import appearances, closings, withdrawals
from fairwise.store.schema import participants as participants_table
from fairwise.store.store import Store
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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
                    someone.answer(position, answer, nonce, key=someone.read(shown_pair, position=position).key)
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
        key = someone.read(shown_pair, position=position).key
        with self.store._reading.connect() as connection:
            nonce, said = connection.execute(
                sa.select(answers_table.c.nonce, answers_table.c.answer)
                .join(appearances)
                .where(appearances.c.key == key)
                .order_by(answers_table.c.version)
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
                sa.select(participants_table.c.number, appearances.c.position, answers_table.c.answer)
                .join(appearances, appearances.c.participant_id == participants_table.c.id)
                .join(answers_table, answers_table.c.appearance_id == appearances.c.id)
                .order_by(answers_table.c.version)
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
        bob.answer(1, Answer.SAME, "n", key=ann.read(shown_pair, position=1).key)
    with pytest.raises(Unknown):
        ann.read(shown_pair, position=TOTAL + 1)
    assert [(pair.position, pair.answer) for pair in ann.read(answers.appearances_of)] == [
        (1, None),
        (2, None),
        (3, None),
    ]


def test_nothing_is_answered_before_its_stage(store: Store) -> None:
    someone = Someone(store, stage=Stage.TASK)
    with pytest.raises(NotYet):
        someone.answer(1, Answer.SAME, "n")
    someone.write(partial(participants.move_on, token_hash=someone.token, leaving=Stage.PRACTICE, to=Stage.PAIRS))
    assert someone.read(participants.find).stage == "task"  # not from a page they are not on
    someone.write(partial(participants.move_on, token_hash=someone.token, leaving=Stage.TASK, to=Stage.PAIRS))
    assert someone.answer(1, Answer.SAME, "n") == 1


def test_numbers_are_never_used_again(store: Store) -> None:
    first = Someone(store)
    number = first.start().number
    first.withdraw()
    assert Someone(store).start().number == number + 1


def test_two_answers_from_one_form_are_two_versions(store: Store) -> None:
    someone = Someone(store)
    for answer in (Answer.SAME, Answer.NO_CONSTRAINT, Answer.SAME, Answer.NO_CONSTRAINT):
        someone.answer(1, answer, "one form")
    assert someone.read(shown_pair, position=1).answer.answer == Answer.NO_CONSTRAINT  # what was pressed last is kept
    with store._reading.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(answers_table)).scalar() == 2
