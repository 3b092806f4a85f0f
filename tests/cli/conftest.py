"""A small study in files, and the command run on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fairwise.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result


@dataclass(frozen=True)
class Study:
    """Sixty people, four judges with ten pairs each, and the arguments that name them."""

    folder: Path

    @property
    def people(self) -> Path:
        return self.folder / "people.csv"

    @property
    def judgments(self) -> Path:
        return self.folder / "judgments.csv"

    def people_frame(self) -> pd.DataFrame:
        return pd.read_csv(self.people)

    def judgments_frame(self) -> pd.DataFrame:
        return pd.read_csv(self.judgments)

    @property
    def files(self) -> list[str]:
        return [*self.who, "--outcome", "returned", "--judgments", str(self.judgments)]

    @property
    def who(self) -> list[str]:
        return ["--people", str(self.people), "--id", "person"]

    @property
    def to_fit(self) -> list[str]:
        return [*self.files, "--favorable-label", "1", "--estimator", "tree", "--max-depth", "1"]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    rng = np.random.default_rng(0)
    n = 60
    people = pd.DataFrame(
        {
            "person": [f"p{i}" for i in range(n)],
            "age": rng.integers(18, 60, n),
            "score": rng.normal(size=n).round(2),
            "town": rng.choice(["Aa", "Be"], n),
        }
    )
    people["returned"] = ((people["age"] + rng.normal(0, 10, n)) > 40).astype(int)
    people.to_csv(tmp_path / "people.csv", index=False)
    pairs = [(f"p{2 * i}", f"p{2 * i + 1}") for i in range(10)]
    answers = ["same", "a_at_least_b", "b_at_least_a", "no_constraint"]
    rows = [
        {"judge": f"j{judge}", "a": a, "b": b, "answer": rng.choice(answers, p=[0.55, 0.15, 0.15, 0.15])}
        for judge in range(4)
        for a, b in pairs
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "judgments.csv", index=False)
    return Study(tmp_path)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command; a failure that was not asked for fails the test with what was printed."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def invoke(*arguments: Any, code: int = 0) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, f"{result.exit_code}: {result.stdout}\n{result.stderr}\n{result.exception!r}"
        if code == 1:
            assert result.stdout == ""
            lines = result.stderr.splitlines()
            assert lines[-1].startswith("fairwise: ")
            assert "Traceback" not in result.stderr
        return result

    return invoke


@pytest.fixture
def answer(run: Callable[..., Result]) -> Callable[..., dict[str, Any]]:
    """Run the command with --json and return what it printed, which must be JSON and nothing else."""

    def invoke(*arguments: Any) -> dict[str, Any]:
        def refuse(constant: str) -> None:
            raise AssertionError(constant)

        printed: dict[str, Any] = json.loads(run(*arguments, "--json").stdout, parse_constant=refuse)
        return printed

    return invoke


@pytest.fixture
def model(study: Study, run: Callable[..., Result]) -> Path:
    path = study.folder / "model.skops"
    run("fit", *study.to_fit, "--no-held-out", "--gamma", "0.3", "--out", path)
    return path
