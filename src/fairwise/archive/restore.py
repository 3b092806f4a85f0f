"""A study again: from a backup, with its participants' links and its operators' accounts; or from a bundle."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fairwise.archive.backup import BACKUP, Backup, open_backup, tables_of_backup
from fairwise.archive.bundle import (
    ANSWER_MODELS,
    ANSWERS,
    CLOSINGS,
    CONSENTS,
    EXCLUSIONS,
    PARTICIPANTS,
    QUESTIONS,
    REASONS,
    ROUND_PAIRS,
    SCHEDULE,
    Bundle,
    last_number,
    read_bundle,
)
from fairwise.archive.container import STUDY, from_json, from_text, unpack_study
from fairwise.archive.verify import Verified, unpacked_study, verify
from fairwise.errors import InputError
from fairwise.store.engine import database_url, is_known, public_address, tables_of, upgrade_further, writing_engine
from fairwise.store.erasure import begin_again
from fairwise.store.fit_files import JOBS
from fairwise.store.identity import record_identity
from fairwise.store.store import Store
from fairwise.store.study_state import SECOND
from fairwise.store.tables import (
    answer_models,
    answers,
    appearances,
    closings,
    consent_texts,
    counters,
    database_identity,
    exclusions,
    jobs,
    metadata,
    participants,
    question_answers,
    reasons,
    round_pairs,
    study,
)
from fairwise.study.cards import IMAGES
from fairwise.study.folder import SECRET
from fairwise.study.recruitment import Keys

_AT_ONCE = 1000


@dataclass(frozen=True)
class Restored:
    """What is there again."""

    rows: Mapping[str, int]
    made_at: str
    has_secret: bool
    """Whether the study's secret was in the backup; otherwise it has a new one."""

    days_ahead: int
    """The clock is so many days ahead of the backup, and was believed; 0 if it is not as old as that."""


