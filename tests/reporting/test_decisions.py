"""The report on a model of several decisions, or of costs: its tables and sentences, in both languages."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from tests.support.english_left import common_words, untranslated, visible
from tests.support.three_decisions import Tiers

from fairwise.auditing import held_out_errors
from fairwise.reporting import Findings, findings, write_report
from fairwise.reporting.page import render
from fairwise.reporting.words import ENGLISH, words_in

GERMAN_WORDS = {"none": "nichts", "half": "Hälfte", "full": "alles"}


def of(tiers: Tiers) -> Findings:
    data = tiers.people, tiers.outcome, tiers.judgments
    return findings(
        tiers.model,
        tiers.people,
        tiers.judgments,
        tiers.outcome,
        groups=["town"],
        labels=GERMAN_WORDS,
        columns={"town": "Stadt", "age": "Alter", "income": "Einkommen"},
        held_out=held_out_errors(tiers.model, *data, n_repeats=2),
        simulated=True,
    )


@pytest.fixture(scope="module")
def told(tiers: Tiers) -> Findings:
    return of(tiers)


@pytest.fixture(scope="module")
def costly(tiers: Tiers) -> Findings:
    return of(tiers.with_loss())


def test_a_table_says_who_gets_which_decision(told: Findings) -> None:
    page = visible(render(told))
    assert "What is decided" in page
    assert told.decisions is not None
    for line in told.decisions.to_dict("records"):
        assert ENGLISH.percent(line["given"]) in page
    for word in GERMAN_WORDS.values():
        assert f"“{word}” by Stadt" in page
    assert "False positives and true positives are about yes or no." in page
    assert "Chance of “" not in page
    assert "saved for each 10 of 100 points by which a pair alone may differ more" in page
    assert "percentage points by which" not in page


def test_two_labels_have_no_such_table(complete: Findings) -> None:
    assert "What is decided" not in visible(render(complete))


def test_a_mean_cost_is_told_as_such(costly: Findings) -> None:
    page = visible(render(costly))
    error = ENGLISH.quantity(costly.certificate.error)
    assert f"Mean cost of a decision: {error}" in page
    assert "wrong decisions" not in page.lower().replace("wrong decisions in 100", "")
    assert not re.search(r"wrong \d+ times", page)


@pytest.mark.parametrize("which", ["told", "costly"])
def test_in_german_nothing_english_is_left(which: str, request: pytest.FixtureRequest) -> None:
    page = visible(render(request.getfixturevalue(which), language="de"))
    assert not common_words(page)
    assert not untranslated(page, "de")
    assert "Was entschieden wird" in page


def test_the_table_is_a_file_too(told: Findings, tmp_path: Path) -> None:
    write_report(told, tmp_path / "report.html", tmp_path)
    table = pd.read_csv(tmp_path / "decisions.csv")
    assert set(table["decision"]) == set(GERMAN_WORDS.values())
    assert dict(zip(table["decision"], table["value"], strict=True)) == {"nichts": 0.0, "Hälfte": 0.6, "alles": 1.0}


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        (0.0, "0", "0"),
        (0.123456, "0.1235", "0,1235"),
        (-12.5, "\N{MINUS SIGN}12.5", "\N{MINUS SIGN}12,5"),
        (999.96, "1,000", "1.000"),
        (5412345.6, "5,412,346", "5.412.346"),
        (float("nan"), "–", "–"),
    ],
)
def test_quantities(number: float, english: str, german: str) -> None:
    assert ENGLISH.quantity(number) == english
    assert words_in("de").quantity(number) == german


def test_the_curve_that_is_missing_is_added_as_the_page_says(tiers: Tiers, told: Findings) -> None:
    assert told.curve is None
    code = re.search(r"<pre><code>(from fairwise\.auditing import frontier.*?)</code></pre>", render(told), re.DOTALL)
    assert code is not None
    names = {name: getattr(tiers, name) for name in ("people", "outcome", "judgments", "model")}
    *lines, last = unescape(code[1]).splitlines()
    exec("\n".join(lines), names)
    made = eval(last, names)
    assert made.curve is not None
