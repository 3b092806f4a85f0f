"""A study as the first version of the tables kept it, and what is left of it in any later one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fairwise.store.engine import database_url, tables_of, writing_engine
from fairwise.store.tables import metadata

if TYPE_CHECKING:
    from pathlib import Path

WHEN = "2026-01-02 03:04:05.000006"
HASH = b"\x00\xff'--" * 6


def old_rows(fingerprint: str) -> dict[str, list[dict[str, Any]]]:
    """What a study of the first version may hold: someone who finished, someone on the way, someone who withdrew."""
    who = {"consent_version": "v", "consented_at": WHEN, "check_tries": 1}
    pair = {"a": "p1", "b": "p2", "design": "uniform", "selection_probability": 0.25}
    said = {"why": "ü\n'", "confidence": 3, "seconds": 1.5, "answered_at": WHEN}
    return {
        "participants": [
            {"id": 1, "number": 1, "token_hash": HASH + b"1", "stage": "finished", "finished_at": WHEN, **who},
            {"id": 7, "number": 3, "token_hash": HASH + b"3", "stage": "pairs", "finished_at": None, **who},
        ],
        "appearances": [
            {"id": n, "participant_id": 1 if n < 4 else 7, "position": 1 + (n - 1) % 3, "key": f"k{n}", **pair}
            for n in range(1, 7)
        ],
        "answers": [
            {"id": n, "appearance_id": appearance, "version": version, "nonce": f"n{n}", "answer": answer, **said}
            for n, (appearance, version, answer) in enumerate(
                [(1, 1, "same"), (1, 2, "no_constraint"), (2, 1, "a_at_least_b"), (3, 1, "same"), (4, 1, "same")], 1
            )
        ],
        "closings": [{"participant_id": 1, "rules": "r", "expressible": "e", "comments": "c"}],
        "withdrawals": [{"id": 1, "day": "2026-01-02"}],
        "study": [{"id": 1, "fingerprint": fingerprint}],
    }


def everything(address: str | Path) -> dict[str, list[dict[str, Any]]]:
    """The columns of the first version, as they are now."""
    engine = writing_engine(database_url(address))
    found = {}
    with engine.connect() as connection:
        for name, rows in old_rows("").items():
            columns = ", ".join(rows[0])
            order = next(iter(rows[0]))
            there = connection.execute(sa.text(f"SELECT {columns} FROM {name} ORDER BY {order}")).mappings()
            found[name] = [{column: comparable(value) for column, value in row.items()} for row in there]
    engine.dispose()
    return found


def comparable(value: Any) -> Any:
    """The same, whichever database it comes from."""
    if isinstance(value, memoryview):
        return bytes(value)
    if hasattr(value, "hour"):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return str(value) if hasattr(value, "isoformat") else value


def take_back(database: str | Path, version: str, scratch: Path) -> None:
    """Drop whatever later versions added, tables, indexes and columns, as if this one had made the database."""
    then = writing_engine(database_url(scratch))
    with tables_of(then, version) as connection:
        known = _shape(connection)
    then.dispose()
    engine = writing_engine(database_url(database))
    with engine.begin() as connection:
        now, order = _shape(connection), [table.name for table in reversed(metadata.sorted_tables)]
        for table in [name for name in order if name not in known]:
            connection.exec_driver_sql(f"DROP TABLE {table}")
        for table in set(now) & set(known):
            columns, indexes = (now[table][part] - known[table][part] for part in (0, 1))
            for index in indexes:
                connection.exec_driver_sql(f"DROP INDEX {index}")
            for column in columns:
                connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
    engine.dispose()


def _shape(connection: sa.Connection) -> dict[str, tuple[set[str], set[str]]]:
    """The columns and indexes of every table; an index that keeps a column unique is the column's own."""
    look = sa.inspect(connection)
    return {
        table: (
            {column["name"] for column in look.get_columns(table)},
            {str(index["name"]) for index in look.get_indexes(table) if not index["unique"]},
        )
        for table in look.get_table_names()
    }
