"""A bundle as a study again: its folder, and a database with all its answers."""

from __future__ import annotations

import shutil
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fairwise.elicitation.bundles.archive import read_bundle
from fairwise.elicitation.bundles.contents import ANSWERS, CLOSINGS, PARTICIPANTS, SCHEDULE
from fairwise.elicitation.bundles.verify import unpacked_study, verify_bundle
from fairwise.elicitation.signing import Keys
from fairwise.elicitation.store.store import Store
from fairwise.elicitation.store.tables import answers, appearances, closings, counters, participants
from fairwise.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from fairwise.elicitation.bundles.archive import Bundle
    from fairwise.elicitation.bundles.verify import Verified


def reopen_bundle(path: Path, folder: Path, database: str | Path) -> Verified:
    """Make the folder and fill the database. Links of earlier participants are in no bundle, so they stay behind."""
    found = verify_bundle(path)
    if folder.exists():
        raise InputError(f"{folder}: is there already; choose another name")
    bundle = read_bundle(path)
    try:
        study = unpacked_study(bundle, folder)
        store = Store.open(database, study.fingerprint)
        try:
            store.change_now(lambda connection: _fill(connection, bundle, database))
        finally:
            store.close()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return found


def _fill(connection: Connection, bundle: Bundle, database: object) -> None:
    if connection.execute(sa.select(sa.func.count()).select_from(participants)).scalar_one():
        raise InputError(f"{database}: holds answers already; give an empty database")
    ids: dict[str, int] = {}
    places: dict[tuple[str, str], int] = {}
    for row in bundle.table(PARTICIPANTS).to_dict("records"):
        values = {**_values(participants, row), "token_hash": Keys.hashed(Keys.new())}
        ids[row["number"]] = _inserted(connection, participants, values)
    for row in bundle.table(SCHEDULE).to_dict("records"):
        values = {**_values(appearances, row), "participant_id": ids[row["number"]], "key": Keys.new()}
        places[row["number"], row["position"]] = _inserted(connection, appearances, values)
    said = [
        {**_values(answers, row), "appearance_id": places[row["number"], row["position"]], "nonce": Keys.new()}
        for row in bundle.table(ANSWERS).to_dict("records")
    ]
    closed = [
        {**_values(closings, row), "participant_id": ids[row["number"]]}
        for row in bundle.table(CLOSINGS).to_dict("records")
    ]
    for table, rows in ((answers, said), (closings, closed)):
        if rows:
            connection.execute(sa.insert(table), rows)
    last = max((int(number) for number in ids), default=0)
    connection.execute(sa.update(counters).where(counters.c.name == "participants").values(value=last))


def _inserted(connection: Connection, table: sa.Table, values: dict[str, Any]) -> int:
    return int(connection.execute(sa.insert(table).returning(table.c.id), values).scalar_one())


def _values(table: sa.Table, row: dict[Any, str]) -> dict[str, Any]:
    """The cells of a row as the columns' own types."""
    return {column.name: _value(column, row[column.name]) for column in table.c if column.name in row}


def _value(column: sa.Column[Any], text: str) -> Any:
    if text == "" and column.nullable:
        return None
    kind = column.type.python_type
    return datetime.fromisoformat(text) if kind is datetime else kind(text)
