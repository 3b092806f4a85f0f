"""Output: files whole or not at all, files that only their owner can open, and JSON for programs."""

from __future__ import annotations

import json
import logging
import math
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

_log = logging.getLogger("fairwise")
PRIVATE = 0o600


def write_whole(path: Path, write: Callable[[Path], object], *, private: bool = False, lasting: bool = False) -> None:
    """Let `write` fill a draft, then give it the file's name; an error leaves what was there.

    What is private, such as keys, names and what people wrote, only the file's owner can open. What is lasting is on
    the disk before it has its name, so that it is whole even if the machine stops.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        if private:
            draft.touch(mode=PRIVATE, exist_ok=False)
        write(draft)
        if lasting:
            with draft.open("rb+") as opened:
                os.fsync(opened.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


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


# Answers for programs: JSON that every reader takes, whatever numbers and tables it was made from.

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
"""Values that `json` reads and writes."""


def json_text(value: object, *, indent: int = 2) -> str:
    """Return JSON in which a number that is none is null, and a table is a list of its rows.

    >>> print(json_text({"gap": float("nan"), "rounds": 3}))
    {
      "gap": null,
      "rounds": 3
    }
    """
    return json.dumps(jsonable(value), indent=indent, ensure_ascii=False, allow_nan=False)


def jsonable(value: object) -> JSON:
    """Return the value as lists, dicts, text and finite numbers."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("records")
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): jsonable(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [jsonable(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
