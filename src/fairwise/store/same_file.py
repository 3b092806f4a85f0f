"""A SQLite file that was deleted or replaced can still be written to, and what is written is gone with the process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairwise.store.errors import StoreUnavailable

if TYPE_CHECKING:
    from sqlalchemy.engine import URL


class SameFile:
    """The database's file and its log, as they were when they were opened."""

    def __init__(self, url: URL) -> None:
        file = url.database or ""
        found = {Path(f"{file}{end}"): _identity(Path(f"{file}{end}")) for end in ("", "-wal")} if file else {}
        self._known = {path: identity for path, identity in found.items() if identity is not None}

    def check(self) -> None:
        """Refuse to go on with a file that nobody else can find."""
        for path, identity in self._known.items():
            if _identity(path) != identity:
                raise StoreUnavailable(f"{path} was deleted or replaced while it was in use")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
