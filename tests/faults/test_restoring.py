"""A restore makes the folder and fills the database, or leaves both as they were; it takes only what backups hold."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.faults.test_backups import at, change, fairwise
from tests.support.visits import visiting

from fairwise.archive import backup as backups
from fairwise.archive import container
from fairwise.archive.backup import BACKUP, MANIFEST, open_backup
from fairwise.store.engine import database_url, writing_engine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

    NewDatabase = Callable[[], str | Path]

ROWS = b'{"x": 1}\n'


def forged(backup: Path, files: dict[str, bytes | None] | None = None, rows: dict[str, int] | None = None) -> Path:
    """The backup with other files in it, and checksums and numbers of rows to match."""
    new = backup.with_name("forged.zip")
    with zipfile.ZipFile(backup) as old, zipfile.ZipFile(new, "w") as written:
        said = json.loads(old.read(MANIFEST))
        contents = {name: old.read(name) for name in old.namelist() if name != MANIFEST} | (files or {})
        contents = {name: data for name, data in contents.items() if data is not None}
        for name, data in contents.items():
            assert data is not None
            written.writestr(name, data)
        said["files"] = {name: hashlib.sha256(data or b"").hexdigest() for name, data in contents.items()}
        there = {name[len("tables/") : -len(".jsonl")] for name in contents if name.startswith("tables/")}
        said["rows"] = {name: count for name, count in (said["rows"] | (rows or {})).items() if name in there}
        written.writestr(MANIFEST, json.dumps(said))
    return new


def table(backup: Path, name: str, **values: Any) -> dict[str, bytes | None]:
    """A table of the backup with other values in its first row."""
    with zipfile.ZipFile(backup) as old:
        first, *others = old.read(f"tables/{name}.jsonl").splitlines()
    return {f"tables/{name}.jsonl": b"\n".join([json.dumps(json.loads(first) | values).encode(), *others]) + b"\n"}


def is_empty(database: str | Path) -> bool:
    if not isinstance(database, str):
        return not database.exists()
    engine = writing_engine(database_url(database))
    with engine.connect() as connection:
        found = sa.inspect(connection).get_table_names()
    engine.dispose()
    return not found


def test_a_restore_that_fails_leaves_neither_folder_nor_rows(
    backup: Path,
    new_database: NewDatabase,
    tmp_path: Path,
) -> None:
    there = new_database()
    (tmp_path / "empty").mkdir()
    for files, reason in (
        (table(backup, "study", fingerprint="0" * 64), "not those that its answers are about"),
        (table(backup, "answers", appearance_id=99_999), "refers to a row|the database cannot be restored"),
        (table(backup, "answers", answer="perhaps"), "the database cannot be restored"),
    ):
        for folder in ("again", "empty"):
            said = fairwise("restore", forged(backup, files), tmp_path / folder, *at(there), code=1).stderr
            assert any(part in said for part in reason.split("|"))
            assert is_empty(there)
        assert not (tmp_path / "again").exists()
        assert list((tmp_path / "empty").iterdir()) == []
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    fairwise("restore", backup, tmp_path / "again", *at(there))


def test_what_is_wrong_is_said_and_not_that_the_backup_is_damaged(
    backup: Path,
    new_database: NewDatabase,
    tmp_path: Path,
) -> None:
    taken = new_database()
    change(taken, sa.text("CREATE TABLE theirs (x INTEGER)"))
    for database, reason in (
        (taken, "is not empty: it has a table 'theirs' already"),
        ("postgresql://127.0.0.1:1/nowhere", "the database cannot be restored"),
        ("nosql://somewhere", "no such database"),
    ):
        said = fairwise("restore", backup, tmp_path / "again", *at(database), code=1).stderr
        assert reason in said
        assert "not a backup" not in said
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("version", ["9999", "head", "heads", "base", "", "-1", "0"])
def test_versions_that_we_do_not_know(backup: Path, tmp_path: Path, version: str) -> None:
    new = tmp_path / "new.zip"
    with zipfile.ZipFile(backup) as old, zipfile.ZipFile(new, "w") as written:
        for name in old.namelist():
            data = old.read(name)
            if name == MANIFEST:
                data = json.dumps(json.loads(data) | {"tables_version": version}).encode()
            written.writestr(name, data)
    said = fairwise("restore", new, tmp_path / "again", code=1).stderr
    assert said.startswith(f"fairwise: {new}: The database was made by a newer Fairwise")


def test_only_what_a_backup_holds_is_taken(backup: Path, tmp_path: Path) -> None:
    """Whoever forges a backup can make up answers, but plants nothing beside them."""
    for name in ("study/notes.md", "study/study.sqlite", "study/study.xx.toml", "study/jobs/1/notes.json"):
        said = fairwise("restore", forged(backup, {name: b""}), tmp_path / "again", code=1).stderr
        assert f"'{name}' does not belong in a backup" in said
    name = "study/jobs/7/summary.json"  # of a fit that there is not
    said = fairwise("restore", forged(backup, {name: b"{}"}), tmp_path / "again", code=1).stderr
    assert f"'{name}' does not belong in a backup" in said
    for name in ("sessions", "theirs", "alembic_version"):
        new = forged(backup, {f"tables/{name}.jsonl": ROWS}, rows={name: 1})
        said = fairwise("restore", new, tmp_path / "again", code=1).stderr
        assert f"'{name}' is not a table of a backup" in said
    for name in ("participants", "answers", "repeats"):
        said = fairwise("restore", forged(backup, {f"tables/{name}.jsonl": None}), tmp_path / "again", code=1).stderr
        assert f"the table '{name}' is missing" in said
    assert not (tmp_path / "again").exists()


def test_no_value_of_a_row_is_a_bug(backup: Path, new_database: NewDatabase, tmp_path: Path) -> None:
    there = new_database()
    deep: dict[str, bytes | None] = {"tables/answers.jsonl": b"[" * 100_000 + b"\n"}
    for files in (
        deep,
        table(backup, "participants", number=2**70),
        table(backup, "answers", why="\ud800"),
        table(backup, "answers", answered_at="yesterday"),
        table(backup, "participants", token_hash="*"),
    ):
        said = fairwise("restore", forged(backup, files), tmp_path / "again", *at(there), code=1).stderr
        assert "this is a bug" not in said
        assert is_empty(there)


def test_a_backup_that_swells_is_refused_before_it_is_unpacked(
    backup: Path,
    study: StudyFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(reason: str) -> None:
        assert reason in fairwise("restore", backup, tmp_path / "again", code=1).stderr
        assert not (tmp_path / "again").exists()

    for module, limit, value, reason in (
        (backups, "BACKUP", replace(BACKUP, most_bytes=50), "when unpacked"),
        (container, "_LONGEST_LIST", 50, "larger than any"),
        (backups, "_LONGEST_ROW", 50, "line 1 is not a row"),
    ):
        with monkeypatch.context() as small:
            small.setattr(module, limit, value)
            refused(reason)
    monkeypatch.setattr(
        backups, "BACKUP", replace(BACKUP, most_bytes=1000)
    )  # nor is one taken that could not be restored
    too_large = fairwise("backup", study.path, "--out", tmp_path / "large.zip", code=1)
    assert "more than a backup can hold" in too_large.stderr
    assert not (tmp_path / "large.zip").exists()


def test_files_are_read_in_pieces(backup: Path, study: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_CHUNK", 10)
    with open_backup(backup) as opened:
        pieces = list(opened.study_files()["task.md"])
    assert max(map(len, pieces)) == 10
    assert b"".join(pieces) == (study.path / "task.md").read_bytes()


def test_the_last_words_say_where_the_answers_are(
    study: StudyFolder, new_database: NewDatabase, tmp_path: Path
) -> None:
    here, there, file = new_database(), new_database(), tmp_path / "backup.zip"
    with visiting(study, here) as visit:
        visit.begin()
    fairwise("backup", study.path, "--out", file, *at(here))
    said = fairwise("restore", file, tmp_path / "again", *at(there)).stdout
    assert said.endswith(f"serve {tmp_path / 'again'} with the same --database.\n")
    assert "--database" not in fairwise("restore", file, tmp_path / "inside").stdout
