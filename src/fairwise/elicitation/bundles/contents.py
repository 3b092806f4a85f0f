"""What a bundle holds: tables of what is kept, without anything that would let one answer in another's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import sqlalchemy as sa

from fairwise.elicitation.store.tables import answers, appearances, closings, participants

if TYPE_CHECKING:
    from sqlalchemy import Connection

PARTICIPANTS, SCHEDULE, ANSWERS, CLOSINGS = "participants.csv", "schedule.csv", "answers.csv", "closings.csv"
TABLES = (PARTICIPANTS, SCHEDULE, ANSWERS, CLOSINGS)

# A participant's number stands for them. Hashes of their links, and the keys of their pairs, stay where they are.
_LEFT_OUT = {"id", "token_hash", "key", "nonce", "participant_id", "appearance_id"}


def tables(connection: Connection) -> dict[str, pd.DataFrame]:
    """Every row that is kept, in a fixed order, by the name of its file."""
    number, position = participants.c.number, appearances.c.position
    of_participant = participants.join(appearances, appearances.c.participant_id == participants.c.id)
    queries = {
        PARTICIPANTS: sa.select(*_columns(participants)).order_by(number),
        SCHEDULE: sa.select(number, *_columns(appearances)).select_from(of_participant).order_by(number, position),
        ANSWERS: sa.select(number, position, *_columns(answers))
        .select_from(of_participant.join(answers, answers.c.appearance_id == appearances.c.id))
        .order_by(number, position, answers.c.version),
        CLOSINGS: sa.select(number, *_columns(closings))
        .select_from(participants.join(closings, closings.c.participant_id == participants.c.id))
        .order_by(number),
    }
    return {name: _table(connection, query) for name, query in queries.items()}


def _columns(table: sa.Table) -> list[sa.Column[Any]]:
    return [column for column in table.c if column.name not in _LEFT_OUT]


def _table(connection: Connection, query: sa.Select[Any]) -> pd.DataFrame:
    rows = connection.execute(query)
    return pd.DataFrame([[_written(value) for value in row] for row in rows], columns=list(rows.keys()), dtype=object)


def _written(value: Any) -> str:
    """As text that reads back to the same value; nothing is the empty text."""
    if value is None:
        return ""
    if hasattr(value, "isoformat"):
        moment = pd.Timestamp(value)
        return (moment.tz_localize("UTC") if moment.tzinfo is None else moment.tz_convert("UTC")).isoformat()
    return repr(value) if isinstance(value, float) else str(value)
