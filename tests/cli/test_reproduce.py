from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.support.replicated_page import check_page

from fairwise import replication

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd
    from tests.cli.conftest import Study
    from typer.testing import Result


class _SeenError(Exception):
    """What the study would have been made of is known; the rest takes long."""


def test_files_of_ones_own_may_look_as_everywhere(
    study: Study, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    people = study.people_frame()
    people.loc[:4, "town"] = None
    people.to_csv(study.people, index=False, sep=";")
    study.judgments_frame().to_csv(study.judgments, index=False, sep="\t")
    seen: dict[str, Any] = {}

    def keep(people: pd.DataFrame, outcome: pd.Series, judgments: Any, **others: Any) -> None:
        seen.update(others, people=people, outcome=outcome, judgments=judgments)
        raise _SeenError

    monkeypatch.setattr(replication, "run_study", keep)
    run("reproduce", *study.files, "--favorable-label", "1", "--group", "town", code=1)
    assert len(seen["judgments"].counted()) == 40
    assert (seen["groups"] == "(empty)").sum() == 5
    assert seen["favorable_label"] == 1
    assert seen["simulated"] is False
    run("reproduce", *study.files, "--favorable-label", "1", "--simulated", "--rounds", "20,5", code=1)
    assert seen["simulated"] is True
    assert seen["rounds"] == (5, 20)


@pytest.mark.slow
def test_one_run_writes_both_pages_and_they_say_how_to_repeat_it(
    study: Study, run: Callable[..., Result], tmp_path: Path
) -> None:
    page, folder = tmp_path / "page.md", tmp_path / "all"
    where = ["--markdown", str(page), "--out", str(folder), "--rounds", "5,10", "--jobs", "1"]
    table = run("reproduce", *study.files, "--favorable-label", "1", "--simulated", *where).stdout
    assert "ours, its heuristic in column" in table
    check_page(page)
    for text in (page.read_text(), (folder / "section5.html").read_text()):
        assert "--rounds 5,10" in text
        assert "simulated" in text
    assert {file.suffix for file in folder.iterdir()} == {".html", ".svg", ".csv"}


def test_what_cannot_be_done_is_told_before_any_work(study: Study, run: Callable[..., Result]) -> None:
    told = run("reproduce", *study.files, "--markdown", str(study.folder / "page.txt"), code=1).stderr
    assert "must end in .md" in told
    assert "--rounds" in run("reproduce", *study.files, "--rounds", "0", code=2).stderr
    silent = study.judgments_frame().assign(answer="no_constraint")
    silent.to_csv(study.judgments, index=False)
    told = run("reproduce", *study.files, "--favorable-label", "1", code=1).stderr
    assert "no answer asks for anything" in told
