"""Personal links, rooms and the list of participants, from the command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.visits import hidden, visiting

from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result

    Run = Callable[..., Result]


@pytest.fixture
def home(study: Study, run: Run) -> Path:
    folder = study.folder / "asked"
    assert run("study", "new", folder, *study.who, "--show", "town,age", "--pairs", 2).exit_code == 0
    return folder


def test_links_lead_to_the_study_and_are_listed(home: Path, run: Run, answer: Callable[..., dict[str, Any]]) -> None:
    names = home.parent / "names.csv"
    names.write_text("name;room\nAnn;1\n=Ben;2\n", encoding="utf-8")
    out = home.parent / "links.csv"
    result = run("study", "links", home, "--names", names, "--out", out, "--url", "https://study.example/")
    assert result.stdout == (f"Wrote {out}: 2 personal links. Whoever has a link can answer in its person's name.\n")
    made = pd.read_csv(out)
    assert list(made["name"]) == ["Ann", "'=Ben"]  # no formula
    assert (out.stat().st_mode & 0o777) == 0o600  # whoever has a link is its person
    assert made["link"].str.fullmatch(r"https://study\.example/p/[\w-]{24}").all()
    with visiting(StudyFolder.open(home), home / "study.sqlite") as visit:
        page = visit.get(made["link"][0].removeprefix("https://study.example"))
        assert visit.post("/consent", **hidden(page), decision="agree").status_code == 200
    listed = answer("study", "participants", home)["participants"]
    assert [(one["number"], one["name"], one["state"]) for one in listed] == [
        (1, "Ann", "started"),
        (None, "=Ben", "invited"),
    ]
    shown = run("study", "participants", home).stdout
    assert re.search(r"1 +started +personal +Ann", shown)
    table = home.parent / "who.csv"
    assert run("study", "participants", home, "--out", table).stdout == f"Wrote {table}: 2 people.\n"
    assert list(pd.read_csv(table)["state"]) == ["started", "invited"]
    assert (table.stat().st_mode & 0o777) == 0o600
    numbered = home.parent / "more.csv"
    assert "They lead to this machine." in run("study", "links", home, "--count", 3, "--out", numbered).stdout
    assert pd.read_csv(numbered)["link"].nunique() == 3


def test_rooms_are_opened_listed_and_closed(home: Path, run: Run) -> None:
    assert run("study", "room", home).stdout == 'There are no rooms. Open one with --name "Class 7b".\n'
    opened = run("study", "room", home, "--name", "Class 7b", "--url", "https://study.example").stdout
    code = re.search(r"Its code is ([A-Z2-9]{6})\n", opened)
    assert code is not None
    assert f"https://study.example/room/{code[1]}/wall" in opened
    assert re.search(rf"{code[1]} +Class 7b +yes", run("study", "room", home).stdout)
    assert re.search(rf"{code[1]} +Class 7b +closed", run("study", "room", home, "--close", code[1].lower()).stdout)


def test_ids_of_a_panel_are_listed_and_let_in_alone(
    home: Path, run: Run, answer: Callable[..., dict[str, Any]]
) -> None:
    file = home.parent / "ids.csv"
    file.write_text("id,when\n00123,x\nann,y\n", encoding="utf-8")
    told = run("study", "ids", home, "--add", file, code=1).stderr
    assert told == f"fairwise: {home / 'study.toml'}: recruitment.panel names no panel whose ids these could be\n"
    settings = home / "study.toml"
    settings.write_text(settings.read_text().replace('panel = ""', 'panel = "sona"'))
    assert run("study", "ids", home).stdout == "There is no list: any id is let in.\n"
    on_list = "2 on the list: nobody else from the panel is let in.\n"
    assert run("study", "ids", home, "--add", file).stdout == f"2 added. {on_list}"
    assert answer("study", "ids", home, "--add", file) == {"added": 0, "listed": 2}
    with visiting(StudyFolder.open(home), home / "study.sqlite") as visit:
        assert visit.get("/?survey_code=00123").status_code == 200  # with its zeros
        assert visit.get("/?survey_code=123").status_code == 403
    assert run("study", "ids", home, "--delete").stdout == "There is no list: any id is let in.\n"
    file.write_text("id\nann\na b\n", encoding="utf-8")
    wrong = run("study", "ids", home, "--add", file, code=1).stderr
    assert "'a b' is no id of a panel; allowed: up to 100 letters, digits and _ . ~ -" in wrong
    assert "line 3, column id" in wrong


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["links", "--out", "l.csv"], "Give --out and either --count or --names"),
        (["links", "--out", "l.csv", "--count", 1, "--url", "study.example"], "is not the address of a study"),
        (["links", "--out", "l.txt", "--count", 1], "must end in .csv or .parquet"),
        (["links", "--out", "l.csv", "--names", "n.csv"], "n.csv: there is no column .name."),
        (["room", "--close", "ABC"], "there is no room with the code 'ABC'"),
        (["room", "--name", " "], "--name: needed: a name of up to 200 characters"),
        (["participants"], "nobody has been asked yet"),
    ],
)
def test_bad_usage_is_one_line(home: Path, run: Run, words: list[Any], said: str, monkeypatch: Any) -> None:
    monkeypatch.chdir(home.parent)
    (home.parent / "n.csv").write_text("who\nAnn\n", encoding="utf-8")
    command, *options = words
    result = run("study", command, home, *options, code=1)
    assert re.search(said, result.stderr)
    assert result.stderr.count("\n") == 1
    assert not (home.parent / "l.csv").exists()
