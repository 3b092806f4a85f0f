"""`fairwise study new` from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import typer

from fairwise.cli.app import app
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Study
    from typer.testing import Result

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
GIVEN = ["study", "new", "x", "--people", "p.csv", "--id", "id", "--show", "age"]
STUDY: Any = typer.main.get_command(app).commands["study"]  # type: ignore[attr-defined]
NEW: Any = STUDY.commands["new"]


def words(study: Study, *more: object) -> list[object]:
    return ["study", "new", study.folder / "s", *study.who, "--outcome", "returned", "--show", "town,age", *more]


def test_a_study_is_made_and_what_comes_next_is_said(study: Study, run: Callable[..., Result]) -> None:
    result = run(*words(study))
    home = study.folder / "s"
    assert f"Made {home}: 50 pairs for each participant, from 60 people (Town, Age)." in result.stdout
    for next_step in (home / "consent.md", home / "task.md", home / "study.toml", f"fairwise serve {home}"):
        assert str(next_step) in result.stdout
    assert "treated well" in result.stderr
    made = StudyFolder.open(home)
    assert made.person_ids[:2] == ("p0", "p1")
    assert set(made.outcome()) == {0, 1}


def test_every_option_arrives(study: Study, run: Callable[..., Result]) -> None:
    said = {"title": "Ä title", "treated_well": 'a "loan"', "question": "Well?", "contact": "a@example.org"}
    options = [word for name, text in said.items() for word in (f"--{name.replace('_', '-')}", text)]
    result = run(*words(study, *options, "--pairs", 7, "--seed", 3, "--answers", "two"))
    assert result.stderr == ""
    settings = StudyFolder.open(study.folder / "s").settings
    assert settings.model_dump(include=set(said)) == said
    assert (settings.pairs, settings.seed, settings.answers) == (7, 3, "two")


def test_a_mixture_of_designs(study: Study, run: Callable[..., Result]) -> None:
    design = ["--design", "20 uniform, 4 stratified, 6 anchors, 1 repeat", "--strata", "town"]
    result = run(*words(study, *design))
    assert "31 pairs for each participant" in result.stdout
    assert "The pairs are 20 uniform, 4 stratified, 6 anchors, 1 repeats." in result.stdout
    settings = StudyFolder.open(study.folder / "s").settings
    assert settings.mixture == {"uniform": 20, "stratified": 4, "anchors": 6, "repeats": 1}
    assert settings.design.strata == ("town",)


def test_active_pairs_by_the_scores_of_a_model(study: Study, run: Callable[..., Result]) -> None:
    scores = study.folder / "scores.csv"
    scores.write_text("id,score\n" + "".join(f"p{k},{k / 64}\n" for k in range(60)))
    result = run(*words(study, "--design", "20 uniform, 10 active", "--scores", scores, "--favorable-label", 0))
    assert "The pairs are 20 uniform, 10 active." in result.stdout
    made = StudyFolder.open(study.folder / "s")
    assert made.scores is not None
    assert made.scores["p16"] == 0.75


def test_scores_without_active_pairs_or_a_good_label_are_refused(study: Study, run: Callable[..., Result]) -> None:
    scores = study.folder / "scores.csv"
    scores.write_text("id,score\n" + "".join(f"p{k},0.5\n" for k in range(60)))
    assert (
        "scores are for active pairs, and the design has none"
        in run(*words(study, "--scores", scores, "--favorable-label", 1), code=1).stderr
    )
    for alone in (["--scores", scores], ["--favorable-label", 1]):
        said = run(*words(study, "--design", "5 uniform, 5 active", *alone), code=2).stderr
        assert "need each other" in said
    assert not (study.folder / "s").exists()


def test_without_a_number_the_rest_are_uniform(study: Study, run: Callable[..., Result]) -> None:
    run(*words(study, "--design", "5 fixed, 5 repeats", "--pairs", 30))
    assert StudyFolder.open(study.folder / "s").settings.mixture == {"uniform": 20, "fixed": 5, "repeats": 5}


def test_a_seed_is_drawn_unless_it_is_given(study: Study, run: Callable[..., Result], monkeypatch: Any) -> None:
    monkeypatch.setattr("fairwise.study.new_study.random_seed", lambda: 2**62)
    run(*words(study))
    assert StudyFolder.open(study.folder / "s").settings.seed == 2**62
    run("study", "new", study.folder / "t", *study.who, "--show", "town,age", "--seed", 0)
    assert StudyFolder.open(study.folder / "t").settings.seed == 0


def test_for_programs(study: Study, answer: Callable[..., dict[str, Any]]) -> None:
    printed = answer(*words(study, "--treated-well", "being released"))
    made = StudyFolder.open(study.folder / "s")
    assert printed == {
        "folder": str(study.folder / "s"),
        "people": 60,
        "columns": ["town", "age"],
        "pairs": 50,
        "design": {"uniform": 50},
        "differing_pairs": len(made.pairs),
        "outcome": "returned",
        "outcome_kind": "yes-no",
        "to_fill_in": list(made.unfinished),
        "fingerprint": made.fingerprint,
    }


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (["--show", "town,returned"], "people.csv, column returned: this is the outcome, which participants never see"),
        (["--show", "town,person"], "people.csv, column person: this is the id"),
        (["--show", "height"], "there is no column 'height'"),
        (["--outcome", "score"], "an outcome has two; of more, say how good each is, --label-values or [[decisions]]"),
        (["--title", " "], "title = ' '"),
        (["--id", "town"], "every id must be there once"),
        (["--design", "9 uniform", "--pairs", "8"], "pairs = 8, but design adds up to 9"),
        (["--design", "2 stratified"], "stratified pairs need strata"),
        (["--design", "2 stratified", "--strata", "height"], "design.strata: 'height' is not among the columns"),
    ],
)
def test_refused(study: Study, run: Callable[..., Result], more: list[str], part: str) -> None:
    before = set(study.folder.iterdir())
    said = run(*words(study, *more), code=1).stderr
    assert part in said
    assert len(said.splitlines()) == 1
    assert set(study.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (["study"], "Missing command. Try: fairwise study --help"),
        (["study", "new"], "Missing argument 'DIR'. Try: fairwise study new --help"),
        (["study", "knew"], "Did you mean 'new'? Try: fairwise study --help"),
        (["study", "new", "x", "--pairs", "0"], "--pairs"),
        ([*GIVEN, "--design", "6 anchor, many checks"], "'many checks': write a number and a kind, such as 6 anchors"),
        ([*GIVEN, "--design", "6 anchors, 1 anchor"], "anchors in '6 anchors, 1 anchor' is there twice"),
    ],
)
def test_wrong_usage(run: Callable[..., Result], more: list[str], part: str) -> None:
    said = run(*more, code=2).stderr
    assert part in said
    assert len(said.splitlines()) == 1


def test_twice_is_once(study: Study, run: Callable[..., Result]) -> None:
    run(*words(study))
    key = (study.folder / "s" / "secret.key").read_bytes()
    assert "is not empty; a study needs a folder of its own" in run(*words(study), code=1).stderr
    assert (study.folder / "s" / "secret.key").read_bytes() == key


@pytest.mark.parametrize("name", ["new", "verify", "reopen"])
def test_the_page_describes_every_option_and_no_other(name: str) -> None:
    command = STUDY.commands[name]
    section = re.search(rf"^### study {name}\n(.*?)^##", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert section is not None
    options = {word for param in command.params for word in param.opts if word.startswith("--")} - {"--help"}
    named = re.sub(r"`fairwise export --bundle`", "", section[1])
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", named)) == options
    assert all(param.help and param.help.endswith(".") for param in command.params)


def test_the_example_in_the_help_can_be_typed() -> None:
    example = re.search(r"Example:\s+fairwise study new (.*)", NEW.help, flags=re.DOTALL)
    assert example is not None
    NEW.make_context("new", [word.strip('"') for word in re.findall(r'"[^"]+"|[^\s\\]+', example[1])])


def tiers_of(folder: Path) -> list[str]:
    table = pd.DataFrame(
        {
            "id": range(30),
            "age": [20 + 7 * k % 30 for k in range(30)],
            "given": [("deny", "conditions", "release")[k * k % 7 % 3] for k in range(30)],
            "lent": [250.5 * (k * k % 11) for k in range(30)],
        }
    )
    table.to_csv(folder / "tiers.csv", index=False)
    (folder / "values.csv").write_text(
        "label,value,words\ndeny,0,kept in prison\nconditions,0.6,\nrelease,1,released\n", encoding="utf-8"
    )
    return ["study", "new", str(folder / "made"), "--people", str(folder / "tiers.csv"), "--id", "id", "--show", "age"]


def test_a_study_about_several_decisions(tmp_path: Path, run: Callable[..., Result]) -> None:
    new = tiers_of(tmp_path)
    scores = tmp_path / "scores.csv"
    pd.DataFrame({"id": range(30), "score": [k / 29 for k in range(30)]}).to_csv(scores, index=False)
    values = ["--outcome", "given", "--label-values", str(tmp_path / "values.csv")]
    result = run(*new, *values, "--design", "20 uniform, 5 active", "--scores", str(scores))
    assert result.exit_code == 0, result.output
    assert "from best to worst: released; conditions; kept in prison." in result.stdout
    study = StudyFolder.open(tmp_path / "made")
    assert study.settings.label_values == {"deny": 0, "conditions": 0.6, "release": 1}
    assert study.scores is not None
    assert list(study.scores.values()) == pytest.approx([k / 29 for k in range(30)])


def test_a_column_that_is_nearly_numbers_is_named_and_read_as_asked(tmp_path: Path, run: Callable[..., Result]) -> None:
    new = tiers_of(tmp_path)
    table = pd.read_csv(tmp_path / "tiers.csv", dtype=str)
    table.loc[4, "age"] = "?"
    table.to_csv(tmp_path / "tiers.csv", index=False)
    for place, options in enumerate(([], ["--na-values", "?"], ["--numeric", "age"])):
        result = run(*[str(tmp_path / f"made{place}") if one.endswith("made") else one for one in new], *options)
        assert ("is read as" in result.stderr and "(line 6, id 4)" in result.stderr) == (not options)
        assert ("counts as missing" in result.stderr) == ("--numeric" in options)
        ages = StudyFolder.open(tmp_path / f"made{place}").people()["age"]
        assert pd.api.types.is_numeric_dtype(ages) == bool(options)


def test_a_study_about_an_amount(tmp_path: Path, run: Callable[..., Result]) -> None:
    options = ["--outcome", "lent", "--amount-range", "0,3000", "--amount-unit", "DM", "--outcome-kind", "amount"]
    result = run(*tiers_of(tmp_path), *options, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["outcome_kind"] == "amount"
    amount = StudyFolder.open(tmp_path / "made").settings.amount
    assert amount is not None
    assert amount.model_dump() == {"unit": "DM", "least": 0, "most": 3000, "better": "more"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--outcome-kind", "tiers"], "--outcome-kind tiers: needs --label-values"),
        (["--outcome-kind", "yes-no", "--amount-range", "0,1"], "--amount-range is for other decisions"),
        (["--label-values", "values.csv", "--amount-range", "0,1"], "one of a few things, or an amount"),
        (["--amount-range", "many"], "needed: the least and the largest amount, such as 0,20000"),
        (["--amount-unit", "DM"], "--amount-unit and --amount-better: are about amounts"),
        (["--amount-range", "0,1", "--scores", "s.csv", "--favorable-label", "1"], "--favorable-label: is for two"),
    ],
)
def test_options_about_decisions_that_do_not_fit_together(
    tmp_path: Path, run: Callable[..., Result], options: list[str], said: str
) -> None:
    result = run(*tiers_of(tmp_path), "--outcome", "lent", *options, code=1)
    assert said in " ".join(result.stderr.split())
    assert not (tmp_path / "made").exists()
