"""A study's folder knows its own database: an empty one, or another, is refused and left as it is."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url
from tests.support.operating import operating
from tests.support.visits import Visit, visiting
from typer.testing import CliRunner

from fairwise.archive.backup import take_backup
from fairwise.cli.app import app
from fairwise.errors import InputError
from fairwise.store.engine import database_url, writing_engine
from fairwise.store.places import IDENTITY_FILE
from fairwise.store.store import Store
from fairwise.store.study_state import set_state
from fairwise.web.shared.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.study.folder import StudyFolder


def address_of(database: str | Path) -> str:
    return database if isinstance(database, str) else f"sqlite:///{database}"


def state(folder: Path, database: str | Path) -> str:
    """Of the study as it is served from there; all is closed again, also where it should have been refused."""
    with closing(Host(folder, database)) as host:
        return host.standing.state


@pytest.fixture
def closed(study: StudyFolder, new_database: Callable[[], str | Path]) -> str | Path:
    """A database in which someone answered, and the study was closed."""
    database = new_database()
    with operating(study.path, database) as console:
        Visit(console.client).begin()
        console.site.host.store.change_now(lambda connection: set_state(connection, "closed"))
    return database


def tables(database: str | Path) -> list[str]:
    engine = writing_engine(database_url(database))
    with engine.connect() as connection:
        found = sa.inspect(connection).get_table_names()
    engine.dispose()
    return found


def test_a_closed_study_does_not_run_open_on_an_empty_database(study: StudyFolder, closed: str | Path) -> None:
    """As if `--database` had been forgotten at a restart."""
    here = study.path / "study.sqlite"
    with pytest.raises(
        InputError, match=r"study\.sqlite in its folder is empty, and not this study's database"
    ) as told:
        state(study.path, here)
    assert not here.exists(), "nothing is made"
    assert str(make_url(address_of(closed)).database) in str(told.value)
    assert state(study.path, closed) == "closed"


def test_an_empty_or_another_database_is_refused_and_left_as_it_is(
    study: StudyFolder, closed: str | Path, new_database: Callable[[], str | Path]
) -> None:
    empty = new_database()
    with pytest.raises(InputError, match=r"is empty, and not this study's database\. Its own is .*: give that"):
        state(study.path, empty)
    assert tables(empty) == []
    with visiting(study, empty) as visit:
        visit.begin()
    with pytest.raises(InputError, match=r" is not this study's database\. Its own is "):
        state(study.path, empty)
    state(study.path, closed)


def test_no_command_takes_another_database(study: StudyFolder, closed: str | Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    Store.open(other, study.fingerprint).close()
    for words in (
        ["serve", str(study.path), "--port", "0", "--no-jobs"],
        ["study", "links", str(study.path), "--url", "https://study.example", "--count", "1", "--out", "l.csv"],
        ["study", "participants", str(study.path)],
        ["study", "forget", str(study.path)],
        ["study", "ids", str(study.path), "--delete"],
        ["study", "operator", "add", str(study.path), "Eve"],
        ["study", "operator", "reset", str(study.path), "Eve"],
        ["export", str(study.path), "--out", str(tmp_path / "judgments.csv")],
        ["backup", str(study.path), "--out", str(tmp_path / "backup.zip")],
    ):
        told = CliRunner().invoke(app, [*words, "--database", address_of(other)])
        assert (told.exit_code, told.stderr.count("\n")) == (1, 1), told.stderr
        assert "not this study's database" in told.stderr
        assert address_of(other).rpartition("/")[2] in told.stderr
    told = CliRunner().invoke(app, ["study", "participants", str(study.path), "--database", address_of(closed)])
    assert told.exit_code == 0


def test_a_database_that_is_refused_is_not_recorded(study: StudyFolder, tmp_path: Path) -> None:
    """Given by mistake for a study that was never served: its own is taken later all the same."""
    with visiting(study, tmp_path / "first.sqlite") as visit:
        visit.begin()
    never_served = tmp_path / "never-served"
    never_served.mkdir()
    with pytest.raises(InputError, match="another study"):
        Store.open(tmp_path / "first.sqlite", "another", never_served)
    assert not (never_served / IDENTITY_FILE).exists()
    Store.open(tmp_path / "second.sqlite", "another", never_served).close()


def test_what_is_recorded_is_no_secret(study: StudyFolder, own_postgres: str) -> None:
    address = make_url(own_postgres).set(password="hunter2").render_as_string(hide_password=False)
    state(study.path, address)
    file = study.path / IDENTITY_FILE
    assert set(json.loads(file.read_text(encoding="utf-8"))) == {"database", "address"}
    assert "hunter2" not in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o077 == 0


def test_the_same_database_under_another_address_is_the_same(study: StudyFolder, tmp_path: Path) -> None:
    with operating(study.path, study.path / "study.sqlite") as console:
        Visit(console.client).begin()
    moved = tmp_path / "moved.sqlite"
    (study.path / "study.sqlite").rename(moved)
    state(study.path, moved)
    assert str(moved) in (study.path / IDENTITY_FILE).read_text(encoding="utf-8"), (
        "and the new one is what is told next time"
    )
    elsewhere = tmp_path / "copy"
    study.path.rename(elsewhere)
    state(elsewhere, moved)


def test_a_restored_study_is_served_and_the_old_folder_keeps_to_its_own(
    study: StudyFolder, closed: str | Path, new_database: Callable[[], str | Path], tmp_path: Path
) -> None:
    """From one database to another: the way that is documented."""
    take_backup(tmp_path / "b.zip", study, closed, with_secret=True)
    for name, database in (("a", new_database()), ("b", None)):
        words = ["--database", address_of(database)] if database is not None else []
        told = CliRunner().invoke(app, ["restore", str(tmp_path / "b.zip"), str(tmp_path / name), *words])
        assert told.exit_code == 0, told.output
        where = tmp_path / name / "study.sqlite" if database is None else database
        assert state(tmp_path / name, where) == "closed"
        with pytest.raises(InputError, match="is not this study's database"):
            state(study.path, where)
        with pytest.raises(InputError, match="is not this study's database"):
            state(tmp_path / name, closed)


def test_a_new_beginning_is_made_by_deleting_the_record(study: StudyFolder, closed: str | Path) -> None:
    (study.path / IDENTITY_FILE).unlink()
    with operating(study.path, study.path / "study.sqlite") as console:
        assert console.site.host.standing.state == "open"
        Visit(console.client).begin()
    with pytest.raises(InputError, match=r"Its own is study\.sqlite in its folder: leave --database out"):
        state(study.path, closed)


def test_a_study_with_fits_takes_no_empty_database_although_its_record_is_gone(
    study: StudyFolder, closed: str | Path
) -> None:
    (study.path / IDENTITY_FILE).unlink()
    (study.path / "jobs" / "1").mkdir(parents=True)
    with pytest.raises(InputError, match="there were models of this study before"):
        state(study.path, study.path / "study.sqlite")
    assert not (study.path / "study.sqlite").exists()
    assert state(study.path, closed) == "closed"
    assert json.loads((study.path / IDENTITY_FILE).read_text(encoding="utf-8"))["database"]


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"database": "x"}'])
def test_a_record_that_says_nothing_is_told_in_a_sentence(study: StudyFolder, text: str) -> None:
    (study.path / IDENTITY_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="does not say which database is this study's"):
        state(study.path, study.path / "study.sqlite")


def test_not_ready_on_another_database(study: StudyFolder, new_database: Callable[[], str | Path]) -> None:
    """Its address leads elsewhere while the study is served."""
    with operating(study.path, new_database()) as console:
        assert console.client.get("/readyz").text == "ready"
        other = sa.text("UPDATE database_identity SET value = 'another'")
        console.site.host.store.change_now(lambda connection: connection.execute(other))
        told = console.client.get("/readyz")
    assert (told.status_code, told.text) == (503, "the database is not the one that this study began with")
