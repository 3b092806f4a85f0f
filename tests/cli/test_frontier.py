from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import fairwise.auditing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result

RANGE = ["--gammas", "0:1:0.5"]


def test_a_curve_for_the_panel(study: Study, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]) -> None:
    out = study.folder / "frontier.csv"
    said = run("frontier", *study.to_fit, *RANGE, "--out", out).stdout
    assert "3 points written" in said
    curve = pd.read_csv(out)
    assert curve["gamma"].tolist() == [0.0, 0.5, 1.0]
    assert curve["error"].is_monotonic_decreasing
    fitted = answer("fit", *study.to_fit, "--gamma", "0.5", "--no-held-out")["certificate"]
    assert curve["error"][1] == pytest.approx(fitted["error"], abs=2e-4)
    assert sorted(path.name for path in study.folder.iterdir()) == ["frontier.csv", "judgments.csv", "people.csv"]


def test_a_curve_for_each_judge(
    study: Study, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]
) -> None:
    out = study.folder / "frontier.parquet"
    printed = answer("frontier", *study.to_fit, *RANGE, "--by", "judge", "--out", out)
    assert printed["rows"] == len(pd.read_parquet(out)) == 12
    assert {row["judge"] for row in printed["curves"]} == {"j0", "j1", "j2", "j3"}
    said = run("frontier", *study.to_fit, *RANGE, "--by", "judge", "--out", out).stdout
    assert [line.split()[1] for line in said.splitlines() if line.startswith("0.5000")] == ["4"]


@pytest.mark.parametrize(
    ("options", "points"),
    [
        (["--etas", "0,0.1", "--gamma", "0.2"], [(0.2, 0.0), (0.2, 0.1)]),
        (["--gammas", "0,1", "--eta", "none"], [(0.0, None), (1.0, None)]),
        (["--gammas", "0,1", "--etas", "0.1"], [(0.0, 0.1), (1.0, 0.1)]),
    ],
)
def test_a_knob_that_is_not_varied_stays_as_in_a_fit(
    study: Study, answer: Callable[..., dict[str, Any]], options: list[str], points: list[tuple[float, float | None]]
) -> None:
    curves = answer("frontier", *study.to_fit, *options, "--out", study.folder / "f.csv")["curves"]
    assert [(row["gamma"], row["eta"]) for row in curves] == points


@pytest.fixture
def stopped(study: Study, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run by judge that Ctrl-C stops after the second curve."""
    out = study.folder / "f.csv"
    real = fairwise.auditing.frontier

    def impatient(*given: Any, progress: Callable[[int, int], None], **more: Any) -> pd.DataFrame:
        def tell(done: int, total: int) -> None:
            progress(done, total)
            if done > 7:
                raise KeyboardInterrupt

        return real(*given, progress=tell, **more)

    with monkeypatch.context() as patch:
        patch.setattr(fairwise.auditing, "frontier", impatient)
        result = run("frontier", *study.to_fit, *RANGE, "--by", "judge", "--out", out, code=130)
    checkpoint = study.folder / "f.csv.checkpoint"
    assert result.stderr.splitlines()[-1] == (
        f"fairwise: interrupted; the same command goes on with the finished curves in {checkpoint}"
    )
    assert checkpoint.exists()
    assert not out.exists()
    return out


def test_the_same_command_goes_on(study: Study, run: Callable[..., Result], stopped: Path) -> None:
    again = run("frontier", *study.to_fit, *RANGE, "--by", "judge", "--out", stopped)
    assert "Going on with the finished curves" in again.stderr
    whole = study.folder / "whole.csv"
    run("frontier", *study.to_fit, *RANGE, "--by", "judge", "--out", whole)
    assert stopped.read_bytes() == whole.read_bytes()
    assert not (study.folder / "f.csv.checkpoint").exists()


def test_another_command_does_not_go_on_with_it(study: Study, run: Callable[..., Result], stopped: Path) -> None:
    said = run("frontier", *study.to_fit, "--gammas", "0", "--by", "judge", "--out", stopped, code=1).stderr
    assert "holds curves of another run" in said
    assert (study.folder / "f.csv.checkpoint").exists()


def test_a_run_that_fails_at_once_leaves_nothing(study: Study, run: Callable[..., Result]) -> None:
    options = ["--by", "judge", "--judge-budget", "0.1", "--out", study.folder / "f.csv"]
    assert "judge_budgets" in run("frontier", *study.to_fit, *options, code=1).stderr
    assert sorted(path.name for path in study.folder.iterdir()) == ["judgments.csv", "people.csv"]


def test_wrong_ranges_are_wrong_usage(study: Study, run: Callable[..., Result]) -> None:
    for option in ("--gammas", "--etas"):
        said = run("frontier", *study.to_fit, option, "0:1", "--out", study.folder / "f.csv", code=2).stderr
        assert f"'{option}': '0:1': write from:to:step" in said
