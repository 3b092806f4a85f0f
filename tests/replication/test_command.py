from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.support.replicated_page import check_page

from replication import __main__ as command

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Forty people and the answers of four judges, in files that are written as everywhere else."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"person": [f"p{i}" for i in range(40)], "age": rng.integers(18, 60, 40)})
    people["town"] = [None] * 5 + ["Aa", "Be", "Cy", "Aa", "Be"] * 7
    people["returned"] = (people["age"] + rng.normal(0, 10, 40) > 40).astype(int)
    people.to_csv(tmp_path / "people.csv", index=False, sep=";")
    rows = [
        {"judge": f"j{j}", "a": f"p{2 * i}", "b": f"p{2 * i + 1}", "answer": rng.choice(["same", "a_at_least_b"])}
        for j in range(4)
        for i in range(10)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "judgments.csv", index=False, sep="\t")
    who = ["--people", str(tmp_path / "people.csv"), "--id", "person", "--outcome", "returned"]
    return [*who, "--judgments", str(tmp_path / "judgments.csv"), "--favorable-label", "1"]


def test_it_reads_people_and_answers_of_ones_own(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    class StopError(Exception):
        pass

    def run_study(people: pd.DataFrame, outcome: pd.Series, judgments: Any, **others: Any) -> None:
        seen.update(others, people=people, outcome=outcome, judgments=judgments)
        raise StopError

    monkeypatch.setattr(command, "run_study", run_study)
    with pytest.raises(StopError):
        command.main([*files, "--group", "town"])
    assert len(seen["judgments"].counted()) == 40
    assert (seen["groups"] == "(empty)").sum() == 5
    assert seen["favorable_label"] == 1
    assert seen["simulated"] is False
    with pytest.raises(StopError):
        command.main([*files, "--simulated", "--rounds", "20,5"])
    assert seen["simulated"] is True
    assert seen["rounds"] == (5, 20)


def test_one_run_writes_both_pages_with_the_command_that_repeats_it(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, folder = tmp_path / "page.md", tmp_path / "all"
    where = ["--markdown", str(page), "--out", str(folder), "--rounds", "5,10", "--jobs", "1"]
    assert command.main([*files, "--simulated", *where]) == 0
    assert "ours, its heuristic in column" in capsys.readouterr().out
    check_page(page)
    for text in (page.read_text(), (folder / "section5.html").read_text()):
        assert "--rounds 5,10" in text
        assert "simulated" in text
    assert {file.suffix for file in folder.iterdir()} == {".html", ".svg", ".csv"}


def test_errors_come_before_any_work(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([*files, "--markdown", str(tmp_path / "page.txt")]) == 1
    assert "must end in .md" in capsys.readouterr().err
    for wrong in (["--rounds", "0"], ["--group", "town"], ["--people", files[1]]):
        with pytest.raises(SystemExit) as stop:
            command.main(wrong)
        assert stop.value.code == 2
        assert wrong[0] in capsys.readouterr().err
    answers = pd.read_csv(tmp_path / "judgments.csv", sep="\t").assign(answer="no_constraint")
    answers.to_csv(tmp_path / "judgments.csv", index=False)
    assert command.main(files) == 1
    assert "no answer asks for anything" in capsys.readouterr().err
