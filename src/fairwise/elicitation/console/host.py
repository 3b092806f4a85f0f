"""What is served: the folder of a study, its database and its secret. Read anew whenever a file of it changes."""

from __future__ import annotations

import logging
import secrets
import time
from threading import Lock
from typing import TYPE_CHECKING

from fairwise.elicitation.console.watch import Watch
from fairwise.elicitation.editions import SETTINGS
from fairwise.elicitation.folder import SECRET, SECRET_BYTES, StudyFolder
from fairwise.elicitation.signing import Keys
from fairwise.elicitation.store.standing import standing
from fairwise.elicitation.store.store import Store
from fairwise.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger("fairwise")
_READ = (".toml", ".md", ".parquet")
_SECONDS = 1.0


class Host:
    """Shared by the pages of participants and of operators, and by all requests of a process."""

    def __init__(self, path: Path, database: str | Path, prefix: str = "") -> None:
        """Open the database, and the study if there is one yet; the folder is made if it is not there."""
        self.path, self.database, self.prefix = path, database, prefix
        path.mkdir(mode=0o700, exist_ok=True)
        self.keys = Keys(_secret(path / SECRET))
        self._lock = Lock()
        self._files = _state(path)
        self._looked = time.monotonic()
        self.study = StudyFolder.open(path) if self.has_study else None
        """The study as it is served now; None before one was made."""

        self.store = Store.open(database, None if self.study is None else self.study.fingerprint)
        self.standing = self.store.read_now(standing)
        """How the study stands, as of a second ago at most."""

        self.watch = Watch(database)
        if self.study is not None:
            self.watch.begin(self.study)

    @property
    def has_study(self) -> bool:
        """Whether a study was made; what comes last when one is made is the file of its settings."""
        return (self.path / SETTINGS).exists()

    @property
    def is_due(self) -> bool:
        """Whether it is time to look whether anything was changed, here or by another process."""
        return time.monotonic() - self._looked >= _SECONDS

    def look_again(self) -> None:
        """With the next request, since something was just changed here."""
        self._looked = time.monotonic() - _SECONDS

    def refresh(self) -> bool:
        """Ask how the study stands, and read it again if its files were changed; returns whether they were.

        A study that cannot be read any more is not taken: the one before is served on, and the log says why.
        """
        with self._lock:
            self._looked = time.monotonic()
            self.standing = self.store.read_now(standing)
            files = _state(self.path)
            if files == self._files or not self.has_study:
                return False
            try:
                found = StudyFolder.open(self.path)
                self.store.claim(found.fingerprint)
            except InputError as error:
                _log.error("The study was changed and cannot be served like that: %s", error)
                self._files = files
                return False
            self.study, self._files = found, files
            return True

    def close(self) -> None:
        self.store.close()


def _secret(file: Path) -> bytes:
    if not file.exists():
        file.touch(mode=0o600)
        file.write_bytes(secrets.token_bytes(SECRET_BYTES))
    return file.read_bytes()


def _state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Which files there are, how large they are and when they were last changed."""
    found = [(file, file.stat()) for file in path.iterdir() if file.suffix in _READ]
    return tuple(sorted((file.name, stat.st_size, stat.st_mtime_ns) for file, stat in found))
