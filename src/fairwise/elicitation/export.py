"""What people said, as a table of judgments; and what they wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import sqlalchemy as sa

from fairwise.elicitation.store.pairs import CURRENT
from fairwise.elicitation.store.tables import answers, appearances, closings, participants, study
from fairwise.judgments import Judgments

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

_LIKE_A_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n']")
_COLUMNS = ["judge", "a", "b", "answer", "round", "design", "seconds", "answered_at", "selection_probability"]


def judge_name(number: int) -> str:
    """Who answered: a number, and nothing about them."""
    return f"p{number:05d}"


def judgments(connection: Connection, *, finished_only: bool = False) -> Judgments:
    """The current answer to every pair that has one."""
    query = (
        sa.select(
            participants.c.number,
            appearances.c.a,
            appearances.c.b,
            answers.c.answer,
            appearances.c.design,
            answers.c.seconds,
            answers.c.answered_at,
            appearances.c.selection_probability,
        )
        .join(appearances, appearances.c.participant_id == participants.c.id)
        .join(answers, CURRENT)
        .order_by(participants.c.number, appearances.c.position)
    )
    rows = [
        {
            "judge": judge_name(row.number),
            "a": row.a,
            "b": row.b,
            "answer": row.answer,
            "round": 1,
            "design": row.design,
            "seconds": row.seconds,
            "answered_at": _utc(row.answered_at),
            "selection_probability": row.selection_probability,
        }
        for row in connection.execute(_of(query, finished_only=finished_only))
    ]
    table = pd.DataFrame(rows, columns=_COLUMNS)
    unknown = [name for name in ("seconds", "selection_probability") if table[name].isna().all()]
    return Judgments(table.drop(columns=unknown))


def texts(connection: Connection, *, finished_only: bool = False) -> pd.DataFrame:
    """What people wrote: the reason of each answer, and the closing questions; one row per text that is not empty."""
    reasons = (
        sa.select(participants.c.number, appearances.c.position, appearances.c.a, appearances.c.b, answers.c.why)
        .join(appearances, appearances.c.participant_id == participants.c.id)
        .join(answers, CURRENT)
        .where(answers.c.why != "")
        .order_by(participants.c.number, appearances.c.position)
    )
    closing = (
        sa.select(participants.c.number, closings.c.rules, closings.c.expressible, closings.c.comments)
        .join(closings, closings.c.participant_id == participants.c.id)
        .order_by(participants.c.number)
    )
    rows = [
        {"judge": judge_name(row.number), "about": "why", "a": row.a, "b": row.b, "text": row.why}
        for row in connection.execute(_of(reasons, finished_only=finished_only))
    ]
    for row in connection.execute(closing):
        rows += [
            {"judge": judge_name(row.number), "about": about, "a": "", "b": "", "text": text}
            for about, text in (("rules", row.rules), ("expressible", row.expressible), ("comments", row.comments))
            if text
        ]
    return pd.DataFrame(rows, columns=["judge", "about", "a", "b", "text"])


def defused(text: str) -> str:
    """A text that no spreadsheet takes for a formula: one that looks like it begins with ', and so no other does.

    >>> defused("=1+1"), defused("- nothing"), defused("'quoted'"), defused("a = b")
    ("'=1+1", "'- nothing", "''quoted'", 'a = b')
    """
    return f"'{text}" if _LIKE_A_FORMULA.match(text) else text


@dataclass(frozen=True)
class Taken:
    """How many take part, and in which study."""

    started: int
    finished: int
    fingerprint: str | None


def taken(connection: Connection) -> Taken:
    """Those who withdrew are not among them."""
    finished = sa.func.count(participants.c.finished_at)
    started, ended = connection.execute(sa.select(sa.func.count(), finished).select_from(participants)).one()
    return Taken(started, ended, connection.execute(sa.select(study.c.fingerprint)).scalar_one_or_none())


def _of(query: Select[Any], *, finished_only: bool) -> Select[Any]:
    return query.where(participants.c.stage == "finished") if finished_only else query


def _utc(at: pd.Timestamp) -> str:
    """SQLite forgets the time zone, which is always UTC."""
    moment = pd.Timestamp(at)
    return (moment.tz_localize("UTC") if moment.tzinfo is None else moment.tz_convert("UTC")).isoformat()
