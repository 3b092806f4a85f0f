"""What people said, as a table of judgments; and what they wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pandas as pd
import sqlalchemy as sa

from fairwise.judgments import Judgments
from fairwise.store.answers import CURRENT, HAS_ANSWER, HAS_ANSWERED, LAST_OF_EACH_ROUND
from fairwise.store.exclusions import IS_EXCLUDED
from fairwise.store.tables import answers, appearances, closings, participants, rooms, study
from fairwise.study.stages import Stage

# Where a spreadsheet begins a cell, whatever the language of its system: quotes of a table with commas mean nothing to
# one that parts cells by semicolons, and cells end at every semicolon, tab and line break.
_CELL = r"(?:^|(?<=[;\t\r\n]))"
_FORMULA = re.compile(rf"""^(?=[\t\r\n])|{_CELL}(?=(?:(?![\t\r\n])[\s"])*[=+\-@\uff1d\uff0b\uff0d\uff20]|')""")
_DEFUSED = re.compile(f"{_CELL}'")
_COLUMNS = ["judge", "a", "b", "answer", "round", "design", "seconds", "answered_at", "selection_probability"]

_ABOUT = ["relation", "came_by", "room", "language", "check_tries"]
EXCLUDED = "excluded"
"""The column that marks excluded people, where they are wanted: yes or no."""

_YES_NO = {True: "yes", False: "no"}


def judge_name(number: int) -> str:
    """Who answered: a number, and nothing about them."""
    return f"p{number:05d}"


def judgments(connection: sa.Connection, *, finished_only: bool = False, with_excluded: bool = False) -> Judgments:
    """The last answer of each round to every pair that has one; the second round is that of a second look.

    Who was excluded is left out, or else marked.
    """
    query = LAST_OF_EACH_ROUND.with_only_columns(
        participants.c.number,
        appearances.c.a,
        appearances.c.b,
        answers.c.answer,
        answers.c.round,
        appearances.c.design,
        answers.c.seconds,
        answers.c.answered_at,
        appearances.c.selection_probability,
        IS_EXCLUDED.label(EXCLUDED),
    ).where(HAS_ANSWER)
    found = connection.execute(_of(query, finished_only=finished_only, with_excluded=with_excluded))
    rows = [
        (judge_name(number), *said, at.isoformat(), chance, _YES_NO[bool(excluded)])
        for number, *said, at, chance, excluded in found
    ]
    table = pd.DataFrame(rows, columns=[*_COLUMNS, EXCLUDED])
    if not with_excluded:
        table = table.drop(columns=EXCLUDED)
    unknown = [name for name in ("seconds", "selection_probability") if table[name].isna().all()]
    return Judgments(table.drop(columns=unknown))


def judges(connection: sa.Connection, *, finished_only: bool = False, with_excluded: bool = False) -> pd.DataFrame:
    """What is known about those who answered: their relation to the decision, how they came, their language."""
    query = (
        sa.select(
            participants.c.number,
            participants.c.relation,
            participants.c.came_by,
            rooms.c.name.label("room"),
            participants.c.language,
            participants.c.check_tries,
            IS_EXCLUDED.label(EXCLUDED),
        )
        .outerjoin(rooms, rooms.c.id == participants.c.room_id)
        .where(HAS_ANSWERED)
        .order_by(participants.c.number)
    )
    rows = [
        {
            "judge": judge_name(row.number),
            **{name: row[place] for place, name in enumerate(_ABOUT, start=1)},
            EXCLUDED: _YES_NO[bool(row.excluded)],
        }
        for row in connection.execute(_of(query, finished_only=finished_only, with_excluded=with_excluded))
    ]
    return pd.DataFrame(rows, columns=["judge", *_ABOUT, *_marked(with_excluded)])


def who_answered(*, finished_only: bool = False) -> sa.Select[Any]:
    """Id and number of those whose answers are among the judgments, to be asked of the database."""
    query = sa.select(participants.c.id, participants.c.number).where(HAS_ANSWERED)
    return _of(query, finished_only=finished_only, with_excluded=False).order_by(participants.c.id)


def texts(connection: sa.Connection, *, finished_only: bool = False, with_excluded: bool = False) -> pd.DataFrame:
    """What people wrote: the reason of each answer, and the closing questions; one row per text that is not empty."""
    excluded = IS_EXCLUDED.label(EXCLUDED)
    reasons = CURRENT.with_only_columns(
        participants.c.number, appearances.c.a, appearances.c.b, answers.c.why, excluded
    ).where(answers.c.why != "")
    closing = (
        sa.select(participants.c.number, closings.c.rules, closings.c.expressible, closings.c.comments, excluded)
        .join(closings, closings.c.participant_id == participants.c.id)
        .order_by(participants.c.number)
    )
    rows = [
        [judge_name(row.number), "why", row.a, row.b, row.why, _YES_NO[bool(row.excluded)]]
        for row in connection.execute(_of(reasons, finished_only=finished_only, with_excluded=with_excluded))
    ]
    for row in connection.execute(_of(closing, finished_only=finished_only, with_excluded=with_excluded)):
        rows += [
            [judge_name(row.number), about, "", "", text, _YES_NO[bool(row.excluded)]]
            for about, text in (("rules", row.rules), ("expressible", row.expressible), ("comments", row.comments))
            if text
        ]
    table = pd.DataFrame(rows, columns=["judge", "about", "a", "b", "text", EXCLUDED])
    return table if with_excluded else table.drop(columns=EXCLUDED)


def defused(text: str) -> str:
    """A text in which no spreadsheet finds a formula: whatever looks like one has a ' before it.

    So has every ' that stands in such a place, so that :func:`as_written` knows which were there before.

    >>> defused("=1+1"), defused("- nothing"), defused("'quoted'"), defused("a = b"), defused("one; =2")
    ("'=1+1", "'- nothing", "''quoted'", 'a = b', "one;' =2")
    """
    return _FORMULA.sub("'", text)


def as_written(cell: str) -> str:
    """The text that :func:`defused` made a cell of.

    >>> as_written("'=1+1"), as_written("one;' =2")
    ('=1+1', 'one; =2')
    """
    return _DEFUSED.sub("", cell)


@dataclass(frozen=True)
class Taken:
    """How many take part, and in which study."""

    started: int
    finished: int
    fingerprint: str | None
    excluded: int = 0


def taken(connection: sa.Connection) -> Taken:
    """Those who withdrew are not among them."""
    finished = sa.func.count(participants.c.finished_at)
    started, ended = connection.execute(sa.select(sa.func.count(), finished).select_from(participants)).one()
    excluded = connection.execute(sa.select(sa.func.count()).select_from(participants).where(IS_EXCLUDED)).scalar_one()
    return Taken(started, ended, connection.execute(sa.select(study.c.fingerprint)).scalar_one_or_none(), excluded)


def _of(query: sa.Select[Any], *, finished_only: bool, with_excluded: bool) -> sa.Select[Any]:
    those = [participants.c.stage == Stage.FINISHED] * finished_only + [~IS_EXCLUDED] * (not with_excluded)
    return query.where(*those)


def _marked(with_excluded: bool) -> list[str]:
    return [EXCLUDED] if with_excluded else []
