"""Answers to a study's own questions: kept, changed until somebody finishes, and read again."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import sqlalchemy as sa

from fairwise.store.errors import NotYet, Unknown
from fairwise.store.tables import participants, question_answers
from fairwise.study.questions import Question
from fairwise.study.settings import ANSWERING, Stage

PREFIX = "question_"
"""Stands before the name of a question where its answers are a column."""

_ANSWER = (question_answers.c.answer + question_answers.c.written).label("answer")  # one of the two is empty


def keep(
    connection: sa.Connection,
    token_hash: bytes,
    answers: Sequence[tuple[Question, str]],
    leaving: Stage,
    to: Stage,
) -> None:
    """Keep the answers of one page in the place of earlier ones; whoever is at `leaving` goes on to the next stage.

    Sent from a page that somebody has left behind, it changes nothing.
    """
    whose = sa.select(participants.c.id, participants.c.stage).where(participants.c.token_hash == token_hash)
    who = connection.execute(whose.with_for_update()).one_or_none()
    if who is None:
        raise Unknown
    if who.stage not in (ANSWERING if leaving in ANSWERING else (leaving,)):
        raise NotYet
    mine = question_answers.c.participant_id == who.id
    names = [question.name for question, _ in answers]
    connection.execute(sa.delete(question_answers).where(mine, question_answers.c.question.in_(names)))
    if answers:
        connection.execute(sa.insert(question_answers), [_row(who.id, *one) for one in answers])
    if to != leaving:
        connection.execute(sa.update(participants).where(participants.c.id == who.id).values(stage=to))


def _row(participant_id: int, question: Question, answer: str) -> dict[str, object]:
    column = "written" if question.kind == "text" else "answer"
    return {"participant_id": participant_id, "question": question.name, "answer": "", "written": ""} | {column: answer}


def answers_of(connection: sa.Connection, token_hash: bytes) -> dict[str, str]:
    """What someone answered, by the name of the question; of those they were asked, also what they left empty."""
    return _by_name(connection, participants.c.token_hash == token_hash)


def answers_of_number(connection: sa.Connection, number: int) -> dict[str, str]:
    """The same of the participant with this number."""
    return _by_name(connection, participants.c.number == number)


def _by_name(connection: sa.Connection, who: sa.ColumnElement[bool]) -> dict[str, str]:
    query = sa.select(question_answers.c.question, _ANSWER).join(participants).where(who)
    return {row.question: row.answer for row in connection.execute(query)}


def as_columns(connection: sa.Connection) -> pd.DataFrame:
    """Answers by participant's number, a column for each question; None where it was left empty, or not asked.

    What people wrote is not among them: it says who they are, and is deleted in time.
    """
    query = sa.select(participants.c.number, question_answers.c.question, question_answers.c.answer)
    query = query.join(question_answers).where(question_answers.c.answer != "").order_by(question_answers.c.question)
    columns: dict[str, dict[int, str]] = {}
    for number, name, answer in connection.execute(query):
        columns.setdefault(f"{PREFIX}{name}", {})[number] = answer
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()}, dtype=object)
