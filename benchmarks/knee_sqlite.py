"""How many people can answer at the same time on SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.knee import knee

if TYPE_CHECKING:
    from benchmarks.row import Row


def run() -> Row:
    return knee("SQLite", 1500, None)
