"""How the study stands: whether people may answer, and which fit was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from fairwise.store.errors import NotOpen, NotYet, RoundOver
from fairwise.store.tables import panel_groups, study
from fairwise.study.settings import StudyState

FIRST, SECOND = 1, 2
"""Rounds. The second comes after a participant's second look, or after all were shown how the others answered."""


@dataclass(frozen=True)
class Standing:
    """What an operator decided last."""

    state: StudyState = StudyState.OPEN
    chosen_job_id: int | None = None
    result_shown: bool = False
    """Whether participants see how the chosen model treats their pairs."""

    round: int = FIRST
    round_over: bool = False
    """Whether somebody, or the number of those who finished, ended the first round."""

    def first_is_over(self, at: datetime, until: datetime | None) -> bool:
        """Whether nobody may begin or answer in the first round any more, also because its last day is over."""
        return self.round != FIRST or self.round_over or (until is not None and at >= until)


_STANDING = sa.select(study.c.state, study.c.chosen_job_id, study.c.result_shown, study.c.round, study.c.round_over)
LOCKED = _STANDING.with_for_update(read=True).cte("standing")
"""The study's row, for a query that asks for it along with something else; locked like :func:`standing`."""


def standing(connection: sa.Connection, *, lock: bool = False) -> Standing:
    """Return how the study stands; with ``lock`` nobody changes that before this transaction ends.

    On SQLite only one transaction writes at a time. On PostgreSQL another process could close the study between this
    question and the commit of the change that depends on it.
    """
    row = connection.execute(_STANDING.with_for_update(read=True) if lock else _STANDING).one_or_none()
    return Standing() if row is None else Standing(StudyState(row.state), *row[1:])


def require_open(connection: sa.Connection) -> None:
    """Refuse a change that participants may make only while the study is open; asked in the change's transaction."""
    refuse_unless_open(standing(connection, lock=True).state)


def refuse_unless_open(state: str | None) -> None:
    if state not in (StudyState.OPEN, None):
        raise NotOpen


def require_first_round(connection: sa.Connection, at: datetime, until: datetime | None) -> None:
    """Refuse who comes after it; `until` is when it ends by itself, if it does."""
    if standing(connection, lock=True).first_is_over(at, until):
        raise RoundOver


def refuse_other_round(stands: Standing, asked: int, at: datetime, until: datetime | None) -> None:
    """Refuse a form of another round than the one that is under way."""
    if asked == FIRST and stands.first_is_over(at, until):
        raise RoundOver
    if asked != FIRST and stands.round == FIRST:
        raise NotYet


def set_state(connection: sa.Connection, state: str) -> bool:
    """Open, pause or close the study; returns whether something personal was deleted by that.

    Once it is closed nobody begins again, so arms of panels' ids are not needed any more.
    """
    connection.execute(sa.update(study).values(state=state))
    return state == StudyState.CLOSED and connection.execute(sa.delete(panel_groups)).rowcount > 0


def choose(connection: sa.Connection, job_id: int | None, *, shown: bool) -> None:
    """Choose a fit, and whether participants see what it does."""
    connection.execute(sa.update(study).values(chosen_job_id=job_id, result_shown=shown))
