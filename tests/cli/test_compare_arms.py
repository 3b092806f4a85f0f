"""`fairwise compare-arms`: from files, and from the database of a study of two rounds and two arms."""

from __future__ import annotations

import html
import json
import re
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from tests.support.rounds_on_store import play_two_rounds

from fairwise.simulation import draw_pairs, simulate_panel, simulate_second_round
from fairwise.store.export import arm_blocks, shown_reasons
from fairwise.store.store import Store
from fairwise.store.study_state import set_state
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result

ARMS = """
[[arms]]
name = "talk"

[[arms]]
name = "again"
reasons = false
"""


@pytest.fixture
def files(study: Study) -> list[str]:
    """Simulated people of two rounds who were much persuaded, and the options that name their files."""
    people = study.people_frame().set_index("person").drop(columns="returned")
    first = simulate_panel(people, 24, answers="four", pairs=draw_pairs(people, 1, 12, seed=1)[0], seed=1)
    second = simulate_second_round(first, persuasion=0.6, returning=0.9, seed=1)
    second.judgments.write(study.folder / "both.csv")
    second.judgments.judge_attributes.to_csv(study.folder / "judges.csv")
    second.reasons.to_csv(study.folder / "reasons.csv", index=False)
    given = {"--judgments": "both.csv", "--judges": "judges.csv", "--reasons": "reasons.csv"}
    return [part for option, name in given.items() for part in (option, str(study.folder / name))]


def test_tables_of_arms_and_of_what_is_stated(files: list[str], run: Callable[..., Result], tmp_path: Path) -> None:
    out = tmp_path / "tests.csv"
    shown = run("compare-arms", *files, "--draws", 199, "--out", out).stdout
    assert "Against control" in shown
    assert "3. The share of answers that people change when they are asked again is the same in both arms." in shown
    assert "people came back; " in shown
    assert "nan" not in shown.lower()
    table = pd.read_csv(out).set_index("name")
    assert table.loc["towards_reasons", "p_value"] == pytest.approx(0.005)


def test_what_is_learned_and_json(files: list[str], study: Study, run: Callable[..., Result]) -> None:
    learn = [*study.who, "--outcome", "returned", "--learn", "--favorable-label", 1, "--groups", "town"]
    few = ["--draws", 99, "--resamples", 10, "--learned-draws", 19, "--eta", 0.02]
    found = json.loads(run("compare-arms", *files, *learn, *few, "--json").stdout)
    assert [line["name"] for line in found["tests"]][-4:] == ["error", "price", "group_gap", "treated_differently"]
    assert found["control"] == "control"
    assert {line["group"] for line in found["learned"]["rates"]} == {"Aa", "Be"}
    assert found["learned"]["eta"] == 0.02
    assert "What is learned, gamma 0.1" in run("compare-arms", *files, *learn, *few).stdout


def test_a_report_tells_what_talking_did_if_asked(files: list[str], study: Study, run: Callable[..., Result]) -> None:
    out, learn = study.folder / "r.html", [*study.who, "--outcome", "returned", "--favorable-label", 1]
    without_reasons = files[:4]
    fit = [
        *without_reasons,
        *learn,
        "--gamma",
        0.2,
        "--eta",
        0.1,
        "--estimator",
        "tree",
        "--max-depth",
        1,
        "--out",
        out,
    ]
    run("report", *fit)
    assert "What talking did" not in out.read_text(encoding="utf-8")
    run("report", *fit, "--second-round", *files[4:], "--groups", "town")
    page = re.sub(r"<[^>]+>", " ", out.read_text(encoding="utf-8"))
    assert "What talking did" in page
    assert "The share of answers changed to what most of the reasons are for is the same in both arms." in page
    assert "The error of the model learned from an arm's answers moves as far in both arms." in html.unescape(page)
    assert "give --second-round, too" in run("report", *fit, "--control", "reasons", code=1).stderr
    assert (
        "nobody who answered is in that arm" in run("report", *fit, "--second-round", "--control", "x", code=1).stderr
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--learn"], "--learn: what is learned needs people and outcomes"),
        (["--control", "talk"], "nobody who answered is in that arm; the arms are control, reasons"),
        (["--out", "tests.txt"], "must end in .csv or .parquet"),
    ],
)
def test_what_is_missing_is_named(files: list[str], run: Callable[..., Result], given: list[str], said: str) -> None:
    result = run("compare-arms", *files, *given, code=1)
    assert said in result.stderr


def test_a_study_or_files_but_not_both(files: list[str], run: Callable[..., Result]) -> None:
    assert "Give the folder of a study, or files" in run("compare-arms", code=2).stderr
    assert "Give the folder of a study, or files" in run("compare-arms", "x", *files, code=2).stderr


