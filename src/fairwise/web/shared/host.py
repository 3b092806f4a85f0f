"""What is served: the folder of a study, its database and its secret. Read anew whenever a file of it changes."""

from __future__ import annotations

import logging
import secrets
import time
from pathlib import Path
from threading import Lock

from fairwise.errors import InputError
from fairwise.store.engine import database_url, sqlite_file
from fairwise.store.store import Store
from fairwise.store.study_state import standing
from fairwise.study.folder import (
    CONSENT,
    OUTCOME,
    PEOPLE,
    SCORES,
    SECRET,
    SECRET_BYTES,
    SETTINGS,
    TASK,
    StudyFolder,
    read_secret,
)
from fairwise.study.recruitment import Keys
from fairwise.tables.output import make_private, write_whole
from fairwise.web.shared.attempts import FILE as ATTEMPTS
from fairwise.web.shared.security import StartPage
from fairwise.web.shared.watch import Watch

_log = logging.getLogger("fairwise")
# What a study reads: these files, and those of other languages with a code in their names: consent.de.md.
_READ = tuple((Path(name).stem, Path(name).suffix) for name in (SETTINGS, CONSENT, TASK, PEOPLE, OUTCOME, SCORES))
_SECONDS = 1.0


class Host:
    """Shared by the pages of participants and of operators, and by all requests of a process."""

    def __init__(self, path: Path, database: str | Path, prefix: str = "", start_page: StartPage | None = None) -> None:
        """Open the database, and the study if there is one yet; the folder is made if it is not there."""
        self.path, self.database, self.prefix = path, database, prefix
        self.start_page = start_page
        """Of a server with several studies."""

        path.mkdir(mode=0o700, exist_ok=True)
        make_private(_private_files(path, database))
        self.keys = Keys(_secret(path / SECRET))
        self._lock = Lock()
        self._files = _state(path)
        self._looked = time.monotonic()
        self.study = StudyFolder.open(path) if self.has_study else None
        """The study as it is served now; None before one was made."""

        self.store = Store.open(database, None if self.study is None else self.study.fingerprint, path)
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
                study = StudyFolder.open(self.path)
                self.store.claim(study.fingerprint)
            except (InputError, OSError) as error:
                _log.error("The study was changed and cannot be served like that: %s", error)
                self._files = files
                return False
            self.study, self._files = study, files
            return True

    def close(self) -> None:
        self.store.close()


def _private_files(path: Path, database: str | Path) -> list[Path]:
    """What nobody else on this machine is to open, whoever made it and whatever the folder allows."""
    answers = sqlite_file(database_url(database))
    beside = [] if answers is None else [answers.with_name(f"{answers.name}{end}") for end in ("", "-wal", "-shm")]
    return [path / SECRET, path / ATTEMPTS, *beside]


def _secret(file: Path) -> bytes:
    """The one that is there, or a new one: all of it on the disk before it has its name."""
    if not file.exists():
        secret = secrets.token_bytes(SECRET_BYTES)
        write_whole(file, lambda draft: draft.write_bytes(secret), private=True, lasting=True)
    return read_secret(file)


def _state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Which of its files there are, how large they are and when they were last changed."""
    states = []
    for file in path.iterdir():
        if not any(file.name.startswith(f"{stem}.") and file.suffix == kind for stem, kind in _READ):
            continue  # whatever else lies there, such as what editors leave beside a file they have open
        try:
            stat = file.stat()
        except OSError:  # it went away while we looked, or it leads nowhere
            continue
        states.append((file.name, stat.st_size, stat.st_mtime_ns))
    return tuple(sorted(states))
