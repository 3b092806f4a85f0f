"""`fairwise demo`: everything it names is there, and nothing is left running."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from shlex import quote
from typing import TYPE_CHECKING

import pytest

from fairwise.cli import demo
from fairwise.jobs.runner import start_jobs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result


@pytest.mark.slow
def test_the_whole_way(tmp_path: Path, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_PEOPLE", 3)
    home = tmp_path / "study"
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]  # taken, so that another one is used
        # Nobody is at a terminal, so that it ends by itself.
        said = run("demo", "--out", home, "--port", port, "--gamma", 0.2).stdout
    assert "3 simulated people, each with one of 5 principles" in said
    assert "All 3 went through the study's pages, from consent to receipt: 150 answers" in said
    assert "no real people are asked" in said
    assert re.search(r"These simulated people agree .*\nKrippendorff's alpha", said)
    assert re.search(r"Following what 3 simulated people asked for costs -?\d+\.\d more wrong decisions in 100", said)
    [command] = re.findall(rf"Serve it with +(.*) serve {home}", said)
    answered = subprocess.run([*command.split(), "--version"], capture_output=True, text=True, check=True)
    assert answered.stdout.startswith("fairwise ")
    report = re.search(r"The report +(\S+)", said)
    assert report is not None
    assert report[1] == str(home / "jobs" / "1" / "report.html")
    summary = json.loads((home / "jobs" / "1" / "summary.json").read_text(encoding="utf-8"))
    assert (summary["settings"]["gamma"], summary["judges"], summary["answers"]) == (0.2, 3, 132)
    assert (home / "jobs" / "1" / "report.html").stat().st_size > 10_000
    assert "3 simulated people" in " ".join((home / "jobs" / "1" / "report.html").read_text(encoding="utf-8").split())


def test_what_to_type_is_said_as_it_can_be_typed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "which", lambda _: None)
    monkeypatch.setattr("sys.argv", [".venv/bin/fairwise", "demo"])
    assert demo.typed_program() == ".venv/bin/fairwise"
    monkeypatch.setattr("sys.argv", ["src/fairwise/__main__.py", "demo"])
    assert demo.typed_program() == f"{quote(sys.executable)} -m fairwise"
    monkeypatch.setattr(demo, "which", lambda name: f"/usr/bin/{name}")
    assert demo.typed_program() == "fairwise"


def test_on_a_busy_machine_the_model_does_not_wait_for_everything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []

    class StartedError(Exception):
        pass

    def start(words: list[str], *, env: dict[str, str], **_: object) -> None:
        started.append((words, env))
        raise StartedError

    monkeypatch.setattr("subprocess.Popen", start)
    with pytest.raises(StartedError), demo.serving_study(tmp_path / "study", 8000):
        pass
    [(_, environment)] = started
    monkeypatch.setattr("os.environ", environment)  # the server's, which starts what makes models
    with pytest.raises(StartedError):
        start_jobs(tmp_path, "database", None)
    monkeypatch.setattr("os.environ", {})
    with pytest.raises(StartedError):
        start_jobs(tmp_path, "database", None)
    assert ["--equal" in words for words, _ in started[1:]] == [True, False]


def test_a_folder_that_cannot_be_made_is_refused_at_once(tmp_path: Path, run: Callable[..., Result]) -> None:
    assert "there is no such folder" in run("demo", "--out", tmp_path / "no" / "where", code=1).stderr
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    assert "not empty" in run("demo", "--out", tmp_path / "full", code=1).stderr
