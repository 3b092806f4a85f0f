"""`fairwise plan`: by a formula, or a study played before anyone is asked, in words and as JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from fairwise.auditing import plan
from fairwise.auditing.plan import Cost, simulate_study
from fairwise.cli.plan import SimulationOptions
from fairwise.simulation.respondent import USUAL_SECONDS, minutes_for
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result

QUICK = ("--simulations", 2, "--judges", "9,14")
COST = ("--favorable-label", "1", "--fits", 1)


@pytest.fixture
def make(study: Study, run: Callable[..., Result]) -> Callable[..., Path]:
    def new(name: str, *options: Any, outcome: bool = True) -> Path:
        home = study.folder / name
        known = ("--outcome", "returned") if outcome else ()
        run("study", "new", home, *study.who, "--show", "age,score,town", *known, *options)
        return home

    return new


@pytest.fixture
def mixed(make: Callable[..., Path]) -> Path:
    return make("mixed", "--design", "6 uniform, 4 anchors, 2 repeats")


def test_numbers_are_those_of_python(mixed: Path, answer: Callable[..., dict[str, Any]]) -> None:
    options = ("--confidence", "0.9", "--seed", 3, "--gamma", "0.2", "--eta", "0.01", "--seconds", 7)
    printed = answer("plan", "--simulate", mixed, *QUICK, *COST, *options)
    study = StudyFolder.open(mixed)
    cost = Cost(study.outcome(), 0.2, 0.01, 1, 1)
    expected = simulate_study(study, study.people(), [9, 14], cost=cost, n_studies=2, confidence=0.9, seed=3)
    assert printed["simulated"] is True
    assert printed["panels"] == expected.panels.to_dict("records")
    assert printed["cost"]["error_without_judgments"] == expected.error_without_judgments
    assert (printed["cost"]["gamma"], printed["cost"]["eta"], printed["cost"]["fits"]) == (0.2, 0.01, 1)
    assert printed["minutes"]["median"] == minutes_for(12, 7, seed=3).median
    assert printed["design"] == {"uniform": 6, "anchors": 4, "repeats": 2}


def test_in_words(mixed: Path, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]) -> None:
    told = run("plan", "--simulate", mixed, *QUICK, *COST).stdout
    printed = answer("plan", "--simulate", mixed, *QUICK, *COST)
    assert told.startswith("Simulated: no real people were asked. 2 studies for each number of judges")
    for part in (
        "12 pairs for each judge (6 uniform, 4 anchors, 2 repeats), from 60 people",
        "does not tell what real people will say",
        "95% interval",
        "same answer again",
        f"above {printed['cost']['error_without_judgments']:.4f}, the error without judgments",
        "with gamma 0.1 and eta 0:",
        "decision trees of depth 2",
        "Assumed, not measured: a usual pair takes 10 s",
        "at least 1.6 times as slow",
        "Not included: reading consent and task, the practice pair",
    ):
        assert part in told
    for panel in printed["panels"]:
        [_, shared, alpha, low, _, high, half_width] = line_of(told, panel["judges"], after="agreement be known?")
        assert int(shared) == panel["shared_pairs"] >= 4
        shown = [float(number) for number in (alpha, low, high, half_width)]
        names = ("alpha", "alpha_low", "alpha_high", "half_width")
        assert shown == [pytest.approx(panel[name], abs=0.006) for name in names]
        [_, error, lowest, highest, cost] = map(float, line_of(told, panel["judges"], after="cost in error?"))
        assert lowest <= error <= highest
        assert cost == pytest.approx(panel["error"] - printed["cost"]["error_without_judgments"], abs=1e-4)


def line_of(told: str, judges: int, *, after: str) -> list[str]:
    """The words of the line about so many judges in the table below a heading."""
    table = told.split(after, 1)[1].split("\n\n", 1)[0]
    [line] = [line for line in table.splitlines() if line.split()[:1] == [str(judges)]]
    return line.split()


def test_advice_for_agreement_helps(study: Study, run: Callable[..., Result], make: Callable[..., Path]) -> None:
    home = make("alone", "--pairs", 5, outcome=False)
    asked = ("plan", "--simulate", home, "--simulations", 1, "--judges", 2, "--seed", 1)
    told = run(*asked).stdout
    assert "Not at all: no pair is shown to two judges" in told
    assert "made without --outcome" in told
    file = study.folder / "alone" / "study.toml"
    [setting] = re.findall(rf"set (anchors = \d+) below \[design\] in {re.escape(str(file))}", told)
    file.write_text(re.sub(r"^anchors = 0$", setting, file.read_text(), flags=re.MULTILINE))
    told = run(*asked).stdout
    assert "Not at all" not in told
    assert "(4 uniform, 1 anchors)" in told
    assert line_of(told, 2, after="agreement be known?")[1] == "1"


def test_pairs_shared_by_chance_are_called_so(make: Callable[..., Path], run: Callable[..., Result]) -> None:
    told = run(
        "plan", "--simulate", make("many", "--pairs", 200), "--simulations", 1, "--judges", 8, "--fits", 0
    ).stdout
    assert "No pair is shared on purpose" in told
    assert "left out by --fits 0" in told


def test_where_nothing_can_be_told_it_says_none(mixed: Path, run: Callable[..., Result]) -> None:
    told = run("plan", "--simulate", mixed, "--simulations", 1, "--judges", 1, "--fits", 0).stdout
    assert line_of(told, 1, after="agreement be known?") == ["1", "0", "none", "none", "none"]
    assert "none: cannot be told" in told


@pytest.mark.slow
def test_intervals_that_only_some_studies_have_are_no_promise(
    mixed: Path, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]
) -> None:
    asked = ("plan", "--simulate", mixed, "--simulations", 6, "--judges", "3,40", "--fits", 0)
    few, many = answer(*asked)["panels"]
    assert 0 < few["measured"] < many["measured"] == 6
    told = run(*asked).stdout
    assert f"With 3 judges, only {few['measured']} of 6 simulated studies have an interval at all" in told
    assert "With 40 judges, only" not in told
    assert "With fewer than 15 judges or 10 shared pairs the interval is a rough guide only." in told


def test_two_answers_need_no_direction(make: Callable[..., Path], answer: Callable[..., dict[str, Any]]) -> None:
    printed = answer("plan", "--simulate", make("two", "--answers", "two", "--pairs", 8), *QUICK, "--fits", 1)
    assert printed["cost"]["favorable_label"] is None
    assert all(panel["error"] >= printed["cost"]["error_without_judgments"] - 1e-3 for panel in printed["panels"])


@pytest.mark.slow
def test_left_out_it_is_43_judges_and_20_studies(mixed: Path, answer: Callable[..., dict[str, Any]]) -> None:
    printed = answer("plan", "--simulate", mixed, "--fits", 0)
    assert [panel["judges"] for panel in printed["panels"]] == [43]
    assert printed["studies"] == 20
    assert printed["cost"] is None


def test_the_usual_pair_takes_as_long_as_in_python() -> None:
    assert SimulationOptions().seconds == USUAL_SECONDS


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--pairs", "50"], "'--pairs': does not go with --simulate: the study says how many pairs there are"),
        (["--wanted", "0.05"], "'--wanted': does not go with --simulate"),
        (["--correlation", "0.1"], "'--correlation': does not go with --simulate"),
        (["--rate", "0.5"], "'--rate': does not go with --simulate"),
        (["--judges", "0"], "'--judges': 0 is not a whole number"),
        (["--simulations", "0"], "'--simulations': 0 studies cannot be played"),
        (["--seconds", "0"], "'--seconds'"),
        (["--gamma", "2"], "'--gamma': '2' is not a number from 0 to 1"),
    ],
)
def test_wrong_usage(mixed: Path, run: Callable[..., Result], options: list[str], part: str) -> None:
    said = run("plan", "--simulate", mixed, *options, code=2).stderr
    assert part in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("option", ["--gamma", "--eta", "--favorable-label", "--fits", "--seconds"])
def test_what_needs_a_study(run: Callable[..., Result], option: str) -> None:
    assert f"'{option}': needs a study to play: add --simulate DIR" in run("plan", option, "1", code=2).stderr


def test_what_cannot_be_done(mixed: Path, make: Callable[..., Path], run: Callable[..., Result]) -> None:
    assert "give --favorable-label 0 or 1, or --fits 0" in run("plan", "--simulate", mixed, code=1).stderr
    unknown = run("plan", "--simulate", mixed, "--favorable-label", "yes", code=1).stderr
    assert "column returned: 'yes' is not one of the outcomes 0 and 1" in unknown
    bare = make("bare", outcome=False)
    assert "--gamma: " in run("plan", "--simulate", bare, "--gamma", "0.2", code=1).stderr
    assert "there is no such folder" in run("plan", "--simulate", mixed.parent / "nothing", code=1).stderr
    assert "confidence" in run("plan", "--simulate", mixed, "--fits", 0, "--confidence", 1, code=1).stderr


def test_plans_are_those_of_python(answer: Callable[..., dict[str, Any]], run: Callable[..., Result]) -> None:
    printed = answer("plan", "--judges", "20,43", "--pairs", "10:30:10", "--simulations", "50")
    expected = plan([20, 43], [10, 20, 30], n_simulations=50)
    assert [row["judges_needed"] for row in printed["plans"]] == expected["judges_needed"].tolist()
    assert [row["simulated_half_width"] for row in printed["plans"]] == expected["simulated_half_width"].tolist()
    needed = plan(None, 50, n_simulations=0)["judges"].iloc[0]
    said = run("plan", "--simulations", "0").stdout
    assert any(line.split()[:2] == [str(needed), "50"] for line in said.splitlines() if line.strip())


@pytest.mark.parametrize(
    ("options", "code", "part"),
    [
        (["--judges", "0"], 2, "'--judges': 0 is not a whole number"),
        (["--pairs", "x"], 2, "'--pairs': 'x' in 'x' is not a number"),
        (["--wanted", "0"], 1, "wanted=0.0 is not allowed"),
    ],
)
def test_refused_plans(run: Callable[..., Result], options: list[str], code: int, part: str) -> None:
    assert part in run("plan", *options, code=code).stderr
