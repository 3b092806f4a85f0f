"""Deleting in time what a study keeps for so many days only: rows, and what the database's files still hold of them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from fairwise.elicitation.store.erasure import clean_files
from fairwise.elicitation.store.retention import forget_old

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.elicitation.settings import StudySettings
    from fairwise.elicitation.store.store import Store

SECONDS_BETWEEN = 24 * 3600


def forget_in_time(settings: StudySettings, store: Store, database: str | Path) -> int:
    """Delete what is older than the study wants; returns how many rows had something to delete."""
    if not settings.retention_days:
        return 0
    gone = store.change_now(partial(forget_old, days=settings.retention_days, now=datetime.now(UTC)))
    if gone:
        clean_files(database)
    return gone
