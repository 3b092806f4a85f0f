"""Times that agree with each other, also where the clock was put back meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime


def not_before(earlier: datetime, now: datetime) -> datetime:
    """Return now, or the earlier moment if the clock says that it is yet to come."""
    known = earlier.replace(tzinfo=UTC) if earlier.tzinfo is None else earlier  # SQLite forgets that it is UTC
    return max(known, now)
