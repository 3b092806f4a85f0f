"""The comparison finds what it is there to find."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from faults.ledger import Compared, Ledger, compared
from tests.support.visits import hidden, visiting

from fairwise.store.engine import database_url, writing_engine
from fairwise.store.schema import answers, participants

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

WHOLE = Compared(participants=1, acknowledged=2, lost=0, doubled=0, not_current=0, strangers=0)


@pytest.fixture
def answered(study: StudyFolder, new_database: Callable[[], str | Path]) -> tuple[str | Path, Ledger]:
    """Someone answered a pair, changed their mind, and wrote both down."""
    database = new_database()
    with visiting(study, database) as visit:
        mine = visit.begin()
        ledger = Ledger(mine.removeprefix("/p/"))
        for said in ("same", "no_constraint"):
            form = hidden(visit.get(f"{mine}/pair/1"))
            visit.post(f"{mine}/pair/1", **form, answer=said)
            ledger.acknowledged(form["key"], form["nonce"], said)
    return database, ledger


def changed(database: str | Path, change: sa.Executable) -> None:
    engine = writing_engine(database_url(database))
    with engine.begin() as connection:
        connection.execute(change)
    engine.dispose()


def test_what_was_written_down_is_there(answered: tuple[str | Path, Ledger]) -> None:
    database, ledger = answered
    assert compared(database, [ledger]) == WHOLE
    assert WHOLE.whole


def test_a_lost_answer(answered: tuple[str | Path, Ledger]) -> None:
    database, ledger = answered
    changed(database, sa.delete(answers).where(answers.c.version == 2))
    assert compared(database, [ledger]) == replace(WHOLE, lost=1, not_current=1)


def test_a_doubled_answer(answered: tuple[str | Path, Ledger]) -> None:
    database, ledger = answered
    again = sa.select(sa.literal(9), answers.c.appearance_id, sa.literal(3), sa.literal("x"), answers.c.answer)
    again = again.add_columns(answers.c.why, answers.c.answered_at).where(answers.c.version == 1)
    columns = ["id", "appearance_id", "version", "nonce", "answer", "why", "answered_at"]
    changed(database, sa.insert(answers).from_select(columns, again))
    assert compared(database, [ledger]) == replace(WHOLE, doubled=1, not_current=1)


def test_somebody_of_whom_nobody_knows(answered: tuple[str | Path, Ledger]) -> None:
    database, ledger = answered
    assert compared(database, []).strangers == 1
    changed(database, sa.delete(participants))
    assert compared(database, [ledger]) == replace(WHOLE, lost=2, not_current=1, strangers=1)
