"""A disk so small that it can be filled."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEGABYTES = 300


class SmallDisk:
    """A file system in memory where that may be mounted; otherwise a plain folder, which cannot be filled."""

    def __init__(self, path: Path, *, can_be_filled: bool) -> None:
        self.path, self.can_be_filled = path, can_be_filled
        self._ballast = path / "ballast"

    @classmethod
    @contextmanager
    def mounted(cls, megabytes: int = _MEGABYTES) -> Iterator[Self]:
        with tempfile.TemporaryDirectory() as home:
            words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "fairwise-faults", home]
            mounted = (
                shutil.which("mount") is not None
                and subprocess.run(words, capture_output=True, check=False).returncode == 0
            )
            try:
                yield cls(Path(home), can_be_filled=mounted)
            finally:
                if mounted:
                    subprocess.run(["umount", "--lazy", home], check=True)

    def fill(self) -> None:
        """Leave not a byte."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (2**20, 2**12, 1):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    os.fsync(file.fileno())

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)
