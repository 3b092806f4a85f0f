"""A bundle as a study again: its folder, and a database with all its answers."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fairwise.archive.bundle import (
    ANSWER_MODELS,
    ANSWERS,
    CLOSINGS,
    CONSENTS,
    EXCLUSIONS,
    PARTICIPANTS,
    SCHEDULE,
    last_number,
    read_bundle,
)
from fairwise.archive.container import from_text
from fairwise.archive.verify import unpacked_study, verify
from fairwise.errors import InputError
from fairwise.store.retention import begin_again
from fairwise.store.store import Store
from fairwise.store.tables import (
    answer_models,
    answers,
    appearances,
    closings,
    consent_texts,
    counters,
    database_identity,
    exclusions,
    metadata,
    participants,
    study,
)
from fairwise.study.signing import Keys

if TYPE_CHECKING:
    from fairwise.archive.bundle import Bundle
    from fairwise.archive.verify import Verified


def reopen_bundle(path: Path, folder: Path, database: str | Path) -> Verified:
    """Make the folder and fill the database. Links of earlier participants are in no bundle, so they stay behind."""
    bundle = read_bundle(path)
    found = verify(bundle)
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
    return found


def _fill(connection: sa.Connection, bundle: Bundle, database: object) -> None:
    _check_empty(connection, database)
    ids: dict[str, int] = {}
    places: dict[tuple[str, str], int] = {}
    for row in bundle.rows(PARTICIPANTS):
        values = {**_values(participants, row), "token_hash": Keys.hashed(Keys.new())}
        ids[row["number"]] = _inserted(connection, participants, values)
    models: dict[str, int | None] = {"": None}
    for row in bundle.rows(ANSWER_MODELS):
        models[row["number"]] = _inserted(connection, answer_models, _values(answer_models, row))
    for row in bundle.rows(SCHEDULE):
        values = {**_values(appearances, row), "participant_id": ids[row["number"]], "key": Keys.new()}
        values["answer_model_id"] = models[row.get("answer_model", "")]
        places[row["number"], row["position"]] = _inserted(connection, appearances, values)
    said = [
        {**_values(answers, row), "appearance_id": places[row["number"], row["position"]], "nonce": Keys.new()}
        for row in sorted(bundle.rows(ANSWERS), key=lambda row: int(row.get("sequence", 0)))
    ]
    closed = [{**_values(closings, row), "participant_id": ids[row["number"]]} for row in bundle.rows(CLOSINGS)]
    left_out = [
        {**_values(exclusions, row), "participant_id": ids[row["number"]], "excluded_by": "", "included_by": ""}
        for row in bundle.rows(EXCLUSIONS)
    ]
    texts = [_values(consent_texts, row) for row in bundle.rows(CONSENTS)]
    for table, rows in ((answers, said), (closings, closed), (exclusions, left_out), (consent_texts, texts)):
        if rows:
            connection.execute(sa.insert(table), rows)
    # Also the numbers of those who withdrew are not given again.
    last = max([last_number(connection), bundle.manifest.get("last_number", 0), *map(int, ids)])
    connection.execute(sa.update(counters).where(counters.c.name == "participants").values(value=last))
    begin_again(connection, datetime.now(UTC))


def _check_empty(connection: sa.Connection, database: object) -> None:
    """Whatever was there, such as invitations or operators, would be the reopened study's."""
    for table in (participants, *metadata.sorted_tables):
        if (
            table not in (study, counters, database_identity)
            and connection.execute(sa.select(table).limit(1)).first() is not None
        ):
            raise InputError(f"{database}: is not empty: there is something in its table {table.name!r} already")


def _inserted(connection: sa.Connection, table: sa.Table, values: dict[str, Any]) -> int:
    return int(connection.execute(sa.insert(table).returning(table.c.id), values).scalar_one())


def _values(table: sa.Table, row: Mapping[str, str]) -> dict[str, Any]:
    """The cells of a row as the columns' own types."""
    return {column.name: from_text(column, row[column.name]) for column in table.c if column.name in row}
