"""`fairwise check`: what the answers of a study say, in words and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from fairwise import Judgments
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


@pytest.mark.filterwarnings("ignore:Column .* is read as")  # as the installed command does; its own note is tested
def test_how_columns_are_read_is_told_and_can_be_changed(
    study: Study, answer: Callable[..., dict[str, Any]], run: Callable[..., Result]
) -> None:
    people = pd.read_csv(study.people, dtype=str)
    id_column = str(people.columns[0])
    people["debts"] = [str(number) for number in range(len(people))]
    people.loc[4, "debts"] = "?"
    people["since"] = pd.date_range("2020", periods=len(people)).astype(str)
    people.to_csv(study.people, index=False)
    result = run("check", *study.files)
    assert f"(line 6, id {people[id_column][4]})" in result.stderr
    assert "Column 'debts' is read as 60 categories, because 1 of 60 values is no number" in result.stderr
    columns = answer("check", *study.files)["columns"]
    assert columns["debts"] == {"kind": "category", "categories": 60, "missing": False}
    assert columns["since"] == {"kind": "date", "missing": False}
    for option in (("--na-values", "?"), ("--numeric", "debts")):
        result = run("check", *study.files, *option)
        assert "Columns read as numbers:" in result.stdout
        assert ("'debts': 1 value" in result.stderr) == ("--numeric" in option)
        assert answer("check", *study.files, *option)["columns"]["debts"] == {"kind": "number", "missing": True}
    fit = run("fit", *study.to_fit, "--no-held-out")
    assert fit.stderr.count("is read as 60 categories") == 1
    assert "Columns read as" in fit.stdout