def restore_backup(path: Path, folder: Path, database: str | None, database_file: str) -> Restored:
    """Make the folder and fill the database: both, or neither. `database_file` is its name in the folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already, and not empty; choose another name")
    with open_backup(path) as backup:
        version = backup.manifest["tables_version"]
        if not version.isdigit() or not is_known(version):
            raise InputError(f"{path}: made by a newer Fairwise, {backup.manifest['fairwise']!r}: update Fairwise.")
        try:
            has_secret, ahead = _restore(backup, folder, database, database_file)
        except OSError as error:
            raise InputError(f"{folder}: cannot be restored: {error.strerror or error}") from None
        return Restored(backup.manifest["rows"], backup.manifest["made_at"], has_secret, ahead)


def _restore(backup: Backup, folder: Path, database: str | None, database_file: str) -> tuple[bool, int]:
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.resolve().parent))  # for its owner alone
    was_there, moved = folder.exists(), False

    def move() -> None:
        nonlocal moved
        draft.rename(folder)
        moved = True

    try:
        has_secret = _unpack(backup, draft)
        if database is None:  # in the folder, so that both are there at once
            ahead = _restore_database(backup, draft / database_file, draft, lambda: None)
            move()
        else:
            ahead = _restore_database(backup, database, draft, move)
    except BaseException:
        if moved:
            folder.rename(draft)
            if was_there:
                folder.mkdir()
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return has_secret, ahead


def _unpack(backup: Backup, draft: Path) -> bool:
    files = backup.study_files()
    if unpack_study(backup.path, BACKUP, files, draft).fingerprint != backup.manifest["fingerprint"]:
        raise _about_others(backup)
    return SECRET in files


def _about_others(backup: Backup) -> InputError:
    return InputError(f"{backup.path}: its people or settings are not those that its answers are about")


def _restore_database(backup: Backup, address: str | Path, draft: Path, before_commit: Callable[[], None]) -> int:
    """Fill an empty database and bring it up to date in one transaction, so that a failure leaves it empty.

    The folder, still a draft, gets to know that this database is its own. Returns by how many days the clock is ahead.
    """
    url = database_url(address)
    made = _not_yet_there(url)
    engine = writing_engine(url)
    try:
        _require_empty(engine)
        with tables_of(engine, backup.manifest["tables_version"]) as connection:
            _fill(backup, connection)
            upgrade_further(connection)
            _check_rows(backup, connection)
            ahead = begin_again(connection, datetime.now(UTC))
            record_identity(connection, url, draft)
            before_commit()
    except BaseException as error:
        engine.dispose()
        for file in made:
            file.unlink(missing_ok=True)
        if isinstance(error, (DBAPIError, sqlite3.Error)):
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise InputError(f"{public_address(url)}: the database cannot be restored: {reason}") from None
        raise
    engine.dispose()
    return ahead


def _require_empty(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        found = sa.inspect(connection).get_table_names()
    if found:
        raise InputError(f"{public_address(engine.url)}: is not empty: it has a table {found[0]!r} already")


def _not_yet_there(url: sa.URL) -> list[Path]:
    """The files of SQLite that a restore will make."""
    if url.get_backend_name() != "sqlite" or not url.database or Path(url.database).exists():
        return []
    return [Path(f"{url.database}{ending}") for ending in ("", "-wal", "-shm")]


def _fill(backup: Backup, connection: sa.Connection) -> None:
    """Into the tables as they were when the backup was made, whichever version that is: into all of them."""
    there = sa.MetaData()
    there.reflect(connection)
    expected: Mapping[str, int] = backup.manifest["rows"]
    tables = tables_of_backup(there)
    unknown, missing = (
        expected.keys() - {table.name for table in tables},
        {table.name for table in tables} - set(expected),
    )
    if unknown:
        raise InputError(f"{backup.path}: {min(unknown)!r} is not a table of a backup of this version")
    if missing:
        raise InputError(f"{backup.path}: the table {min(missing)!r} is missing")
    for table in tables:
        connection.execute(sa.delete(table))  # what a new database begins with
        rows = _rows(backup, table)
        while some := list(islice(rows, _AT_ONCE)):
            try:
                connection.execute(sa.insert(table), some)
            except (ValueError, OverflowError) as error:  # which some databases see only now
                raise InputError(f"{backup.path}: a value that cannot be in {table.name}: {error}") from None
        count = connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        if type(expected[table.name]) is not int or count != expected[table.name]:
            raise InputError(f"{backup.path}: {count} rows of {table.name}, but there were {expected[table.name]!r}")
        if connection.dialect.name == "postgresql":
            _count_on(connection, table)


def _check_rows(backup: Backup, connection: sa.Connection) -> None:
    """The answers are to this study, and files are of fits that were done."""
    stored = connection.execute(sa.select(study.c.fingerprint)).scalar_one_or_none()
    if stored not in (None, backup.manifest["fingerprint"]):
        raise _about_others(backup)
    done = connection.execute(sa.select(jobs.c.id).where(jobs.c.state == "done")).scalars()
    folders = {IMAGES, *(f"{JOBS}/{job_id}" for job_id in done)}
    strange = [name for name in backup.study_files() if "/" in name and name.rpartition("/")[0] not in folders]
    if strange:
        raise BACKUP.does_not_belong(backup.path, f"{STUDY}{strange[0]}")


def _rows(backup: Backup, table: sa.Table) -> Iterator[dict[str, object]]:
    for row in backup.rows(table.name):
        if row.keys() != set(table.c.keys()):
            raise InputError(f"{backup.path}: a row of {table.name} has other columns than the table")
        try:
            yield {name: from_json(table.c[name], cell) for name, cell in row.items()}
        except ValueError as error:
            raise InputError(f"{backup.path}: a value that cannot be in {error}") from None


def _count_on(connection: sa.Connection, table: sa.Table) -> None:
    """Go on after the last id; PostgreSQL counts those that it gave itself alone."""
    key = table.primary_key.columns[0]
    counter = connection.execute(sa.select(sa.func.pg_get_serial_sequence(table.name, key.name))).scalar_one()
    if counter is not None:
        last = sa.select(sa.func.setval(counter, sa.func.coalesce(sa.func.max(key), 1), sa.func.max(key).is_not(None)))
        connection.execute(last)


# A bundle as a study again: its folder, and a database with all its answers.


def reopen_bundle(path: Path, folder: Path, database: str | Path) -> Verified:
    """Make the folder and fill the database. Links of earlier participants are in no bundle, so they stay behind."""
    bundle = read_bundle(path)
    found = verify(bundle)
    if folder.exists():
        raise InputError(f"{folder}: is there already; choose another name")
    try:
        store = Store.open(database, unpacked_study(bundle, folder).fingerprint, folder)
        try:
            store.change_now(lambda connection: _fill_from_bundle(connection, bundle, database))
        finally:
            store.close()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return found


def _fill_from_bundle(connection: sa.Connection, bundle: Bundle, database: object) -> None:
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
    versions = [
        {**_values(answers, row), "appearance_id": places[row["number"], row["position"]], "nonce": Keys.new()}
        for row in sorted(bundle.rows(ANSWERS), key=lambda row: int(row.get("sequence", 0)))
    ]
    closed = [{**_values(closings, row), "participant_id": ids[row["number"]]} for row in bundle.rows(CLOSINGS)]
    left_out = [
        {**_values(exclusions, row), "participant_id": ids[row["number"]], "excluded_by": "", "included_by": ""}
        for row in bundle.rows(EXCLUSIONS)
    ]
    asked = [{**_values(question_answers, row), "participant_id": ids[row["number"]]} for row in bundle.rows(QUESTIONS)]
    filled = {
        answers: versions,
        closings: closed,
        question_answers: asked,
        exclusions: left_out,
        consent_texts: [_values(consent_texts, row) for row in bundle.rows(CONSENTS)],
    }
    for table, rows in filled.items():
        if rows:
            connection.execute(sa.insert(table), rows)
    _fill_second_round(connection, bundle, places)
    # Also the numbers of those who withdrew are not given again.
    last = max([last_number(connection), bundle.manifest.get("last_number", 0), *map(int, ids)])
    connection.execute(sa.update(counters).where(counters.c.name == "participants").values(value=last))
    begin_again(connection, datetime.now(UTC))


def _fill_second_round(connection: sa.Connection, bundle: Bundle, places: Mapping[tuple[str, str], int]) -> None:
    """What it was about, and which reasons others could read; who decided so is not in a bundle."""
    pairs = [{**_values(round_pairs, row), "reason": row["chosen_as"]} for row in bundle.rows(ROUND_PAIRS)]
    if pairs:
        connection.execute(sa.insert(round_pairs), pairs)
        connection.execute(sa.update(study).values(round=SECOND))
    decided = bundle.rows(REASONS)
    if not decided:
        return
    columns = (answers.c.appearance_id, answers.c.version, answers.c.id)
    ids = {(pair, version): answer for pair, version, answer in connection.execute(sa.select(*columns))}
    connection.execute(
        sa.insert(reasons),
        [
            {
                **_values(reasons, row),
                "answer_id": ids[places[row["number"], row["position"]], int(row["version"])],
                "decided_by": "",
            }
            for row in decided
        ],
    )


def _check_empty(connection: sa.Connection, database: object) -> None:
    """Whatever was there, such as invitations or operators, would be the reopened study's."""
    for table in (participants, *metadata.sorted_tables):
        if (
            table not in (study, counters, database_identity)
            and connection.execute(sa.select(table).limit(1)).first() is not None
        ):
            raise InputError(f"{database}: is not empty: there is something in its table {table.name!r} already")


def _inserted(connection: sa.Connection, table: sa.Table, values: dict[str, object]) -> int:
    return int(connection.execute(sa.insert(table).returning(table.c.id), values).scalar_one())


def _values(table: sa.Table, row: Mapping[str, str]) -> dict[str, object]:
    """The cells of a row as the columns' own types."""
    return {column.name: from_text(column, row[column.name]) for column in table.c if column.name in row}
