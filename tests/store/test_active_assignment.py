"""An answer and the pair it leads to are kept together, once, and only if nothing was said meanwhile."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.someone import shown_pair

from fairwise.judgments import Answer
from fairwise.store import participants, recording
from fairwise.store.errors import AlreadyFinished, NotYet, Unknown
from fairwise.store.schema import answers as answers_table
from fairwise.store.schema import appearances
from fairwise.store.schema import participants as everyone
from fairwise.store.store import Store
from fairwise.study.active import ParticipantAnswer
from fairwise.study.schedules import ShownPair
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PLACES = 4
TOKEN = b"t" * 32


def places(_number: int, _slot: int) -> list[ShownPair | None]:
    """The second and the last are active."""
    return [ShownPair("a", "b", "uniform", 0.5), None, ShownPair("c", "d", "uniform", 0.5), None]


@pytest.fixture
def database(new_database: Callable[[], str | Path]) -> str | Path:
    return new_database()


@pytest.fixture
def store(database: str | Path) -> Iterator[Store]:
    opened = Store.open(database, "study")
    consent = participants.Consent(TOKEN, "v1", NOW, Stage.PAIRS, timedelta(hours=24))
    opened.change_now(lambda c: participants.start(c, consent, places, lambda: secrets.token_urlsafe(18)))
    yield opened
    opened.close()


def new_answer(store: Store, position: int, answer: Answer = Answer.SAME) -> recording.NewAnswer:
    key = store.read_now(partial(shown_pair, token_hash=TOKEN, position=position)).key
    return recording.NewAnswer(key, secrets.token_hex(9), answer, "", None, 1.0, NOW)


def choice(store: Store, new: recording.NewAnswer, a: str = "x", b: str = "y", model: int | None = None) -> Any:
    place = store.read_now(partial(recording.empty_place, token_hash=TOKEN, key=new.key, places=PLACES))
    if place is None:
        return None
    return recording.Choice(place, ShownPair(a, b, "active", 0.25), model, secrets.token_urlsafe(18))


def record(store: Store, new: recording.NewAnswer, chosen: Any) -> int | None:
    return store.change_now(partial(recording.record_with_choice, sent=recording.SentAnswer(TOKEN, new), choice=chosen))


def rows(store: Store, table: sa.Table) -> list[Any]:
    return store.read_now(lambda c: list(c.execute(sa.select(table).order_by(table.c.id)).all()))


def test_only_what_follows_from_the_seed_is_laid_out_at_first(store: Store) -> None:
    assert [row.position for row in rows(store, appearances)] == [1, 3]
    for place, problem in ((2, NotYet), (4, NotYet), (5, Unknown), (0, Unknown)):
        with pytest.raises(problem):
            store.read_now(partial(shown_pair, token_hash=TOKEN, position=place, places=PLACES))
    with pytest.raises(Unknown):  # and nothing is told to strangers
        store.read_now(partial(shown_pair, token_hash=b"s" * 32, position=2, places=PLACES))


def test_answer_and_pair_are_kept_together(store: Store) -> None:
    model = store.change_now(partial(recording.add_model, learned_from=7, parameters="{}", at=NOW))
    new = new_answer(store, 1)
    chosen = choice(store, new, model=model)
    assert (chosen.place.participant_number, chosen.place.after, chosen.place.answers) == (1, 1, 0)
    laid_out = [(pair.position, pair.a, pair.b, pair.answer) for pair in chosen.place.laid_out]
    assert laid_out == [(1, "a", "b", None), (3, "c", "d", None)]
    assert record(store, new, chosen) == 1
    made = rows(store, appearances)[-1]
    assert (made.position, made.a, made.b, made.design, made.selection_probability) == (2, "x", "y", "active", 0.25)
    assert (made.answer_model_id, made.answers_known) == (model, 1)
    assert choice(store, new) is None  # nothing is left to choose behind it
    assert choice(store, new_answer(store, 2)) is None
    later = choice(store, new_answer(store, 3))
    assert [laid.position for laid in later.place.laid_out] == [1, 2, 3]
    assert later.place.answers == 1


def test_the_same_form_sent_twice_lays_out_once(store: Store) -> None:
    new = new_answer(store, 1)
    both = choice(store, new), choice(store, new, "other", "people")
    assert [record(store, new, chosen) for chosen in both] == [1, 1]
    assert [row.a for row in rows(store, appearances) if row.position == 2] == ["x"]
    assert len(rows(store, answers_table)) == 1


def test_another_answer_to_the_same_pair_is_a_version_and_lays_out_nothing(store: Store) -> None:
    one, other = new_answer(store, 1), new_answer(store, 1, Answer.NO_CONSTRAINT)
    both = choice(store, one), choice(store, other, "other", "people")
    assert record(store, one, both[0]) == 1
    assert record(store, other, both[1]) == 1
    assert [row.version for row in rows(store, answers_table)] == [1, 2]
    assert [row.a for row in rows(store, appearances) if row.position == 2] == ["x"]


def test_nothing_is_written_if_something_else_was_said_meanwhile(store: Store) -> None:
    slow, quick = new_answer(store, 1), new_answer(store, 3)
    too_early = choice(store, slow)
    assert record(store, quick, choice(store, quick, "p", "q")) == 3
    assert record(store, slow, too_early) is None
    assert [row.position for row in rows(store, appearances)] == [1, 3, 4]
    assert len(rows(store, answers_table)) == 1
    assert record(store, slow, choice(store, slow)) == 1
    made = rows(store, appearances)[-1]
    assert (made.position, made.answers_known) == (2, 2)


def test_an_answer_that_is_refused_lays_out_nothing(store: Store) -> None:
    new = new_answer(store, 1)
    chosen = choice(store, new)
    for stage, problem in (("finished", AlreadyFinished), ("task", NotYet)):
        moved = sa.update(everyone).values(stage=stage)
        store.change_now(lambda c, moved=moved: c.execute(moved))  # type: ignore[misc]
        with pytest.raises(problem):
            record(store, new, chosen)
    assert len(rows(store, appearances)) == 2


def test_several_processes_lay_out_once(store: Store, database: str | Path) -> None:
    """Each with a writer of its own; all of them chose before any of them wrote."""
    others = [Store.open(database, "study") for _ in range(4)]
    try:
        forms = [new_answer(store, 1, answer) for answer in (Answer.SAME, Answer.NO_CONSTRAINT) * 2]
        chosen = [choice(store, form, f"x{k}") for k, form in enumerate(forms)]
        with ThreadPoolExecutor(4) as threads:
            done = list(threads.map(record, others, forms, chosen))
        assert set(done) == {1}
    finally:
        for other in others:
            other.close()
    assert [row.position for row in rows(store, appearances)] == [1, 3, 2]
    first = rows(store, answers_table)[0]
    assert rows(store, appearances)[-1].a == f"x{[form.nonce for form in forms].index(first.nonce)}"


def test_nobody_finishes_before_all_places_are_answered(store: Store) -> None:
    finish = partial(participants.finish, token_hash=TOKEN, rules="", expressible="", comments="", at=NOW)
    for place in (1, 3):  # answered without choosing what comes behind
        store.change_now(partial(recording.record, token_hash=TOKEN, new=new_answer(store, place)))
    with pytest.raises(NotYet):
        store.change_now(partial(finish, places=PLACES))


def test_what_was_said_so_far_is_read_for_learning(store: Store) -> None:
    assert store.read_now(recording.newest_model) is None
    for answer in (Answer.SAME, Answer.NO_CONSTRAINT):
        new = new_answer(store, 1, answer)
        record(store, new, choice(store, new))
    assert store.read_now(recording.all_current_answers) == [ParticipantAnswer("1", "a", "b", Answer.NO_CONSTRAINT)]
    assert store.read_now(recording.count_answered) == 1
    for learned_from in (1, 2):
        store.change_now(partial(recording.add_model, learned_from=learned_from, parameters="{}", at=NOW))
    newest = store.read_now(recording.newest_model)
    assert newest is not None
    assert newest.learned_from == 2
