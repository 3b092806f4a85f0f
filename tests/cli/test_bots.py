"""`fairwise bots` from the command line: what it refuses. That it works is in test_serve.py."""

from __future__ import annotations

import sys
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


def test_wrong_usage(home: Path, run: Callable[..., Result]) -> None:
    for words in (["--count", 0], ["--speed", "slow"], ["--concurrency", 0], ["--seed", -1]):
        run("bots", home, *words, code=2)
    run("bots", home.parent / "nothing", code=1)


def test_without_the_extra_it_says_what_to_install(
    home: Path, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("browser", "participant"):
        monkeypatch.delitem(sys.modules, f"fairwise.bots.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    for words in (["bots", home], ["demo", "--out", home.parent / "demo", "--no-serve"]):
        assert "pip install 'fairwise[bots]'" in run(*words, code=1).stderr
    assert not (home.parent / "demo").exists()
