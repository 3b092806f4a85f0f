"""What a bundle holds: tables of what is kept, without anything that would let one answer in another's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import sqlalchemy as sa

from fairwise.store.tables import (
    answer_models,
    answers,
    appearances,
    closings,
    consent_texts,
    counters,
    exclusions,
    participants,
)
from fairwise.study.editions import CONSENT, SETTINGS, TASK, named
from fairwise.study.folder import PEOPLE, SCORES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

PARTICIPANTS, SCHEDULE, ANSWERS, CLOSINGS = "participants.csv", "schedule.csv", "answers.csv", "closings.csv"
ANSWER_MODELS, EXCLUSIONS, CONSENTS = "answer_models.csv", "exclusions.csv", "consents.csv"
TABLES = (PARTICIPANTS, SCHEDULE, ANSWERS, CLOSINGS)
"""Those that every bundle has."""

LATER_TABLES = (ANSWER_MODELS, EXCLUSIONS, CONSENTS)
"""Those that older bundles do not have."""

# A participant's number stands for them. Hashes of their links, the keys of their pairs, and who they are to a panel or
# in a room stay where they are.
_LEFT_OUT = {"id", "token_hash", "key", "nonce", "participant_id", "appearance_id"}
_LEFT_OUT |= {"panel_id", "panel_session", "panel_signed", "room_id"}
# Which operator excluded someone is nobody else's business.
_LEFT_OUT |= {"excluded_by", "included_by"}
# Ids have gaps where someone withdrew; these are counted without.
_LEFT_OUT |= {"answer_model_id"}
_models = sa.select(
    answer_models.c.id, sa.func.row_number().over(order_by=answer_models.c.id).label("number")
).subquery()
_order_of_answers = sa.func.row_number().over(order_by=answers.c.id).label("sequence")


def study_files(languages: Sequence[str]) -> set[str]:
    """Names of those files in a study's folder that belong in a bundle; whatever else an operator keeps there stays."""
    translated = {named(name, code) for name in (SETTINGS, CONSENT, TASK) for code in languages[1:]}
    return {SETTINGS, CONSENT, TASK, PEOPLE, SCORES} | translated


def last_number(connection: Connection) -> int:
    """The last number that a participant was given, who may have withdrawn since."""
    last = sa.select(counters.c.value).where(counters.c.name == "participants")
    return int(connection.execute(last).scalar_one())


def tables(connection: Connection) -> dict[str, pd.DataFrame]:
    """Every row that is kept, in a fixed order, by the name of its file."""
    number, position = participants.c.number, appearances.c.position
    of_participant = participants.join(appearances, appearances.c.participant_id == participants.c.id)
    queries = {
        PARTICIPANTS: sa.select(*_columns(participants)).order_by(number),
        SCHEDULE: sa.select(number, *_columns(appearances), _models.c.number.label("answer_model"))
        .select_from(of_participant.outerjoin(_models, _models.c.id == appearances.c.answer_model_id))
        .order_by(number, position),
        ANSWERS: sa.select(number, position, *_columns(answers), _order_of_answers)
        .select_from(of_participant.join(answers, answers.c.appearance_id == appearances.c.id))
        .order_by(number, position, answers.c.version),
        CLOSINGS: sa.select(number, *_columns(closings))
        .select_from(participants.join(closings, closings.c.participant_id == participants.c.id))
        .order_by(number),
        ANSWER_MODELS: sa.select(_models.c.number, *_columns(answer_models))
        .select_from(answer_models.join(_models, _models.c.id == answer_models.c.id))
        .order_by(answer_models.c.id),
        EXCLUSIONS: sa.select(number, *_columns(exclusions))
        .select_from(participants.join(exclusions, exclusions.c.participant_id == participants.c.id))
        .order_by(number, exclusions.c.id),
        CONSENTS: sa.select(consent_texts).order_by(consent_texts.c.version),
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
