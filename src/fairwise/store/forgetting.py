"""Deleting in time what a study keeps for so many days only: rows, and what the database's files still hold of them."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fairwise.store.clock import look_at_clock
from fairwise.store.erasure import clean_files, needs_cleaning
from fairwise.store.retention import forget_old

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.store.store import Store
    from fairwise.study.settings import StudySettings

_log = logging.getLogger("fairwise")


class Forgotten(NamedTuple):
    """What was done."""

    rows: int
    """So many had something to delete."""

    cleaned: bool | None
    """Whether what was deleted, now or earlier, is out of the files as well; None if there was nothing to clean."""

    days_ahead: int = 0
    """The clock has jumped by so many days since it was last looked at, and so nothing old was deleted."""


def forget_in_time(
    settings: StudySettings, store: Store, database: str | Path, *, clock_is_right: bool = False
) -> Forgotten:
    """Delete what is older than the study wants, and clean the files of all that was deleted and is still in them.

    After a jump of the clock nothing is deleted until the time agrees again, or somebody says that it is right.
    """
    now, gone = datetime.now(UTC), 0
    ahead = store.change_now(partial(look_at_clock, now=now, believed=clock_is_right))
    if settings.retention_days and ahead:
        _log.warning(
            "The clock has gone on by %s days since it was last looked at, so what is older than retention_days is "
            "kept. If the time is right, say so: fairwise study forget --clock-is-right",
            ahead,
        )
    elif settings.retention_days:
        gone = store.change_now(partial(forget_old, days=settings.retention_days, now=now))
    cleaned = clean_files(database) if store.read_now(needs_cleaning) else None
    return Forgotten(gone, cleaned, ahead if settings.retention_days else 0)
