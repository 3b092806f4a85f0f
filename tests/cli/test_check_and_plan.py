from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from fairwise import Judgments
from fairwise.auditing import plan
from fairwise.judgments import krippendorff_alpha

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Study
    from typer.testing import Result


def test_the_numbers_are_those_of_python(study: Study, answer: Callable[..., dict[str, Any]]) -> None:
    printed = answer("check", *study.files)
    judgments = Judgments.read(study.judgments)
    assert printed["people"] == 60
    assert printed["judges"] == 4
    assert printed["judged_people"] == 20
    assert printed["answers"] == judgments.counts().sum().to_dict()
    expected = krippendorff_alpha(judgments)
    found = printed["agreement"]["four answers"]
    assert (found["alpha"], found["low"], found["high"]) == (expected.alpha, expected.low, expected.high)
    assert sum(printed["outcomes"].values()) == 60
    assert printed["repeats"]["share"] is None  # not NaN, which is no JSON


def test_in_words(study: Study, run: Callable[..., Result]) -> None:
    said = run("check", *study.files).stdout
    for part in (
        "60 people in",
        "4 judges, 40 answers",
        "They fit together",
        "need --favorable-label",
        "Krippendorff's alpha",
        "Ordered answers that favour the left",
        "Pairs on which judges are opposed",
        "Orders in circles",
    ):
        assert part in said


def everyone_says(study: Study, answers: list[str]) -> None:
    """Every judge says the first about the first pair, and so on."""
    frame = study.judgments_frame()
    frame["answer"] = [answers[i % 10 % len(answers)] for i in range(len(frame))]
    frame.to_csv(study.judgments, index=False)


def test_agreement_and_a_preferred_side_in_words(study: Study, run: Callable[..., Result]) -> None:
    everyone_says(study, ["same", "a_at_least_b"])
    said = run("check", *study.files).stdout
    assert "So judges agree well." in said
    assert "The left seems to be preferred" in said
    everyone_says(study, ["a_at_least_b", "b_at_least_a"])
    assert "No clear sign that a side was preferred." in run("check", *study.files).stdout


def test_conflicts_are_shown_with_names(study: Study, run: Callable[..., Result]) -> None:
    rows = [("ann", 0, 1), ("ann", 1, 2), ("ann", 2, 0), ("bea", 1, 0)]
    frame = pd.DataFrame([{"judge": j, "a": f"p{a}", "b": f"p{b}", "answer": "a_at_least_b"} for j, a, b in rows])
    frame.to_csv(study.judgments, index=False)
    said = run("check", *study.files).stdout
    assert "Opposed, for instance: p0 and p1 (1 against 1 judges)" in said
    assert "In a circle, for instance: judge ann: p0 at least as well as p1" in said


@pytest.mark.parametrize(
    ("column", "value", "part"),
    [
        ("a", "nobody", "line 4, column a: 'nobody' is not the id of anyone in people"),
        ("answer", "sme", "line 4, column answer: 'sme' is not an answer (did you mean 'same'?)"),
        ("judge", None, "line 4, column judge: empty is no judge"),
        ("b", "p4", "line 4, column b: 'p4' is also a"),
    ],
)
def test_what_does_not_fit_together(
    study: Study, run: Callable[..., Result], column: str, value: Any, part: str
) -> None:
    frame = study.judgments_frame()
    frame.loc[2, column] = value
    frame.to_csv(study.judgments, index=False)
    assert f"{study.judgments}, {part}" in run("check", *study.files, code=1).stderr


def test_rows_that_only_measure_are_no_answers(study: Study, run: Callable[..., Result]) -> None:
    study.judgments_frame().assign(design="repeat").to_csv(study.judgments, index=False)
    assert "not a single answer that counts" in run("check", *study.files, code=1).stderr


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
