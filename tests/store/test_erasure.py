"""Counting what was deleted, also by several processes at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa

from fairwise.store.engine import database_url, migrate
from fairwise.store.erasure import counter, set_counter
from fairwise.store.schema import counters


def test_a_counter_begins_goes_on_and_is_one_for_each_name(store: Any) -> None:
    def counted(connection: sa.Connection) -> list[int]:
        for _ in range(3):
            set_counter(connection, "one", counters.c.value + 1, first=1)
        set_counter(connection, "other", 7, first=5)
        return [counter(connection, name) for name in ("one", "other", "none")]

    assert store.change_now(counted) == [3, 5, 0]


def test_two_who_begin_a_counter_at_once_both_count(own_postgres: str) -> None:
    engine = sa.create_engine(database_url(own_postgres), poolclass=sa.pool.NullPool)
    migrate(engine)

    def count() -> None:
        with engine.begin() as connection:
            set_counter(connection, "deletions", counters.c.value + 1, first=1)

    with ThreadPoolExecutor(1) as other, engine.begin() as connection:
        set_counter(connection, "deletions", counters.c.value + 1, first=1)
        waiting = other.submit(count)  # sees no counter, and waits for this one to commit
        with pytest.raises(TimeoutError):
            waiting.result(0.5)
        connection.commit()
        waiting.result()
    with engine.connect() as connection:
        assert counter(connection, "deletions") == 2
