"""Deleting in time what a study keeps for so many days only: rows, and what the database's files still hold of them."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fairwise.store.clock import in_words, look_at_clock
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

    days_off: int = 0
    """The clock is so many days ahead of when it was last believed, and so nothing old was deleted; or behind (< 0)."""


def forget_in_time(
    settings: StudySettings, store: Store, database: str | Path, *, clock_is_right: bool = False
) -> Forgotten:
    """Delete what is older than the study wants, and clean the files of all that was deleted and is still in them.

    If the clock is far ahead nothing is deleted until the time agrees again, or somebody says that it is right.
    """
    now, gone = datetime.now(UTC), 0
    off = store.change_now(partial(look_at_clock, now=now, believed=clock_is_right))
    if settings.retention_days and off:
        _log.warning(
            "The clock says %s%s%s. If it is right now, say so: fairwise study "
            "forget DIR --clock-is-right, with the --database that serve was given. If not, set it.",
            f"{now:%Y-%m-%d}",
            in_words(off),
            ", so nothing is deleted by its age" if off > 0 else "",
        )
    if settings.retention_days and off <= 0:
        gone = store.change_now(partial(forget_old, days=settings.retention_days, now=now))
    cleaned = clean_files(database) if store.read_now(needs_cleaning) else None
    return Forgotten(gone, cleaned, off if settings.retention_days else 0)
