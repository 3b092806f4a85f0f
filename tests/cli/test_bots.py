"""`fairwise bots` from the command line: what it refuses. That it works is in test_serve.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result


@pytest.fixture
def home(study: Study, run: Callable[..., Result]) -> Path:
    run("study", "new", study.folder / "s", *study.who, "--show", "town,age")
    return study.folder / "s"


def test_other_machines_are_left_alone(home: Path, run: Callable[..., Result]) -> None:
    for url in ("http://example.org", "http://127.0.0.1@example.org:80/"):
        assert "--allow-remote" in run("bots", home, "--url", url, code=1).stderr


def test_nothing_is_served_there(home: Path, run: Callable[..., Result]) -> None:
    said = run("bots", home, "--url", "http://127.0.0.1:9", "--count", 3, code=1).stderr
    assert "nothing answers there; start the study with: fairwise serve" in said


def test_who_comes_back_needs_a_link(home: Path, run: Callable[..., Result]) -> None:
    links = home.parent / "links.json"
    assert "give --links" in run("bots", home, "--round", 2, code=1).stderr
    assert "links.json: cannot be read" in run("bots", home, "--round", 2, "--links", links, code=1).stderr
    assert "must end in .json" in run("bots", home, "--links", home.parent / "links.txt", code=1).stderr
    links.write_text('{"simulated-01": "http://127.0.0.1:9/p/x"}')
    said = run("bots", home, "--round", 2, "--links", links, "--url", "http://127.0.0.1:9", code=1).stderr
    assert "nothing answers there" in said
    elsewhere = run("bots", home, "--round", 2, "--links", links, "--url", "http://127.0.0.1:10", code=1).stderr
    assert "another site" in elsewhere


def test_wrong_usage(home: Path, run: Callable[..., Result]) -> None:
    for words in (
        ["--count", 0],
        ["--speed", "slow"],
        ["--concurrency", 0],
        ["--seed", -1],
        ["--round", 3],
        ["--persuasion", 2],
    ):
        run("bots", home, *words, code=2)
    run("bots", home.parent / "nothing", code=1)
