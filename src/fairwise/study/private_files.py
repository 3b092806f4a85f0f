"""Files that only their owner can open: what people said, who tried to log in, and the study's secret."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_log = logging.getLogger("fairwise")
PRIVATE = 0o600


def create_private(file: Path) -> None:
    """Make an empty file, for SQLite to fill; those that SQLite makes beside it get the same rights.

    A file that is there is not opened: to close it again would let go of all locks that this process has on it.
    """
    with suppress(OSError):  # it is there, or cannot be made, which SQLite says itself
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))


def make_private(files: Iterable[Path]) -> None:
    """Keep others on this machine from opening what they could open so far; the log says which files that were."""
    for file in files:
        try:
            if not stat.S_IMODE(file.stat().st_mode) & ~PRIVATE:
                continue
            file.chmod(PRIVATE)
        except FileNotFoundError:
            continue
        except OSError as error:
            _log.warning(
                "%s can be opened by others on this machine, and that cannot be changed: %s", file, error.strerror
            )
        else:
            _log.warning("%s could be opened by others on this machine; from now on by its owner only", file)
