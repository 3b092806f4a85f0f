"""State of a study: whether participants may answer, which round it is in, and which fit was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from fairwise.store.errors import NotOpen, RoundOver
from fairwise.store.schema import panel_groups, study
from fairwise.study.settings import StudyState

FIRST, SECOND = 1, 2
"""Rounds. The second comes after a participant's second look, or after all were shown how the others answered."""


@dataclass(frozen=True)
class Standing:
    """Row of the study."""

    state: StudyState = StudyState.OPEN
    chosen_job_id: int | None = None
    result_shown: bool = False
    """Whether participants see how the chosen model treats their pairs."""

    round: int = FIRST
    round_over: bool = False
    """Whether an operator, or the number of those who finished, ended the first round."""

    def first_is_over(self, at: datetime, until: datetime | None) -> bool:
        """Return whether nobody may begin or answer in the first round any more; `until` is its last moment."""
        return self.round != FIRST or self.round_over or (until is not None and at >= until)


_STANDING = sa.select(study.c.state, study.c.chosen_job_id, study.c.result_shown, study.c.round, study.c.round_over)
LOCKED = _STANDING.with_for_update(read=True).cte("standing")
"""Row of the study as part of another query, locked as by :func:`standing`."""


def standing(connection: sa.Connection, *, lock: bool = False) -> Standing:
    """Return the state of the study; with ``lock`` nobody changes it before this transaction ends.

    On SQLite only one transaction writes at a time. On PostgreSQL another process could close the study between this
    query and the commit of the change that depends on it.
    """
    row = connection.execute(_STANDING.with_for_update(read=True) if lock else _STANDING).one_or_none()
    return Standing() if row is None else Standing(StudyState(row.state), *row[1:])


def require_open(connection: sa.Connection) -> None:
    """Refuse a participant's change while the study is not open. Call it in the transaction of the change."""
    if standing(connection, lock=True).state != StudyState.OPEN:
        raise NotOpen


def require_first_round(connection: sa.Connection, at: datetime, until: datetime | None) -> None:
    """Refuse a change after the first round, which ends by itself at `until`."""
    if standing(connection, lock=True).first_is_over(at, until):
        raise RoundOver


def set_state(connection: sa.Connection, state: str) -> bool:
    """Open, pause or close the study; return whether personal data was deleted by that.

    Nobody begins again in a closed study, so the arms of panel ids are deleted.
    """
    connection.execute(sa.update(study).values(state=state))
    return state == StudyState.CLOSED and connection.execute(sa.delete(panel_groups)).rowcount > 0


def choose(connection: sa.Connection, job_id: int | None, *, shown: bool) -> None:
    """Choose a fit, and whether participants see its results."""
    connection.execute(sa.update(study).values(chosen_job_id=job_id, result_shown=shown))
