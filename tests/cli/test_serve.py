"""`fairwise serve` as a process of its own, answered by `fairwise bots`, read by `fairwise export`."""

from __future__ import annotations

import re
import signal
import socket
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from tests.support.served_process import announced, served

from fairwise.judgments import Judgments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result


@pytest.fixture
def home(study: Study, run: Callable[..., Result]) -> Path:
    run("study", "new", study.folder / "s", *study.who, "--show", "town,age,score", "--pairs", 3)
    return study.folder / "s"


@pytest.mark.slow
def test_serve_bots_export(home: Path, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]) -> None:
    out = home.parent / "judgments.csv"
    with served(home) as (url, process):
        printed = answer("bots", home, "--url", url, "--count", 2)
        assert (printed["url"], printed["finished"], printed["answers"]) == (url, 2, 6)
        assert list(printed["receipts"]) == ["simulated-01", "simulated-02"]
        run("export", home, "--out", out)  # while it is served
        page = httpx2.get(url, trust_env=False)
        assert page.status_code == 200
        assert "server" not in page.headers
        said = run("bots", home, "--url", url, "--count", 1, "--seed", 1, "--concurrency", 1).stdout
        assert said.startswith("1 simulated person finished with 3 answers in ")
        assert "simulated-01" in said
    stdout, stderr = process.stdout, process.stderr
    assert stdout is not None
    assert stderr is not None
    assert Judgments.read(out).judges == ["p00001", "p00002"]
    run("export", home, "--out", out)
    assert Judgments.read(out).n_judges == 3


@pytest.mark.slow
def test_what_is_unfinished_is_said_and_stopping_is_no_failure(home: Path) -> None:
    with served(home) as (url, process):
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert "To be filled in before anyone is asked: consent.md" in said
    assert f"Open {url}/" in said
    assert "Traceback" not in said


def test_refusals(home: Path, run: Callable[..., Result]) -> None:
    for words, reason in (
        (["--workers", 2], "--database postgresql://"),
        (["--prefix", "study"], "must be a path"),
        (["--prefix", "/study/"], "must be a path"),
    ):
        assert reason in run("serve", home, *words, code=1).stderr
    run("serve", home.parent / "nothing" / "here", code=1)
    (home.parent / "photos").mkdir()
    (home.parent / "photos" / "a.jpg").write_bytes(b"")
    assert "holds other things" in run("serve", home.parent / "photos", code=1).stderr
    assert "is a file" in run("serve", home / "study.toml", code=1).stderr
    run("serve", home, "--port", 70000, code=2)


def test_refusals_of_several(home: Path, run: Callable[..., Result]) -> None:
    several = home.parent
    assert "is a study itself" in run("serve", home, "--several", code=1).stderr
    assert "no such folder" in run("serve", several / "nothing", "--several", code=1).stderr
    one_for_all = run("serve", several, "--several", "--database", "postgresql://host/one", code=1).stderr
    assert "a database of its own" in one_for_all
    assert "{name}" in one_for_all
    assert "--several" in run("serve", several, code=1).stderr  # which it could have meant


@pytest.mark.slow
def test_several_studies(home: Path, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]) -> None:
    """Each is answered by simulated people, exported and backed up for itself; one is broken, one yet to be made."""
    several = home.parent / "several"
    several.mkdir()
    home.rename(several / "loans")
    run("restore", _backup(run, several / "loans"), several / "parole")
    (several / "new").mkdir()
    (several / "broken").mkdir()
    (several / "broken" / "study.toml").write_text("pairs = many", encoding="utf-8")
    with served(several, "--several") as (url, process):
        for name, count in (("loans", 2), ("parole", 1)):
            printed = answer("bots", several / name, "--url", f"{url}/{name}", "--count", count)
            assert printed["finished"] == count
            run("backup", several / name, "--out", several / f"{name}.zip")
            run("export", several / name, "--out", several / f"{name}.csv")
            assert Judgments.read(several / f"{name}.csv").n_judges == count
        get = partial(httpx2.get, trust_env=False)
        assert [get(f"{url}/{name}/readyz").status_code for name in ("loans", "parole", "new")] == [200, 200, 200]
        assert get(f"{url}/broken/").status_code == 503
        assert get(f"{url}/readyz").status_code == 200
        assert "no study here yet" in get(f"{url}/new/").text
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "Traceback" not in said
    assert f"new: No account yet. Make the first one, by which you can log in: {url}/new/admin/setup/" in said
    assert "broken: cannot be served" in said
    assert f"loans: {url}/loans/" in said


def _backup(run: Callable[..., Result], study: Path) -> Path:
    with served(study, "--no-jobs"):
        pass
    run("backup", study, "--out", study.parent / "before.zip")
    return study.parent / "before.zip"


def test_a_port_in_use_is_said_in_one_line(home: Path, run: Callable[..., Result]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        told = run("serve", home, "--port", other.getsockname()[1], code=1).stderr
    assert told.count("\n") == 1
    assert "listens there already" in told


@pytest.mark.slow
def test_any_port_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """The real port is said, and a link for the first account while there is none."""
    home = tmp_path / "new"
    with announced(home, "--no-jobs") as server:
        console = re.search(r"Console: (\S+)", server.log)
        assert console is not None
        assert server.link.startswith(console[1] + "/setup/")
        page = httpx2.get(server.link, trust_env=False)
        assert page.status_code == 200
        assert "first account" in page.text
    assert {file.name for file in home.iterdir()} >= {"secret.key", "study.sqlite"}


def test_a_database_that_cannot_be_used_is_told_without_a_traceback(home: Path, run: Callable[..., Result]) -> None:
    (home / "study.sqlite").write_bytes(b"not a database" * 100)
    told = run("serve", home, "--port", 0, code=1).stderr
    assert "the database cannot be used" in told
    assert "Traceback" not in told


@pytest.mark.slow
def test_a_database_in_the_environment_is_nobodys_wish(
    home: Path, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is announced, what is served and what fits read is one database: that of the command."""
    monkeypatch.setenv("FAIRWISE_DATABASE", f"sqlite:///{home.parent / 'another.sqlite'}")
    with served(home, "--no-jobs") as (url, _):
        run("bots", home, "--url", url, "--count", 1)
    assert not (home.parent / "another.sqlite").exists()
    run("export", home, "--out", home.parent / "judgments.csv")
    assert Judgments.read(home.parent / "judgments.csv").n_judges == 1


def test_an_address_with_a_port_that_is_no_number_is_no_bug(home: Path, run: Callable[..., Result]) -> None:
    told = run("serve", home, "--port", 0, "--database", "postgresql://u:secret@127.0.0.1:x/x", code=1).stderr
    assert "the port in it is not a number" in told
    assert "bug" not in told
    assert "secret" not in told
