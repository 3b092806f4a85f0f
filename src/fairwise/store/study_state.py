"""How the study stands: whether people may answer, and which fit was chosen."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from fairwise.store.errors import NotOpen
from fairwise.store.tables import study
from fairwise.study.stages import StudyState


@dataclass(frozen=True)
class Standing:
    """What an operator decided last."""

    state: StudyState = StudyState.OPEN
    chosen_job_id: int | None = None
    result_shown: bool = False
    """Whether participants see how the chosen model treats their pairs."""


def standing(connection: sa.Connection) -> Standing:
    """How the study stands now."""
    row = connection.execute(sa.select(study.c.state, study.c.chosen_job_id, study.c.result_shown)).one_or_none()
    return Standing() if row is None else Standing(StudyState(row.state), row.chosen_job_id, bool(row.result_shown))


STATE = sa.select(study.c.state).scalar_subquery()
"""Open, paused or closed, to be asked along with something else; None where there is no study yet."""


def require_open(connection: sa.Connection) -> None:
    """Refuse a change that participants may make only while the study is open; asked in the change's transaction."""
    refuse_unless_open(connection.execute(sa.select(STATE)).scalar_one())


def refuse_unless_open(state: str | None) -> None:
    if state not in (StudyState.OPEN, None):
        raise NotOpen


def set_state(connection: sa.Connection, state: str) -> None:
    """Open, pause or close the study."""
    connection.execute(sa.update(study).values(state=state))


def choose(connection: sa.Connection, job_id: int | None, *, shown: bool) -> None:
    """Choose a fit, and whether participants see what it does."""
    connection.execute(sa.update(study).values(chosen_job_id=job_id, result_shown=shown))
