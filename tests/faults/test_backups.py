"""A backup holds everything that participants and operators need to go on; damaged, it is refused in one line."""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.visits import Visit, hidden, visiting
from typer.testing import CliRunner

from fairwise.archive.backup import MANIFEST
from fairwise.archive.container import STUDY
from fairwise.cli.app import app
from fairwise.store.engine import database_url, writing_engine
from fairwise.store.schema import (
    answers,
    appearances,
    closings,
    invitations,
    jobs,
    operators,
    participants,
    rooms,
    sessions,
    withdrawals,
)
from fairwise.store.schema import study as study_table
from fairwise.study.folder import SECRET, StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

    NewDatabase = Callable[[], str | Path]

WHEN = "2026-01-02 03:04:05"


def fairwise(*words: Any, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    if code:
        assert result.stderr.count("\n") == 1
        assert result.stderr.startswith("fairwise: ")
    return result


def at(database: str | Path) -> list[str]:
    return ["--database", f"sqlite:///{database}" if isinstance(database, Path) else database]


def change(database: str | Path, *statements: sa.Executable) -> None:
    engine = writing_engine(database_url(database))
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(statement)
    engine.dispose()


def everything(address: str | Path) -> dict[str, list[dict[str, Any]]]:
    """What participants answered, by table."""
    engine = writing_engine(database_url(address))
    tables = (participants, appearances, answers, closings, withdrawals, study_table)
    with engine.connect() as connection:
        queries = {table.name: sa.select(table).order_by(*table.primary_key) for table in tables}
        rows = {name: [dict(row) for row in connection.execute(query).mappings()] for name, query in queries.items()}
    engine.dispose()
    return rows


def finished(visit: Visit, mine: str) -> str:
    """Answer what is open and end; returns the page with the receipt."""
    for number in (1, 2, 3):
        visit.answer(mine, number, "no_constraint")
    page = visit.get(f"{mine}/closing")
    return visit.post(f"{mine}/closing", **hidden(page), rules="", expressible="", comments="").text


def receipt(page: str) -> str:
    return page.partition('<dd class="code">')[2].partition("<")[0]


@pytest.mark.parametrize("with_secret", [True, False])
def test_the_study_goes_on_with_the_same_links(
    study: StudyFolder, new_database: NewDatabase, tmp_path: Path, with_secret: bool
) -> None:
    here, there, file = new_database(), new_database(), tmp_path / "backup.zip"
    with visiting(study, here) as visit:
        done, begun = visit.begin(), visit.begin()
        code = receipt(finished(visit, done))
        visit.answer(begun, 1, "same")
        job = study.path / "jobs" / "1"
        job.mkdir(parents=True)
        (job / "summary.json").write_text("{}")
        made = sa.text(f"'{WHEN}'")
        change(
            here,
            sa.insert(rooms).values(name="r", code="R1", made_at=made),
            sa.insert(invitations).values(name="Ada", token_hash=b"\0" * 32, made_at=made),
            sa.insert(operators).values(name="Ada", password_hash="x", role="owner", made_at=made),
            sa.insert(sessions).values(token_hash=b"\1" * 32, operator_id=1, begun_at=made, used_at=made),
            sa.insert(jobs).values(made_at=made, made_by="Ada", settings="{}", state="done", message=""),
        )
        fairwise("backup", study.path, "--out", file, *at(here), *(["--with-secret"] if with_secret else []))
        counts = {table: visit.rows(table) for table in (rooms, invitations, operators, jobs)}
    assert (file.stat().st_mode & 0o777) == 0o600
    assert (f"{STUDY}{SECRET}" in zipfile.ZipFile(file).namelist()) is with_secret

    fairwise("restore", file, tmp_path / "again", *at(there))
    again = StudyFolder.open(tmp_path / "again")
    assert again.fingerprint == study.fingerprint
    assert (again.secret == study.secret) is with_secret
    assert (again.path / "jobs" / "1" / "summary.json").read_text() == "{}"
    assert ((again.path / SECRET).stat().st_mode & 0o777) == 0o600
    assert everything(there).keys() == everything(here).keys()
    for name in ("participants", "appearances", "answers", "closings"):
        assert everything(there)[name] == everything(here)[name]
    with visiting(again, there) as visit:
        assert {table: visit.rows(table) for table in counts} == counts
        assert visit.rows(sessions) == 0
        assert (receipt(visit.get(f"{done}/thanks").text) == code) is with_secret
        assert visit.get(begun).url.path.endswith("/pair/2")
        assert "Thank you" in finished(visit, begun)
        assert "Thank you" in finished(visit, visit.begin())  # nobody is given a number or an id again
        assert len(visit.exported()) == 9


def test_from_one_database_to_the_other(study: StudyFolder, new_database: NewDatabase, tmp_path: Path) -> None:
    here, file = new_database(), tmp_path / "backup.zip"
    with visiting(study, here) as visit:
        mine = visit.begin()
        visit.answer(mine, 1, "same")
    fairwise("backup", study.path, "--out", file, *at(here))
    fairwise("restore", file, tmp_path / "again")  # SQLite in the folder
    assert everything(tmp_path / "again" / "study.sqlite") == everything(here)
    fairwise("backup", tmp_path / "again", "--out", file)
    there = new_database()
    fairwise("restore", file, tmp_path / "and-again", *at(there))
    assert everything(there) == everything(here)


def test_what_is_there_is_not_overwritten(
    backup: Path, study: StudyFolder, new_database: NewDatabase, tmp_path: Path
) -> None:
    assert "not empty" in fairwise("restore", backup, study.path, code=1).stderr
    taken = new_database()
    change(taken, sa.text("CREATE TABLE theirs (x INTEGER)"))
    assert "has a table 'theirs'" in fairwise("restore", backup, tmp_path / "again", *at(taken), code=1).stderr
    assert not (tmp_path / "again").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    (tmp_path / "empty").mkdir()
    fairwise("restore", backup, tmp_path / "empty")


def test_damage_is_one_line_and_leaves_nothing(backup: Path, tmp_path: Path) -> None:
    whole, chance = backup.read_bytes(), random.Random(0)
    broken = tmp_path / "broken.zip"
    damaged = [b"", b"no backup", whole[: len(whole) // 2], whole[:-1]]
    for _ in range(60):
        at_byte = chance.randrange(len(whole))
        damaged.append(whole[:at_byte] + bytes([whole[at_byte] ^ 1 << chance.randrange(8)]) + whole[at_byte + 1 :])
    refused = 0
    for data in damaged:
        broken.write_bytes(data)
        result = CliRunner().invoke(app, ["restore", str(broken), str(tmp_path / "again")])
        if result.exit_code:  # some bits of a zip file say nothing, such as the time of a file
            refused += 1
            assert result.stderr.count("\n") == 1
            assert "this is a bug" not in result.stderr
            assert not (tmp_path / "again").exists()
        else:
            assert everything(tmp_path / "again" / "study.sqlite")["answers"][0]["answer"] == "same"
            shutil.rmtree(tmp_path / "again")
    assert refused > len(damaged) / 2
    assert "there is no such file" in fairwise("restore", tmp_path / "x.zip", tmp_path / "again", code=1).stderr


def test_what_does_not_belong_there_is_refused(backup: Path, tmp_path: Path) -> None:
    def changed(reason: str, files: dict[str, bytes | None] | None = None, **manifest: Any) -> None:
        new = tmp_path / "new.zip"
        with zipfile.ZipFile(backup) as old, zipfile.ZipFile(new, "w") as archive:
            said = json.loads(old.read(MANIFEST))
            contents: dict[str, bytes | None] = {name: old.read(name) for name in old.namelist() if name != MANIFEST}
            contents |= files or {}
            for name, data in contents.items():
                if data is not None:
                    archive.writestr(name, data)
            archive.writestr(MANIFEST, json.dumps(said | manifest))
        assert reason in fairwise("restore", new, tmp_path / "again", code=1).stderr
        assert not (tmp_path / "again").exists()

    changed("does not belong", {"study/../../evil": b""})
    changed("does not belong", {"/evil": b""})
    changed("does not belong", {"study/.hidden": b""})
    changed("was added", {"study/more.md": b""})
    changed("is missing", {"study/task.md": None})
    changed("task.md is damaged", {"study/task.md": b"other"})
    changed("newer Fairwise", tables_version="9999")
    changed("of format 2", format=2)
    rows = json.loads(zipfile.ZipFile(backup).read(MANIFEST))["rows"]
    changed("rows of answers, but there were 5", rows=rows | {"answers": 5})
    changed("counts the rows of other tables", rows={})
    changed("not those that its answers are about", fingerprint="x")


def test_where_it_cannot_be_written(study: StudyFolder, tmp_path: Path) -> None:
    assert "nobody has been asked yet" in fairwise("backup", study.path, "--out", tmp_path / "b.zip", code=1).stderr
    assert not (tmp_path / "b.zip").exists()
    assert "must end in .zip" in fairwise("backup", study.path, "--out", tmp_path / "b.tar", code=1).stderr
