"""Command lines of any words: done, could not be done, or wrong usage, each in a line; never a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import typer
from tests.support.mutations import EVIL, damaged_table, evil
from tests.support.tried import Tried, how_many, patience, rng_of
from typer.testing import CliRunner

from fairwise.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
# Those that would serve, ask the network, or compute for minutes, if all words happened to be right.
LEFT_OUT = {"serve", "demo", "bots"}


def every_command() -> dict[tuple[str, ...], list[str]]:
    """Each command with its options."""
    found: dict[tuple[str, ...], Any] = {(name,): command for name, command in COMMANDS.items()}
    found |= {("study", name): command for name, command in COMMANDS["study"].commands.items()}
    return {
        words: [option for parameter in command.params for option in parameter.opts if option.startswith("-")]
        for words, command in found.items()
        if words[0] not in LEFT_OUT
    }


def words_of(rng: Random, files: list[str]) -> list[str]:
    commands = every_command()
    command = rng.choice(list(commands))
    options = commands[command] or ["--help"]
    others = ("id", "1", "--", "-h")
    more = [
        rng.choice((rng.choice(options), rng.choice(files), evil(rng), rng.choice(others)))
        for _ in range(rng.choice((0, 1, 2, 4, 8)))
    ]
    words = [*command, *more]
    return [word.replace("\x00", "\ufffd") for word in words if word not in ("--dask", "--debug")]


def needed(rng: Random, folder: Path) -> list[str]:
    """A command with everything it needs, and one value in it that is bad."""
    people, said = folder / "people.csv", folder / "judgments.csv"
    who = {"--people": str(people), "--id": "person"}
    judged = {"--judgments": str(said)}
    fit = {
        **who,
        **judged,
        "--outcome": "returned",
        "--favorable-label": "1",
        "--estimator": "tree",
        "--max-depth": "1",
    }
    lines: list[tuple[list[str], dict[str, str]]] = [
        (["check"], {**who, **judged}),
        (["fit"], {**fit, "--out": str(folder / "m.skops")}),
        (["audit"], {"--scores": str(folder / "scores.csv"), "--id": "person", **judged, "--favorable-label": "1"}),
        (["study", "new", str(folder / "new")], {**who, "--show": "age,town", "--pairs": "3"}),
        (["predict"], {**who, "--model": str(said), "--out": str(folder / "s.csv")}),
    ]
    command, options = rng.choice(lines)
    options[rng.choice(list(options))] = rng.choice((rng.choice(EVIL), evil(rng))).replace("\x00", "\ufffd")
    return [*command, *(word for pair in options.items() for word in pair)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"person": [f"p{k}" for k in range(20)], "age": rng.integers(18, 60, 20)})
    people["town"], people["returned"] = rng.choice(["Aa", "Be"], 20), rng.integers(0, 2, 20)
    people.to_csv(tmp_path / "people.csv", index=False)
    people.assign(score=0.5)[["person", "score"]].to_csv(tmp_path / "scores.csv", index=False)
    rows = [{"judge": "j", "a": f"p{k}", "b": f"p{k + 1}", "answer": "same"} for k in range(6)]
    pd.DataFrame(rows).to_csv(tmp_path / "judgments.csv", index=False)
    return tmp_path


@pytest.mark.slow
def test_any_words(tried: Tried, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NO_COLOR", "1")
    files = [str(file) for file in folder.iterdir()] + ["none.csv", str(folder), "postgresql://127.0.0.1:1/x"]
    for number in range(how_many(100)):
        rng = rng_of("command", number)
        words = needed(rng, folder) if rng.random() < 0.4 else words_of(rng, files)
        if tried.is_new("\n".join(words).encode(errors="replace")):
            run(words, tried)
    good = [
        "check",
        "--people",
        str(folder / "people.csv"),
        "--id",
        "person",
        "--judgments",
        str(folder / "judgments.csv"),
    ]
    assert CliRunner().invoke(app, good).exit_code == 0


@pytest.mark.slow
def test_bad_tables_in_commands(tried: Tried, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    valid = {name: (folder / name).read_bytes() for name in ("people.csv", "judgments.csv", "scores.csv")}
    for number in range(how_many(60)):
        rng = rng_of("tables", number)
        name = rng.choice(list(valid))
        bad = damaged_table(valid[name], rng)
        if not tried.is_new(name.encode() + bad):
            continue
        (folder / name).write_bytes(bad)
        words = ["check", "--people", "people.csv", "--id", "person", "--judgments", "judgments.csv"]
        if name == "scores.csv":
            words = [
                "audit",
                "--scores",
                name,
                "--id",
                "person",
                "--judgments",
                "judgments.csv",
                "--favorable-label",
                "1",
            ]
        run(words, tried)
        (folder / name).write_bytes(valid[name])


def run(words: list[str], tried: Tried) -> None:
    with patience():
        result = CliRunner().invoke(app, words)
    said = f"{result.exit_code} of {words}: {result.stderr[-2000:]} {result.exception!r}"
    assert result.exit_code in (0, 1, 2), said
    assert "Traceback" not in result.output, said
    assert "this is a bug" not in result.stderr, said
    if result.exit_code:
        assert result.stderr.strip() or "Usage" in result.stdout, said
    else:
        tried.taken += 1
