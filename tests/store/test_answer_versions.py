"""A pair can be changed so many times, and an answer costs the same however many came before it."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.someone import NOW, Someone, shown_pair
from tests.support.visits import hidden, visiting

from fairwise.judgments import Answer
from fairwise.store import recording
from fairwise.store.errors import ChangedTooOften
from fairwise.store.schema import answers as answers_table
from fairwise.store.schema import repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.store.store import Store


def rows(store: Store, table: sa.Table) -> int:
    return store.read_now(lambda c: c.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


@contextmanager
def counted(connection: sa.Connection) -> Iterator[list[int]]:
    """How much the database does: on SQLite instructions of its machine, on PostgreSQL rows that it returns."""
    work = [0]

    def more(number: int = 1) -> None:
        work[0] += number

    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(more, 1)
        try:
            yield work
        finally:
            driver.set_progress_handler(None, 1)
        return

    def after(_connection: Any, cursor: Any, *_: Any) -> None:
        more(max(0, cursor.rowcount) + 1)

    sa.event.listen(connection, "after_cursor_execute", after)
    try:
        yield work
    finally:
        sa.event.remove(connection, "after_cursor_execute", after)


def test_an_answer_costs_the_same_however_many_came_before_it(store: Store) -> None:
    someone = Someone(store)
    key = someone.read(shown_pair, position=1).key
    said = cycle((Answer.SAME, Answer.NO_CONSTRAINT))

    def once(connection: sa.Connection) -> int:
        new = recording.NewAnswer(key, secrets.token_hex(8), next(said), "", None, 1.0, NOW)
        with counted(connection) as work:
            recording.record(connection, someone.token, new)
        return work[0]

    def how_many(connection: sa.Connection) -> int:
        number = connection.execute(sa.text("SELECT id FROM participants")).scalar_one()
        with counted(connection) as work:
            recording.count_versions(connection, number)
        return work[0]

    cost = [someone.write(once) for _ in range(3)]
    choosing = someone.write(how_many)
    cost += [someone.write(once) for _ in range(recording.MOST_VERSIONS - 3)]
    assert rows(store, answers_table) == recording.MOST_VERSIONS
    assert max(cost[-10:]) <= 1.2 * cost[2]
    assert someone.write(how_many) <= 1.2 * choosing


def test_a_pair_can_be_changed_so_many_times(store: Store) -> None:
    someone = Someone(store)
    said = [Answer.SAME, Answer.NO_CONSTRAINT] * (recording.MOST_VERSIONS // 2)
    for answer in said:
        someone.answer(1, answer, secrets.token_hex(8))
    with pytest.raises(ChangedTooOften):
        someone.answer(1, Answer.SAME, secrets.token_hex(8))
    someone.answer(1, Answer.NO_CONSTRAINT, secrets.token_hex(8))  # as it is
    assert someone.read(shown_pair, position=1).answer.answer == Answer.NO_CONSTRAINT
    assert rows(store, answers_table) == recording.MOST_VERSIONS
    assert someone.answer(2, Answer.SAME, "n") == 2
    assert someone.write(partial(recording.count_versions, participant_id=1)) == recording.MOST_VERSIONS + 1


def test_neither_one_form_nor_saying_the_same_again_fills_the_database(store: Store) -> None:
    someone = Someone(store)
    for number in range(recording._MOST_OF_ONE_FORM):
        someone.answer(1, Answer.SAME, "one form", why=str(number))
    with pytest.raises(ChangedTooOften):
        someone.answer(1, Answer.SAME, "one form", why="once more")
    assert rows(store, answers_table) == recording._MOST_OF_ONE_FORM
    someone.answer(2, Answer.SAME, "another")
    for _ in range(recording._MOST_REPEATS + 5):
        someone.answer(2, Answer.SAME, secrets.token_hex(8))
    assert rows(store, repeats) == recording._MOST_REPEATS


def test_whoever_changes_an_answer_very_often_is_told_and_goes_on(
    make_study: Any, new_database: Callable[[], str | Path]
) -> None:
    with visiting(make_study(), new_database()) as visit:
        mine = visit.begin()
        form = hidden(visit.get(f"{mine}/pair/1"))
        for number in range(recording.MOST_VERSIONS + 1):
            fields = {**form, "nonce": secrets.token_urlsafe(30)}  # longer than ours
            told = visit.post(f"{mine}/pair/1", **fields, answer="same" if number % 2 else "no_constraint")
            again = visit.post(f"{mine}/pair/1", **{**fields, "nonce": f"{fields['nonce']}+1"}, answer="same")
            assert again.status_code in (200, 409)
        assert told.status_code == 409
        assert "You have changed this answer very often" in told.text
        assert visit.rows(answers_table) == recording.MOST_VERSIONS
        assert visit.get(mine).url.path == f"{mine}/pair/2"
        assert visit.answer(mine, 2).status_code == 200


@pytest.mark.parametrize("nonce", ["a+1", "+", "x" * 200, ""])
def test_a_made_up_name_of_a_form_breaks_nothing(
    make_study: Any, new_database: Callable[[], str | Path], nonce: str
) -> None:
    with visiting(make_study(), new_database()) as visit:
        mine = visit.begin()
        form = {**hidden(visit.get(f"{mine}/pair/1")), "nonce": nonce}
        for answer in ("same", "no_constraint", "same", "no_constraint"):
            assert visit.post(f"{mine}/pair/1", **form, answer=answer).status_code == 200
        assert visit.rows(answers_table) == 2
