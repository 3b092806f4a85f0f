"""Finished curves on disk, so that a run killed at any moment goes on where it was.

One line per curve, written whole and flushed to the disk before the next begins. A line that a kill cut short does not
match its checksum and is done again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

Rows = list[dict[str, Any]]


class Checkpoint:
    """The curves finished so far of one run; ``fingerprint`` is what the run was asked, so that none is mixed up."""

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self._path = Path(path)
        self.finished: dict[str, Rows] = {}
        try:
            kept = self._read(fingerprint)
            # What follows the last whole line is the beginning of one that was cut short.
            with self._path.open("r+b" if self._path.exists() else "x+b") as file:
                file.truncate(kept)
            if kept == 0:
                self._append({"run": fingerprint})
        except OSError as error:
            raise InputError(f"{self._path}: cannot keep finished curves here: {error.strerror}") from error

    def add(self, curve: str, rows: Rows) -> None:
        """Keep a finished curve for good."""
        self._append({"curve": curve, "rows": rows})
        self.finished[curve] = rows

    def _append(self, content: Mapping[str, Any]) -> None:
        with self._path.open("ab") as file:
            file.write(_line(content))
            file.flush()
            os.fsync(file.fileno())

    def _read(self, fingerprint: str) -> int:
        """Take up the finished curves; returns the length of what can be used."""
        if not self._path.exists():
            return 0
        length, header = 0, _line({"run": fingerprint})
        for number, line in enumerate(self._path.read_bytes().splitlines(keepends=True)):
            checksum, _, text = line.rstrip(b"\n").partition(b" ")
            if not line.endswith(b"\n") or checksum != b"%08x" % crc32(text):
                if number == 0 and not header.startswith(line):
                    raise InputError(f"{self._path}: not a file of finished curves; nothing was changed.")
                break
            content = json.loads(text)
            if number == 0 and content != {"run": fingerprint}:
                raise InputError(
                    f"{self._path} holds curves of another run: other people, judgments, settings or version. "
                    "Delete it to begin anew, or choose another file."
                )
            if number:
                self.finished[content["curve"]] = content["rows"]
            length += len(line)
        return length


def _line(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content)
    return f"{crc32(text.encode()):08x} {text}\n".encode()
