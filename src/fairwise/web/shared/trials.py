"""Copies of a study for trying it: each with a database of its own, gone when the trial ends."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from fairwise.store import recruitment
from fairwise.store.operators import Operator
from fairwise.study.folder import OUTCOME, StudyFolder
from fairwise.study.recruitment import Keys
from fairwise.web.shared.host import Host

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
        """What stands for an operator's trial in addresses: nobody can guess another's."""
        return self._keys.token(f"trial {operator.id}")

    def folder(self, name: str) -> Path:
        return self._home / _FOLDER / name

    def address(self, name: str) -> str:
        """Where its pages begin."""
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
    """What participants' pages read: neither outcomes nor secrets nor models."""
    if file.is_dir():
        if not file.name.startswith(".") and file.name not in _LEFT_OUT:
            shutil.copytree(file, to)
    elif file.suffix in _COPIED and file.name != OUTCOME:
        try:
            os.link(file, to)
        except OSError:  # not everywhere may a file have two names
            shutil.copy2(file, to)
