"""A report about amounts says amounts: no chance of a label, no wrong decisions, every loss with its unit."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from tests.support.sums import Sums

from fairwise import PairwiseFairRegressor
from fairwise.auditing import frontier
from fairwise.auditing.findings import Findings
from fairwise.reporting import findings
from fairwise.reporting.page import render, tables


def text(page: str) -> str:
    page = re.sub(r"<(script|style|svg).*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page))).replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture(scope="module")
def told(sums: Sums) -> Findings:
    data = sums.people, sums.outcome, sums.judgments
    curve = frontier(*data, gammas=[0.0, 0.1, 1.0], model=sums.model)
    given: dict[str, Any] = {"frontier": curve, "groups": ["town"], "unit": "€", "simulated": True}
    return findings(sums.model, sums.people, sums.judgments, sums.outcome, **given)


def quantity(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def test_the_page_says_what_is_proved_and_given(told: Findings) -> None:
    page, proved = text(render(told)), told.certificate
    for error in (proved.error, proved.mean_error, proved.plain_error, proved.lower_bound, proved.grid_gap):
        assert f"{quantity(error)} €²" in page
    assert "32 in equal steps from 0 € to 600 €" in page
    assert "differ by at most 60 € against it" in page
    assert "Amounts are from 0 € to 600 €. More is better" in page
    assert told.amounts is not None
    for line in told.amounts.table.to_dict("records"):
        assert f"{quantity(line['recorded'])} € {quantity(line['given'])} € {100 * line['value']:.1f}" in page
    pair = told.dearest[0]
    assert f"60 € more would take {quantity(pair.price / 10)} €² off the error" in page
    assert f"Amount {quantity(600 * pair.gets_a)} € {quantity(600 * pair.gets_b)} €" in page
    assert list(tables(told)["amounts"]["group"]) == ["", "Aix", "Bonn"]


@pytest.mark.parametrize("words", ["wrong decision", "decided wrongly", "percentage point", "hance of", "mean cost"])
def test_words_of_labels_are_not_there(told: Findings, words: str) -> None:
    assert words not in text(render(told))


def test_german_has_its_own_words_and_numbers(told: Findings) -> None:
    page = text(render(told, language="de"))
    assert "Wer wie viel bekommt" in page
    assert f"{quantity(told.certificate.grid_gap).replace('.', ',')} €²" in page
    assert "The model" not in page


def test_less_that_is_better_and_absolute_errors(sums: Sums) -> None:
    model = PairwiseFairRegressor(gamma=0.1, max_depth=1, loss="absolute", larger_is_better=False, grid=5)
    model.fit(sums.people, sums.outcome, judgments=sums.judgments)
    page = text(render(findings(model, sums.people, sums.judgments, sums.outcome, unit="DM")))
    assert "Less is better for a person" in page
    assert f"Mean error: {quantity(model.certificate_.error)} DM" in page
    assert "DM²" not in page
    assert "model=model)" in page  # how to trace the curve


def test_without_outcomes_there_is_no_loss_by_group(sums: Sums) -> None:
    page = text(render(findings(sums.model, sums.people, sums.judgments)))
    assert "Given by the model How well treated, 0 to 100 Everyone" in page
