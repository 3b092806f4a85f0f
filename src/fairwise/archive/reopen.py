"""Open a bundle as a study again: its folder, and a database with all its answers."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from fairwise.archive.bundle import ANSWERS, BUNDLED_TABLES, ROUND_PAIRS, Bundle, last_number, read_bundle
from fairwise.archive.container import from_text
from fairwise.archive.verify import Verified, unpacked_study, verify
from fairwise.errors import InputError
from fairwise.store.erasure import begin_again
from fairwise.store.schema import counters, database_identity, metadata, participants, study
from fairwise.store.store import Store
from fairwise.store.study_state import SECOND

_AT_ONCE = 1000


def reopen_bundle(path: Path, folder: Path, database: str | Path) -> Verified:
    """Create the folder and fill the database. Earlier participants' links are in no bundle, so they do not work."""
    bundle = read_bundle(path)
    verified = verify(bundle)
    if folder.exists():
        raise InputError(f"{folder}: is there already; choose another name")
    try:
        store = Store.open(database, unpacked_study(bundle, folder).fingerprint, folder)
        try:
            store.change_now(lambda connection: _fill(connection, bundle, database))
        finally:
            store.close()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return verified


def _fill(connection: sa.Connection, bundle: Bundle, database: object) -> None:
    # Anything there, such as invitations or operators, would belong to the reopened study.
    for table in (participants, *metadata.sorted_tables):
        is_filled = table not in (study, counters, database_identity)
        if is_filled and connection.execute(sa.select(table).limit(1)).first() is not None:
            raise InputError(f"{database}: is not empty: there is something in its table {table.name!r} already")
    ids: dict[sa.Table, dict[tuple[str, ...], int]] = {}
    for file, table in BUNDLED_TABLES.items():
        if table.info.get("reopened", True):
            _fill_table(connection, table, bundle.rows(file), ids)
    if bundle.rows(ROUND_PAIRS):
        connection.execute(sa.update(study).values(round=SECOND))
    # Numbers of participants who withdrew are not used again either.
    last = max(last_number(connection), bundle.manifest["last_number"])
    connection.execute(sa.update(counters).where(counters.c.name == "participants").values(value=last))
    begin_again(connection, datetime.now(UTC))


def _fill_table(
    connection: sa.Connection,
    table: sa.Table,
    rows: list[Mapping[str, str]],
    ids: dict[sa.Table, dict[tuple[str, ...], int]],
) -> None:
    """Insert the rows of a table, whose references are looked up in `ids` by their keys; add its own ids there."""
    if table.info["file"] == ANSWERS:  # later answers have larger ids
        rows = sorted(rows, key=lambda row: int(row["sequence"]))
    inserted: list[int] = []
    for start in range(0, len(rows), _AT_ONCE):
        values = [_values(table, row, ids) for row in rows[start : start + _AT_ONCE]]
        if "id" in table.c:
            returning = sa.insert(table).returning(table.c.id, sort_by_parameter_order=True)
            inserted += connection.execute(returning, values).scalars()
        else:
            connection.execute(sa.insert(table), values)
    if "id" in table.c and table.info["unique"]:
        key = table.info["unique"][0]
        ids[table] = {tuple(row[name] for name in key): id_ for row, id_ in zip(rows, inserted, strict=True)}


def _values(
    table: sa.Table, row: Mapping[str, str], ids: Mapping[sa.Table, Mapping[tuple[str, ...], int]]
) -> dict[str, object]:
    """Return a row of a file as a row of the table, in the types of its columns."""
    values: dict[str, object] = {}
    for column in table.c:
        cells = tuple(row[name] for name in column.info.get("bundle", ()))
        if "reopened" in column.info:
            values[column.name] = column.info["reopened"]()
        elif not cells or column.name == "id":
            continue
        elif column.foreign_keys:
            parent = next(iter(column.foreign_keys)).column.table
            values[column.name] = None if cells == ("",) else ids[parent][cells]
        else:
            values[column.name] = from_text(column, cells[0])
    return values
