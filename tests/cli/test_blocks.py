"""Large Parquet files are read in blocks, here or by dask workers, with the answers of tables in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from fairwise.cli import training

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result

TWO_PASSES = ["--estimator", "linear-regression", "--solver", "no-regret", "--rounds", "50", "--favorable-label", "1"]


def assert_alike(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Numbers to their rounding, words exactly; only a table in memory has a checksum of its people."""
    assert mine.keys() == theirs.keys()
    for name in mine.keys() - {"made_from"}:
        number = isinstance(theirs[name], float)
        assert mine[name] == (pytest.approx(theirs[name], nan_ok=True) if number else theirs[name]), name


@pytest.fixture
def files(study: Study) -> list[str]:
    """The study with its people in a Parquet file."""
    path = study.folder / "people.parquet"
    study.people_frame().to_parquet(path, row_group_size=20, index=False)
    return ["--people", str(path), "--id", "person", "--outcome", "returned", "--judgments", str(study.judgments)]


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "MANY_ROWS", 10)


def test_fit(
    study: Study,
    files: list[str],
    answer: Callable[..., dict[str, Any]],
    run: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_memory = answer("fit", *files, *TWO_PASSES, "--no-held-out")
    monkeypatch.setattr(training, "MANY_ROWS", 10)
    in_blocks = answer("fit", *files, *TWO_PASSES, "--out", study.folder / "model.skops")
    assert_alike(in_blocks["certificate"], in_memory["certificate"])
    assert (in_blocks["people"], in_blocks["held_out"]) == (60, None)
    told = run("fit", *files, *TWO_PASSES)
    assert "60 people, read in blocks, 3 columns" in told.stdout
    assert "Held-out error not measured" in told.stderr
    assert "read in blocks" not in run("fit", *files, "--favorable-label", "1", "--no-held-out").stdout


def test_frontier(
    study: Study,
    files: list[str],
    answer: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = [*files, *TWO_PASSES, "--gammas", "0:1:0.5", "--by", "judge", "--out", study.folder / "curves.csv"]
    in_memory = answer("frontier", *asked)
    monkeypatch.setattr(training, "MANY_ROWS", 10)
    in_blocks = answer("frontier", *asked)
    assert in_blocks["rows"] == in_memory["rows"] == 12
    for mine, theirs in zip(in_blocks["curves"], in_memory["curves"], strict=True):
        assert_alike(mine, theirs)


@pytest.fixture
def scores(study: Study) -> Path:
    path = study.folder / "scores.parquet"
    people = study.people_frame()
    pd.DataFrame({"id": people["person"], "score": people["age"] / 60}).to_parquet(path)
    return path


def test_audit(
    study: Study, scores: Path, answer: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["--scores", scores, "--judgments", study.judgments, "--favorable-label", "1"]
    in_memory = answer("audit", *asked)
    monkeypatch.setattr(training, "MANY_ROWS", 10)
    assert answer("audit", *asked) == in_memory


@pytest.mark.usefixtures("few_are_many")
def test_errors_are_one_line(study: Study, files: list[str], run: Callable[..., Result]) -> None:
    wrong = run("fit", *files, *TWO_PASSES, "--favorable-label", "good", code=1).stderr
    assert "people.parquet, column returned: 'good' is not one of the outcomes" in wrong
    assert (
        "favorable_label=7 is not one of the outcomes"
        in run("fit", *files, *TWO_PASSES, "--favorable-label", "7", code=1).stderr
    )
    pd.read_parquet(study.folder / "people.parquet").head(15).to_parquet(study.folder / "people.parquet")
    assert "not in the table" in run("fit", *files, *TWO_PASSES, code=1).stderr


def test_workers_of_a_cluster_give_the_same(
    study: Study, files: list[str], scores: Path, answer: Callable[..., dict[str, Any]], cluster: Any
) -> None:
    asked = ["--scores", scores, "--judgments", study.judgments, "--favorable-label", "1"]
    shared = ["--dask", cluster.scheduler_address]
    assert answer("audit", *asked, *shared) == answer("audit", *asked)
    for more in (TWO_PASSES, ["--estimator", "tree", "--max-depth", "1", "--favorable-label", "1", "--splits", "2"]):
        here, there = answer("fit", *files, *more), answer("fit", *files, *more, *shared)
        assert_alike(there["certificate"], here["certificate"])
    assert there["held_out"] == here["held_out"]
    to_trace = [*files, *TWO_PASSES, "--gammas", "0:1:0.5", "--out", study.folder / "curves.csv"]
    for mine, theirs in zip(
        answer("frontier", *to_trace, *shared)["curves"], answer("frontier", *to_trace)["curves"], strict=True
    ):
        assert_alike(mine, theirs)


def test_an_address_where_nobody_answers(
    files: list[str], run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_PATIENCE", "100ms")
    for address in ("tcp://127.0.0.1:1", "nowhere at all"):
        assert (
            f"--dask {address}: no dask scheduler answers"
            in run("fit", *files, *TWO_PASSES, "--dask", address, code=1).stderr
        )
