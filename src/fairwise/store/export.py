"""Export answers as a table of judgments, what is known of the judges, and what they wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import sqlalchemy as sa

from fairwise.judgments import Judgments
from fairwise.judgments.validation import AFFECTED, SIMULATED
from fairwise.store.answers import HAS_ANSWER, HAS_ANSWERED, LAST_OF_EACH_ROUND
from fairwise.store.deliberation import RELEASED, reasons_about, round_list
from fairwise.store.participants import QUESTION_PREFIX, question_columns
from fairwise.store.quotas import IS_EXCLUDED
from fairwise.store.schema import Query, answers, appearances, closings, participants, question_answers, rooms, study
from fairwise.store.study_state import SECOND, standing
from fairwise.study.design import Arm
from fairwise.study.schedules import block_size
from fairwise.study.settings import Stage, StudySettings, StudyState

# Where a spreadsheet begins a cell, whatever the language of its system: quotes of a table with commas mean nothing to
# one that parts cells by semicolons, and cells end at every semicolon, tab and line break.
_CELL = r"(?:^|(?<=[;\t\r\n]))"
_FORMULA = re.compile(rf"""^(?=[\t\r\n])|{_CELL}(?=(?:(?![\t\r\n])[\s"])*[=+\-@\uff1d\uff0b\uff0d\uff20]|')""")
_IS_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_DEFUSED = re.compile(f"{_CELL}'")
_COLUMNS = ["judge", "a", "b", "answer", "round", "design", "seconds", "answered_at", "selection_probability"]

_JUDGES = ["judge", "relation", "came_by", "room", "language", "check_tries", SIMULATED, "arm", "block"]

EXCLUDED = "excluded"
"""Column that marks excluded people: yes or no."""

_YES_NO = {True: "yes", False: "no"}


def judge_name(number: int) -> str:
    """Return the name of a participant in exports, which says nothing about them."""
    return f"p{number:05d}"


def judgments(connection: sa.Connection, *, finished_only: bool = False, with_excluded: bool = False) -> Judgments:
    """Return the last answer of each round to every pair; round 2 is a second look, or follows a discussion.

    Excluded participants are left out, or marked.
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
    ).where(HAS_ANSWER)
    rows = _rows(connection, query, finished_only=finished_only, with_excluded=with_excluded)
    table = _table(
        ((*cells, at.isoformat(), chance, mark) for *cells, at, chance, mark in rows), _COLUMNS, with_excluded
    )
    unknown = [name for name in ("seconds", "selection_probability") if table[name].isna().all()]
    return Judgments(table.drop(columns=unknown))


def judges(
    connection: sa.Connection,
    settings: StudySettings | None = None,
    *,
    finished_only: bool = False,
    with_excluded: bool = False,
) -> pd.DataFrame:
    """Return what is known about participants who answered: relation, recruitment, language and arm.

    So is what they answered to the study's own questions, in columns ``question_NAME``, but for what they wrote. With
    the study's `settings` there are also the ``block`` in which each was assigned, as comparisons of arms need it, and
    ``affected``, whether such decisions affect them, where any relation says so; and all are simulated if the study is.
    Where nobody is in an arm there is no such column.
    """
    query = (
        sa.select(
            participants.c.number,
            participants.c.relation,
            participants.c.came_by,
            rooms.c.name,
            participants.c.language,
            participants.c.check_tries,
            sa.case((participants.c.simulated, "yes"), else_="no"),
            participants.c.arm,
            participants.c.arm_turn,
        )
        .outerjoin(rooms, rooms.c.id == participants.c.room_id)
        .where(HAS_ANSWERED)
        .order_by(participants.c.number)
    )
    rows = _rows(connection, query, finished_only=finished_only, with_excluded=with_excluded)
    asked = question_columns(connection)
    asked.index = asked.index.map(judge_name)
    table = _table(rows, _JUDGES, with_excluded)
    table = table.drop(columns="arm") if table["arm"].isna().all() else table
    if settings is not None and settings.arms and "arm" in table:
        table["block"] = table["block"].astype("Int64") // block_size(settings.arms)
    else:
        table = table.drop(columns="block")
    if settings is not None:
        if settings.simulated:
            table[SIMULATED] = "yes"
        marks = {one.name: _YES_NO[one.affected] for one in settings.relations if one.affected is not None}
        if marks:
            table[AFFECTED] = table["relation"].map(marks).where(table[SIMULATED] == "no").astype(object)
    table = table.merge(asked, how="left", left_on="judge", right_index=True)
    return table.astype(dict.fromkeys(asked, object)).where(table.notna(), None) if len(asked.columns) else table


def judges_to_write(table: pd.DataFrame) -> pd.DataFrame:
    """Prepare the table for a file: no spreadsheet finds a formula in a room's name or an option of a question."""
    words = [name for name in table if name == "room" or str(name).startswith(QUESTION_PREFIX)]
    return table.assign(**{str(name): table[name].map(_defused_words, na_action="ignore") for name in words})


def _defused_words(cell: str) -> str:
    return cell if _IS_NUMBER.fullmatch(cell) else defused(cell)


def who_answered(*, finished_only: bool = False, with_simulated: bool = True) -> Query:
    """Return the query for ids and numbers of participants whose answers are among the judgments.

    Simulated participants may be left out as long as there are real ones.
    """
    query = sa.select(participants.c.id, participants.c.number).where(HAS_ANSWERED)
    query = _of(query, finished_only=finished_only, with_excluded=False)
    if not with_simulated:
        real = query.where(~participants.c.simulated)
        query = query.where(~participants.c.simulated | ~real.correlate(None).exists())
    return query.order_by(participants.c.id)


def texts(connection: sa.Connection, *, finished_only: bool = False, with_excluded: bool = False) -> pd.DataFrame:
    """Return what people wrote: reasons of answers, answers to the study's own questions, and closing answers.

    One row per text that is not empty; of an answer that was given in two rounds, the reason of each.
    """
    reasons = LAST_OF_EACH_ROUND.with_only_columns(
        participants.c.number,
        sa.literal("why"),
        appearances.c.a,
        appearances.c.b,
        sa.cast(answers.c.round, sa.Text),
        answers.c.why,
    ).where(answers.c.why != "")
    questions = ("rules", "expressible", "comments")
    closing = (
        sa.select(participants.c.number, *(closings.c[name] for name in questions))
        .join(closings, closings.c.participant_id == participants.c.id)
        .order_by(participants.c.number)
    )
    own = (
        sa.select(participants.c.number, question_answers.c.question, question_answers.c.written)
        .join(question_answers, question_answers.c.participant_id == participants.c.id)
        .where(question_answers.c.written != "")
        .order_by(participants.c.number, question_answers.c.question)
    )
    rows = list(_rows(connection, reasons, finished_only=finished_only, with_excluded=with_excluded))
    for judge, name, text, mark in _rows(connection, own, finished_only=finished_only, with_excluded=with_excluded):
        rows.append((judge, f"{QUESTION_PREFIX}{name}", "", "", "", text, mark))
    for judge, *written, mark in _rows(connection, closing, finished_only=finished_only, with_excluded=with_excluded):
        rows += [(judge, name, "", "", "", text, mark) for name, text in zip(questions, written, strict=True) if text]
    return _table(rows, ["judge", "about", "a", "b", "round", "text"], with_excluded)


def _rows(
    connection: sa.Connection, query: Query, *, finished_only: bool, with_excluded: bool
) -> Iterator[tuple[Any, ...]]:
    """Yield rows with the judge's name instead of their number and, last, whether they are excluded."""
    query = _of(query.add_columns(IS_EXCLUDED), finished_only=finished_only, with_excluded=with_excluded)
    for number, *cells, excluded in connection.execute(query):
        yield judge_name(number), *cells, _YES_NO[bool(excluded)]


def _of(query: Query, *, finished_only: bool, with_excluded: bool) -> Query:
    those = [participants.c.stage == Stage.FINISHED] * finished_only + [~IS_EXCLUDED] * (not with_excluded)
    return query.where(*those)


def _table(rows: Iterable[tuple[Any, ...]], columns: list[str], with_excluded: bool) -> pd.DataFrame:
    table = pd.DataFrame(list(rows), columns=[*columns, EXCLUDED])
    return table if with_excluded else table.drop(columns=EXCLUDED)


def defused(text: str) -> str:
    """Return a text in which no spreadsheet finds a formula: whatever looks like one gets a ' before it.

    So does every ' in such a place, so that :func:`as_written` knows which were there before.

    >>> defused("=1+1"), defused("- nothing"), defused("'quoted'"), defused("a = b"), defused("one; =2")
    ("'=1+1", "'- nothing", "''quoted'", 'a = b', "one;' =2")
    """
    return _FORMULA.sub("'", text)


def as_written(cell: str) -> str:
    """Return the text that :func:`defused` made a cell of.

    >>> as_written("'=1+1"), as_written("one;' =2")
    ('=1+1', 'one; =2')
    """
    return _DEFUSED.sub("", cell)


@dataclass(frozen=True)
class ParticipantCounts:
    """Numbers of participants of a study."""

    started: int
    finished: int
    excluded: int
    fingerprint: str | None
    simulated: int = 0
    simulated_finished: int = 0


def participant_counts(connection: sa.Connection) -> ParticipantCounts:
    """Count participants; those who withdrew are not among them."""
    excluded = sa.func.coalesce(sa.func.sum(sa.case((IS_EXCLUDED, 1), else_=0)), 0)
    program = participants.c.simulated
    counts = sa.select(
        sa.func.count(),
        sa.func.count(participants.c.finished_at),
        excluded,
        sa.func.count(sa.case((program, 1))),
        sa.func.count(sa.case((program, participants.c.finished_at))),
    ).select_from(participants)
    fingerprint = connection.execute(sa.select(study.c.fingerprint)).scalar_one_or_none()
    started, finished, left_out, *simulated = connection.execute(counts).one()
    return ParticipantCounts(started, finished, left_out, fingerprint, *simulated)


def simulated_count(connection: sa.Connection) -> int:
    """Return how many participants are simulated."""
    counted = sa.select(sa.func.count()).select_from(participants).where(participants.c.simulated)
    return connection.execute(counted).scalar_one()


def has_real_people(connection: sa.Connection) -> bool:
    """Return whether a real person has answered."""
    query = sa.select(participants.c.id).where(HAS_ANSWERED, ~participants.c.simulated)
    return connection.execute(query.limit(1)).first() is not None


# Data of a second round for comparisons of arms


@dataclass(frozen=True, eq=False)
class SecondRound:
    """Data of a second round besides its answers."""

    arms: pd.DataFrame
    """Columns ``arm`` and ``block`` by judge; no columns where a study has no arms."""

    reasons: pd.DataFrame | None
    """Columns a, b and answer, a row for each reason shown; None of rooms that talk, where people say them aloud."""

    control: str | None
    """Arm that is shown no reasons, if it is the only one."""

    @property
    def in_rooms(self) -> bool:
        """Whether people talked in rooms."""
        return self.reasons is None


def silent_arm(arms: Sequence[Arm]) -> str | None:
    """Return the arm that is shown no reasons in a second round; None where there is none, or more than one."""
    silent = [arm.name for arm in arms if not arm.reasons]
    return silent[0] if len(silent) == 1 else None


def finished_second_round(connection: sa.Connection, arms: Sequence[Arm], *, rooms: bool = False) -> SecondRound | None:
    """Return the second round of a closed study, else None: who looks earlier could end it when it suits them.

    Where `rooms` talk, it consists of what people answered again in them.
    """
    stands = standing(connection)
    reasons = None if rooms else shown_reasons(connection)
    begun = _has_second_answers(connection) if rooms else stands.round == SECOND and reasons is not None
    if not begun or stands.state != StudyState.CLOSED:
        return None
    query = sa.select(participants.c.number, participants.c.arm).where(participants.c.arm.is_not(None))
    by_judge = {judge_name(number): arm for number, arm in connection.execute(query)}
    known = pd.DataFrame({"arm": by_judge}, dtype=object) if by_judge else pd.DataFrame()
    if by_judge:
        known["block"] = pd.Series(arm_blocks(connection, arms), dtype=object).reindex(known.index)
    return SecondRound(known, reasons, silent_arm(arms))


def _has_second_answers(connection: sa.Connection) -> bool:
    return connection.execute(sa.select(answers.c.id).where(answers.c.round == SECOND).limit(1)).first() is not None


def arm_blocks(connection: sa.Connection, arms: Sequence[Arm]) -> dict[str, int]:
    """Return the block of the arms' order in which each judge was assigned."""
    query = sa.select(participants.c.number, participants.c.arm_turn).where(participants.c.arm_turn.is_not(None))
    return {judge_name(number): turn // block_size(arms) for number, turn in connection.execute(query)}


def shown_reasons(connection: sa.Connection) -> pd.DataFrame | None:
    """Return the reasons that a second round shows, with columns a, b and answer; None before there is one."""
    pairs = {pair.two for pair in round_list(connection)}
    if not pairs:
        return None
    shown = [reason for reason in reasons_about(connection, pairs) if reason.state == RELEASED]
    return pd.DataFrame([(*one.two, str(one.answer)) for one in shown], columns=["a", "b", "answer"])
