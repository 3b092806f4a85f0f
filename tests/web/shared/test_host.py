"""What is served, whatever else lies in its folder; and the secret that everything follows from."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient
from tests.support.operating import operating

from fairwise.errors import InputError
from fairwise.store import places
from fairwise.study.folder import SECRET, SECRET_BYTES
from fairwise.web.app import Site
from fairwise.web.shared.host import Host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairwise.study.folder import StudyFolder


@pytest.fixture
def study(make_study: Any) -> StudyFolder:
    study: StudyFolder = make_study()
    return study


@pytest.fixture
def at_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Host, "is_due", True)


@pytest.mark.usefixtures("at_every_request")
def test_what_an_editor_leaves_beside_a_file_stops_nobody(study: StudyFolder) -> None:
    """Emacs marks a file that it has open by a link that leads nowhere."""
    database = study.path / "study.sqlite"
    (study.path / ".#study.toml").symlink_to("someone@somewhere.4711")
    with TestClient(Site(study.path, database)) as client:
        assert client.get("/").status_code == 200
        (study.path / ".#task.md").symlink_to("someone@somewhere.4711")
        (study.path / "consent.xx.md").symlink_to("nowhere")
        assert client.get("/").status_code == 200


def test_only_files_that_a_study_reads_make_it_be_read_again(study: StudyFolder) -> None:
    with closing(Host(study.path, study.path / "study.sqlite")) as host:
        for name in ("notes.md", ".task.md", "task.md~", "other.parquet"):
            (study.path / name).write_text("anything")
            assert not host.refresh(), name
        (study.path / "task.md").write_text("Look at both, and say what you think.")
        assert host.refresh()


@pytest.mark.usefixtures("at_every_request")
@pytest.mark.parametrize("error", [PermissionError("no"), RuntimeError("what")])
def test_a_folder_that_cannot_be_looked_at_is_served_on_and_said_once(
    study: StudyFolder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fails(_host: Host) -> bool:
        raise error

    with TestClient(Site(study.path, study.path / "study.sqlite")) as client, caplog.at_level(logging.ERROR):
        monkeypatch.setattr(Host, "refresh", fails)
        assert [client.get(path).status_code for path in ("/", "/", "/admin/login")] == [200] * 3
    assert [str(error) in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.parametrize("length", [0, SECRET_BYTES - 1])
def test_a_short_secret_is_refused_also_before_there_is_a_study(tmp_path: Path, length: int) -> None:
    """Otherwise anybody could make the link by which the first account is made."""
    home = tmp_path / "study"
    home.mkdir()
    (home / SECRET).write_bytes(b"x" * length)
    with pytest.raises(InputError, match=f"{length} bytes; needed: at least {SECRET_BYTES}"):
        Host(home, home / "study.sqlite")


def test_a_secret_has_its_name_only_once_all_of_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, seen = tmp_path / "study", []
    fsync = os.fsync

    def synced(number: int) -> None:
        fsync(number)
        seen.append((os.fstat(number).st_size, (home / SECRET).exists()))

    monkeypatch.setattr(os, "fsync", synced)
    with closing(Host(home, tmp_path / "study.sqlite")):
        pass
    assert (SECRET_BYTES, False) in seen
    assert {file.name for file in home.iterdir()} == {SECRET, places.IDENTITY_FILE}
    assert stat.S_IMODE((home / SECRET).stat().st_mode) == 0o600
    kept = (home / SECRET).read_bytes()
    with closing(Host(home, tmp_path / "study.sqlite")):
        pass
    assert (home / SECRET).read_bytes() == kept


def modes(*folders: Path) -> dict[str, int]:
    """What may be done with the files that are nobody else's business."""
    found = (file for folder in folders for file in folder.iterdir())
    private = [file for file in found if file.name == SECRET or "sqlite" in file.name]
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in private}


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[Path]:
    """As a folder is made by hand: everyone may look into it."""
    before = os.umask(0o022)
    home = tmp_path / "study"
    home.mkdir()
    yield home
    os.umask(before)


@pytest.mark.parametrize("place", ["in the folder", "elsewhere"])
def test_nobody_else_opens_the_database_also_in_a_folder_that_everyone_may_open(
    open_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    where = open_folder / "study.sqlite" if place == "in the folder" else tmp_path / "answers.sqlite"
    names = {SECRET, ".attempts.sqlite", *(f"{where.name}{end}" for end in ("", "-wal", "-shm"))}
    for database in (where, f"sqlite:///{where}"):
        with operating(open_folder, database) as console:
            console.log_in("Ada")
            assert modes(open_folder, tmp_path) == dict.fromkeys(names, 0o600)
            for file in (*open_folder.iterdir(), *tmp_path.glob("*.sqlite*")):
                file.chmod(0o644)  # as an earlier version left them
            shutil.copy(f"{where}-wal", tmp_path / "kept")
        shutil.copy(tmp_path / "kept", f"{where}-wal")  # as after a crash
        assert caplog.messages == []
        with operating(open_folder, database) as console:
            console.log_in("Ada")
            assert modes(open_folder, tmp_path) == dict.fromkeys(names, 0o600)
        told = [message.partition(" could be opened by others")[0] for message in caplog.messages]
        assert {Path(one).name for one in told} >= names - {f"{where.name}-shm"}
        caplog.clear()


def test_a_file_of_somebody_else_is_served_and_said(
    open_folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Host(open_folder, open_folder / "study.sqlite")):
        pass
    (open_folder / "study.sqlite").chmod(0o640)

    def refuse(_file: Path, _mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    with closing(Host(open_folder, open_folder / "study.sqlite")):
        assert [message.endswith("cannot be changed: Operation not permitted") for message in caplog.messages] == [True]
