from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments
from fairwise.auditing import audit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result


@pytest.fixture
def scores(study: Study, run: Callable[..., Result], model: Path) -> Path:
    out = study.folder / "scores.csv"
    run("predict", "--model", model, *study.who, "--out", out)
    return out


def test_the_audit_is_that_of_python(study: Study, scores: Path, answer: Callable[..., dict[str, Any]]) -> None:
    options = ["--judgments", study.judgments, "--gamma", "0.05", "--favorable-label", "1"]
    out = study.folder / "pairs.csv"
    groups = ["--people", study.people, "--people-id", "person", "--groups", "town", "--outcome", "returned"]
    printed = answer("audit", "--scores", scores, *options, *groups, "--out", out)
    series = pd.read_csv(scores).set_index("id")["score"]
    expected = audit(series, Judgments.read(study.judgments), 0.05, 1)
    for name, value in expected.overall.loc["value"].items():
        assert printed["overall"]["value"][str(name)] == pytest.approx(value)
    assert printed["worst"] == expected.worst(len(printed["worst"]))
    assert printed["worst"]
    assert len(printed["by_judge"]) == 4
    assert {row["group"] for row in printed["by_group"]} == {"Aa", "Be"}
    assert "true_positive_rate" in printed["by_group"][0]
    assert len(pd.read_csv(out)) == 10


def test_the_audit_in_words(study: Study, scores: Path, run: Callable[..., Result]) -> None:
    options = ["--scores", scores, "--judgments", study.judgments, "--favorable-label", "1"]
    said = run("audit", *options, "--gamma", "0").stdout
    assert "Largest violation of a pair" in said
    assert "Worst pairs" in said
    assert "Judges who get least" in said
    kept = run("audit", *options, "--gamma", "1").stdout
    assert "Worst pairs" not in kept
    assert "Judges who get least" not in kept


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"score": 1.5}, "line 3, column score: 1.5 is not a probability"),
        ({"score": None}, "line 3, column score: empty is not a probability"),
        ({"id": "p0"}, "line 3, column id: 'p0' is also the id at line 2"),
        ({"id": "stranger"}, "nothing for these people: 'p1'"),
    ],
)
def test_bad_scores(study: Study, scores: Path, run: Callable[..., Result], change: dict[str, Any], part: str) -> None:
    frame = pd.read_csv(scores).astype(object)
    for name, value in change.items():
        frame.loc[1, name] = value
    frame.to_csv(scores, index=False)
    options = ["--judgments", study.judgments, "--favorable-label", "1"]
    said = run("audit", "--scores", scores, *options, code=1).stderr
    assert f"{scores}" in said
    assert part in said


def test_groups_of_a_table_with_gaps(
    study: Study, scores: Path, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]
) -> None:
    people = study.people_frame()
    people.loc[:4, "town"] = None
    people.to_csv(study.people, index=False)
    options = ["--scores", scores, "--judgments", study.judgments, "--favorable-label", "1"]
    options += ["--people", study.people, "--people-id", "person", "--groups", "town"]
    by_group = {row["group"]: row["people"] for row in answer("audit", *options)["by_group"]}
    assert by_group["(empty)"] == 5
    people.iloc[:50].to_csv(study.people, index=False)
    said = run("audit", *options, code=1).stderr
    assert f"{study.people}: nothing for these people: 'p50'" in said


def test_what_an_audit_cannot_do_without(study: Study, scores: Path, run: Callable[..., Result]) -> None:
    options = ["--scores", scores, "--judgments", study.judgments]
    assert "give --favorable-label 0 or 1" in run("audit", *options, code=1).stderr
    assert "--groups" in run("audit", *options, "--groups", "town", code=2).stderr
    assert "yes" in run("audit", *options, "--favorable-label", "yes", code=2).stderr
    said = run("audit", *options, "--favorable-label", "1", "--score", "p", code=1).stderr
    assert "there is no column 'p'; found: 'id', 'score', 'label'" in said


def test_labels_by_name(
    study: Study, scores: Path, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]
) -> None:
    options = ["--scores", scores, "--judgments", study.judgments]
    expected = answer("audit", *options, "--favorable-label", "0")
    named = answer("audit", *options, "--favorable-label", "kept", "--labels", "kept,returned")
    assert (named["overall"], named["by_judge"]) == (expected["overall"], expected["by_judge"])
    assert (named["favorable_label"], named["classes"]) == ("kept", ["kept", "returned"])
    assert expected["classes"] == [0, 1]

    people = study.people_frame()
    people.assign(returned=people["returned"].map({0: "kept", 1: "returned"})).to_csv(study.people, index=False)
    groups = ["--people", study.people, "--people-id", "person", "--groups", "town", "--outcome", "returned"]
    by_outcome = answer("audit", *options, "--favorable-label", "kept", *groups)
    assert by_outcome["overall"] == expected["overall"]
    assert "true_positive_rate" in by_outcome["by_group"][0]
    assert "kept or returned" in run("audit", *options, "--favorable-label", "0", *groups, code=2).stderr
    assert "give kept or returned" in run("audit", *options, "--labels", "kept,returned", code=1).stderr.replace(
        "--favorable-label ", ""
    )
    assert "two different labels" in run("audit", *options, "--labels", "kept", code=2).stderr
    assert "--labels" in run("audit", *options, "--favorable-label", "kept", code=2).stderr


def test_chances_of_pairs_are_not_used_and_that_is_said(
    study: Study, scores: Path, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]
) -> None:
    options = ["--scores", scores, "--judgments", study.judgments, "--favorable-label", "1"]
    assert answer("audit", *options)["selection_probability"] == "not given"
    said = pd.read_csv(study.judgments)
    said.assign(selection_probability=np.linspace(0.1, 1, len(said))).to_csv(study.judgments, index=False)
    assert answer("audit", *options)["selection_probability"] == "ignored"
    assert "selection_probability is not used" in run("audit", *options).stdout


def test_an_audit_is_split_by_who_the_judges_are(
    study: Study, run: Callable[..., Result], answer: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    scores = tmp_path / "scores.csv"
    people = study.people_frame()
    pd.DataFrame({"id": people["person"], "score": (people["age"] - 18) / 42}).to_csv(scores, index=False)
    judges = tmp_path / "judges.csv"
    judges.write_text("judge,relation\nj0,affected\nj1,expert\nj2,expert\nj3,expert\n")
    arguments = ["audit", "--scores", scores, "--judgments", study.judgments, "--favorable-label", "1"]
    split = answer(*arguments, "--judges", judges)["by_attribute"]
    assert [(row["attribute"], row["value"], row["judges"]) for row in split] == [
        ("relation", "affected", 1),
        ("relation", "expert", 3),
    ]
    assert [row["mean_excess_covered"] for row in split] == [False, False]  # three judges are few
    told = run(*arguments, "--judges", judges).stdout
    assert "Kinds of judges" in told
    assert "* a rough guide only: fewer than 5 judges" in told.partition("Kinds of judges")[2]
    assert "Kinds of judges" not in run(*arguments).stdout
    judges.write_text("who,relation\nj0,affected\n")
    assert "judge" in run(*arguments, "--judges", judges, code=1).stderr
    judges.write_text("judge,relation\nj9,affected\n")
    assert "j9" in run(*arguments, "--judges", judges, code=1).stderr
