"""A served study: its folder, database and secret, and the trials of it."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock

from fairwise.errors import InputError
from fairwise.store import recruitment
from fairwise.store.engine import database_url, sqlite_file
from fairwise.store.operators import Operator
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
from fairwise.web.shared.progress import Watch
from fairwise.web.shared.security import FILE as ATTEMPTS
from fairwise.web.shared.security import StartPage

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
        """Start page of a server with several studies."""

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
        """State of the study, a second old at most."""

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
        """Look for changes with the next request."""
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
    """Return the files that nobody else on this machine may open."""
    answers = sqlite_file(database_url(database))
    database_files = (
        [] if answers is None else [answers.with_name(f"{answers.name}{end}") for end in ("", "-wal", "-shm")]
    )
    return [path / SECRET, path / ATTEMPTS, *database_files]


def _secret(file: Path) -> bytes:
    """The one that is there, or a new one: all of it on the disk before it has its name."""
    if not file.exists():
        secret = secrets.token_bytes(SECRET_BYTES)
        write_whole(file, lambda draft: draft.write_bytes(secret), private=True, lasting=True)
    return read_secret(file)


def _state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Return the names, sizes and times of the study's files."""
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


PATH = "/admin/try"
HOURS_KEPT = 12
_FOLDER, _STUDY, _DATABASE, _LINK, _ARM = ".trials", "study", "trial.sqlite", "link", "arm"
_COPIED = (".toml", ".md", ".parquet")
_LEFT_OUT = ("jobs",)


class Trials:
    """All trials of a study: one for each operator, in a folder that only who serves the study may open."""

    def __init__(self, home: Path, keys: Keys, prefix: str) -> None:
        self._home, self._keys, self._prefix = home, keys, prefix

    def name_of(self, operator: Operator) -> str:
        """Return the unguessable name of an operator's trial."""
        return self._keys.token(f"trial {operator.id}")

    def folder(self, name: str) -> Path:
        return self._home / _FOLDER / name

    def address(self, name: str) -> str:
        """Return the address of a trial's pages."""
        return f"{self._prefix}{PATH}/{name}"

    def link(self, name: str) -> str | None:
        """The address of the participant in a trial that has begun; changes with every trial."""
        file = self.folder(name) / _LINK
        return f"{self.address(name)}/p/{file.read_text(encoding='ascii')}" if file.is_file() else None

    def arm(self, name: str) -> str | None:
        """The arm in which the study is tried; None if it has none."""
        file = self.folder(name) / _ARM
        return file.read_text(encoding="utf-8") if file.is_file() else None

    def begin(self, name: str, study: StudyFolder, arm: str = "") -> str:
        """Copy the study as it is now, invite somebody to it, and return their address.

        They come to the `arm` of this name, or to the first: chance would always take them to the same one, and tell
        where the first participant comes.
        """
        self.end(name)
        folder = self.folder(name)
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        (folder / _STUDY).mkdir()
        for file in study.path.iterdir():
            _copy(file, folder / _STUDY / file.name)
        with closing(self.open(name)) as host:
            token = host.keys.new()
            invite = partial(recruitment.invite, people=[(host.keys.hashed(token), "")], at=datetime.now(UTC))
            host.store.change_now(invite)
        if arms := [one.name for one in study.settings.arms]:
            (folder / _ARM).write_text(arm if arm in arms else arms[0], encoding="utf-8")
        (folder / _LINK).write_text(token, encoding="ascii")
        return f"{self.address(name)}/p/{token}"

    def open(self, name: str) -> Host:
        folder = self.folder(name)
        return Host(folder / _STUDY, folder / _DATABASE, self.address(name))

    def end(self, name: str) -> None:
        shutil.rmtree(self.folder(name), ignore_errors=True)

    def discard_old(self) -> None:
        """Delete trials that nobody came back to end."""
        for folder in (self._home / _FOLDER).glob("*"):
            if time.time() - folder.stat().st_mtime > HOURS_KEPT * 3600:
                shutil.rmtree(folder, ignore_errors=True)


def _copy(file: Path, to: Path) -> None:
    """Copy what participants' pages read, without outcomes, secrets and models."""
    if file.is_dir():
        if not file.name.startswith(".") and file.name not in _LEFT_OUT:
            shutil.copytree(file, to)
    elif file.suffix in _COPIED and file.name != OUTCOME:
        try:
            os.link(file, to)
        except OSError:  # not everywhere may a file have two names
            shutil.copy2(file, to)
