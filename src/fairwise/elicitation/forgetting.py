"""Deleting in time what a study keeps for so many days only: rows, and what the database's files still hold of them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fairwise.elicitation.store.erasure import clean_files, needs_cleaning
from fairwise.elicitation.store.retention import forget_old

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.elicitation.settings import StudySettings
    from fairwise.elicitation.store.store import Store

SECONDS_BETWEEN = 3600


class Forgotten(NamedTuple):
    """What was done."""

    rows: int
    """So many had something to delete."""

    cleaned: bool | None
    """Whether what was deleted, now or earlier, is out of the files as well; None if there was nothing to clean."""


def forget_in_time(settings: StudySettings, store: Store, database: str | Path) -> Forgotten:
    """Delete what is older than the study wants, and clean the files of all that was deleted and is still in them."""
    gone = 0
    if settings.retention_days:
        gone = store.change_now(partial(forget_old, days=settings.retention_days, now=datetime.now(UTC)))
    return Forgotten(gone, clean_files(database) if store.read_now(needs_cleaning) else None)
