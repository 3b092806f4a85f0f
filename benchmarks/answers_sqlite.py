"""Answers a second on SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.answering import measured, row_of

if TYPE_CHECKING:
    from benchmarks.row import Row


def run() -> Row:
    return row_of("SQLite", 1000, measured(None))
