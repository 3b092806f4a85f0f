"""What a frontier has finished, kept on disk while it is traced."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from fairwise.errors import InputError
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.learning.oracles.base import Classifiers

    Rows = list[dict[str, object]]

_KINDS: dict[str, type[LinearClassifiers | TreeClassifiers]] = {
    kind.__name__: kind for kind in (LinearClassifiers, TreeClassifiers)
}


class Checkpoint:
    """What one run has finished so far, on disk, so that a run killed at any moment goes on where it was.

    That is whole curves, and of an unfinished one the ``classifiers`` found. ``fingerprint`` is what the run was asked,
    so that none is mixed up. One line for each, written whole and flushed to the disk before the next begins; a line
    that a kill cut short does not match its checksum and is done again.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self._path = Path(path)
        self.finished: dict[str, Rows] = {}
        self.classifiers: Classifiers | None = None
        try:
            length = self._read(fingerprint)
            # What follows the last whole line is the beginning of one that was cut short.
            with self._path.open("r+b" if self._path.exists() else "x+b") as file:
                file.truncate(length)
            if length == 0:
                self._append({"run": fingerprint})
        except OSError as error:
            raise InputError(f"{self._path}: cannot keep finished curves here: {error.strerror}") from error

    def add(self, curve: str, rows: Rows) -> None:
        """Keep a finished curve for good."""
        self._append({"curve": curve, "rows": rows})
        self.finished[curve] = rows

    def keep_classifiers(self, classifiers: Classifiers) -> None:
        """Keep what was found for a curve that is not finished; fitted estimators of others are not written down."""
        if type(classifiers).__name__ in _KINDS:
            arrays = {name: _array_text(values) for name, values in classifiers.state().items()}
            self._append({"kind": type(classifiers).__name__, "classifiers": arrays})

    def _append(self, content: Mapping[str, object]) -> None:
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
            if "curve" in content:
                self.finished[content["curve"]] = content["rows"]
            elif "classifiers" in content:
                arrays = {name: _array(text) for name, text in content["classifiers"].items()}
                self.classifiers = _KINDS[content["kind"]](**arrays)
            length += len(line)
        return length


def _line(content: Mapping[str, object]) -> bytes:
    text = json.dumps(content)
    return f"{crc32(text.encode()):08x} {text}\n".encode()


def _array_text(values: NDArray[Any]) -> str:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return base64.b64encode(file.getvalue()).decode()


def _array(text: str) -> NDArray[Any]:
    values: NDArray[Any] = np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False)
    return values