@pytest.fixture
def home(study: Study, run: Callable[..., Result]) -> Path:
    """A study in which twelve people talked: all but those of one arm then say that everybody is the same."""
    home = study.folder / "s"
    run(
        "study",
        "new",
        home,
        *study.who,
        "--outcome",
        "returned",
        "--show",
        "town,age",
        "--pairs",
        4,
        "--design",
        "4 fixed",
    )
    settings = (home / "study.toml").read_text(encoding="utf-8")
    talking = re.sub(r"(\[deliberation\].*?\non = )false", r"\1true", settings, count=1, flags=re.DOTALL)
    (home / "study.toml").write_text(talking + ARMS, encoding="utf-8")
    folder = StudyFolder.open(home)
    store = Store.open(home / "study.sqlite", folder.fingerprint)
    play_two_rounds(folder, store)
    store.close()
    return home


def test_a_study_is_compared_with_its_arm_that_is_only_asked_again(home: Path, run: Callable[..., Result]) -> None:
    found = json.loads(run("compare-arms", home, "--draws", 999, "--json").stdout)
    assert found["control"] == "again"
    assert "11 people came back; 1 answered only round 1." in found["notes"]
    tests = {line["name"]: line for line in found["tests"]}
    assert tests["changed"]["effect"] == tests["towards_reasons"]["effect"] == 0.5
    assert tests["changed"]["in_control"] == 0
    # In three blocks of four, of which the last has one person less: 6 × 6 × 3 assignments.
    assert found["assignments"] == "all"
    assert found["permuted"] == {"unit": "judge", "n_units": 11, "n_blocks": 3}
    assert "For p-values, arms are reassigned at random to 11 people within 3 blocks." in found["notes"]
    assert tests["changed"]["p_value"] <= 2 / 108


def test_exported_files_say_the_same_as_the_study(home: Path, run: Callable[..., Result], tmp_path: Path) -> None:
    said, known, tests = (tmp_path / name for name in ("judgments.csv", "judges.csv", "tests.csv"))
    run("export", home, "--out", said, "--judges", known)
    assert pd.read_csv(known).groupby("block")["arm"].value_counts().unique().tolist() == [2]
    found = []
    for given in ([home], ["--judgments", said, "--judges", known, "--control", "again"]):
        run("compare-arms", *given, "--out", tests)
        found.append(pd.read_csv(tests).query("name != 'towards_reasons'").set_index("name")["p_value"])
    assert found[0].equals(found[1])


def test_what_makes_numbers_less_sure_is_said(home: Path, run: Callable[..., Result]) -> None:
    still, rooms = "The study is not closed.", "People talked in rooms."
    shown = run("compare-arms", home).stdout
    assert still in shown
    assert rooms not in shown
    folder = StudyFolder.open(home)
    store = Store.open(home / "study.sqlite", folder.fingerprint)
    store.change_now(partial(set_state, state="closed"))
    store.close()
    assert still not in run("compare-arms", home).stdout
    settings = (home / "study.toml").read_text(encoding="utf-8").replace(ARMS, "")
    in_rooms = settings.replace("\non = true", "\non = false").replace("\nrooms = false", "\nrooms = true")
    (home / "study.toml").write_text(in_rooms, encoding="utf-8")
    assert rooms in run("compare-arms", home, "--control", "again").stdout


def test_what_is_learned_in_a_study(home: Path, run: Callable[..., Result]) -> None:
    few = ["--learn", "--draws", 99, "--resamples", 10, "--learned-draws", 19]
    assert "What is learned" in run("compare-arms", home, *few, "--groups", "town").stdout
    assert "has no column 'height'" in run("compare-arms", home, *few, "--groups", "height", code=1).stderr


def test_a_larger_effect_is_found_more_often_before_anyone_is_asked(home: Path, run: Callable[..., Result]) -> None:
    plan = partial(run, "plan", "--simulate", home, "--judges", 24, "--simulations", 2, "--fits", 0)
    none, large = (json.loads(plan("--persuasion", planted, "--json").stdout)["arms"][0] for planted in (0.0, 0.9))
    assert none["effect"] == 0
    assert large["effect"] > 0.1
    assert none["found"] < 0.5 < large["found"]
    assert (large["arm"], large["judges"]) == ("talk", 24)
    assert large["returned"] == pytest.approx(0.8 * 24, abs=3)
    shown = plan().stdout
    assert "Will it be seen what talking does?" in shown
    assert "nan" not in shown


def test_without_arms_there_is_no_effect_to_see(study: Study, run: Callable[..., Result]) -> None:
    home = study.folder / "plain"
    run("study", "new", home, *study.who, "--show", "town,age", "--pairs", 4)
    assert "no second round" in run("plan", "--simulate", home, "--persuasion", 0.1, code=1).stderr


def test_blocks_and_reasons_of_a_study(home: Path) -> None:
    folder = StudyFolder.open(home)
    store = Store.open(home / "study.sqlite", folder.fingerprint)
    blocks = store.read_now(partial(arm_blocks, arms=folder.settings.arms))
    shown = store.read_now(shown_reasons)
    store.close()
    assert sorted(blocks.values()) == [0] * 4 + [1] * 4 + [2] * 4
    assert shown is not None
    assert shown["answer"].unique().tolist() == ["same"]
    assert len(shown) == 24
