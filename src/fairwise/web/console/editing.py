"""Changing the files of a study that is served: checked as a whole before, and changed all at once."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.errors import InputError
from fairwise.store.store import claim
from fairwise.store.study_state import standing
from fairwise.store.tables import participants, study
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

_READ = (".toml", ".md", ".parquet", ".key")
LOCKED = (
    "What decides which pairs are shown, or what is shown of people, can be changed only before the first participant "
    "begins, and not while the study is open: answers before and after would be answers to different questions."
)


class ChangedMeanwhile(Exception):  # noqa: N818 - nobody's fault
    """Someone else has changed the same file in the meantime."""


@dataclass(frozen=True)
class Edit:
    """A study with some of its files changed, whole and checked, and not yet in place."""

    study: StudyFolder
    home: Path
    before: Mapping[str, str]
    """What the changed files were when the change was thought of."""

    def take_effect(self, connection: Connection, fingerprint: str) -> None:
        """Put the files in place, if nobody else has changed them; done twice it is done once.

        `fingerprint` is the study's as it was. Several processes take turns, as each first writes to the study's row.
        """
        draft = self.study.path
        if not any((draft / name).exists() for name in self.before):
            return
        connection.execute(sa.update(study).values(state=study.c.state))
        if self.study.fingerprint != fingerprint:
            if is_locked(connection):
                raise InputError(LOCKED)
            claim(connection, self.study.fingerprint)
        if any(version(self.home / name) != known for name, known in self.before.items()):
            raise ChangedMeanwhile
        for name in self.before:
            (draft / name).replace(self.home / name)


@contextmanager
def edited(home: Path, changes: Mapping[str, str], before: Mapping[str, str]) -> Iterator[Edit]:
    """Try changed texts in a copy of the study; an InputError says what is wrong, as if it were about the study."""
    draft = Path(tempfile.mkdtemp(prefix=".edit.", suffix=".part", dir=home))
    try:
        for file in home.iterdir():
            if file.is_file() and file.suffix in _READ and file.name not in changes:
                try:
                    os.link(file, draft / file.name)
                except OSError:  # not everywhere may a file have two names
                    shutil.copy2(file, draft / file.name)
        for name, text in changes.items():
            (draft / name).write_text(text, encoding="utf-8", newline="\n")
        try:
            found = StudyFolder.open(draft)
        except InputError as error:
            raise InputError(str(error).replace(f"{draft}{os.sep}", "")) from None
        yield Edit(found, home, before)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def discard_left_behind(home: Path) -> None:
    """Delete what a process that was killed left behind."""
    for left in (*home.glob(".edit.*.part"), *home.glob(".study.*.part")):
        shutil.rmtree(left, ignore_errors=True)


def version(file: Path) -> str:
    """Which content a file has; empty if there is none."""
    with suppress(FileNotFoundError):
        return hashlib.sha256(file.read_bytes()).hexdigest()[:24]
    return ""


def has_begun(connection: Connection) -> bool:
    """Whether anyone takes part, or did."""
    return connection.execute(sa.select(participants.c.id).limit(1)).first() is not None


def is_locked(connection: Connection) -> bool:
    """Whether what decides about pairs must stay as it is."""
    return has_begun(connection) or standing(connection).state == "open"
