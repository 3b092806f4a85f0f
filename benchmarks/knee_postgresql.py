"""How many people can answer at the same time on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.answers_postgresql import postgresql
from benchmarks.knee import knee

if TYPE_CHECKING:
    from benchmarks.row import Row


def run() -> Row:
    with postgresql() as address:
        return knee("PostgreSQL", 1000, address)
