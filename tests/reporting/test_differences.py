"""Wherever a report prints a difference beside two numbers, it is the difference of what is printed."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fairwise.numbers import in_100
from fairwise.reporting.figures import draw_figures
from fairwise.reporting.page import render

if TYPE_CHECKING:
    from fairwise.reporting import Findings

TRIED = 12
_CELL = r'<td class="n">([^<]*)</td>'


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", page.replace("\N{NO-BREAK SPACE}", " "))


def number(pattern: str, page: str) -> Decimal:
    found = re.search(pattern, page)
    assert found is not None, pattern
    return Decimal(found[1])


def test_cost_and_gap(complete: Findings) -> None:
    drawings, rng = draw_figures(complete), np.random.default_rng(0)
    for _ in range(TRIED):
        plain, error = sorted(rng.uniform(0.2, 0.5, 2).tolist())
        bound = float(error - 10.0 ** rng.uniform(-6, -3))
        proved = replace(complete.certificate, error=error, lower_bound=bound, gap=error - bound)
        page = text_of(render(replace(complete, certificate=proved, plain_error=plain), drawings))
        cost = re.search(r"costs ([\d.]+) more wrong decisions? in 100 \(([\d.]+) instead of ([\d.]+)\)", page)
        assert cost is not None
        more, wrong, without = map(Decimal, cost.groups())
        assert more == wrong - without > 0
        beats = re.search(r"beats always saying “[^”]*” by ([\d.]+) in 100", page)
        if beats is not None:
            assert complete.guess_error is not None
            assert Decimal(beats[1]) == in_100(complete.guess_error) - wrong
        two = number(r"Its error</dt><dd>([\d.]+) % of the people", page)
        least = number(r"Proven least error</dt><dd>([\d.]+) %\.", page)
        if two == least:
            assert "Nothing that these digits show is left to gain" in page
        else:
            assert number(r"At most about ([\d.]+) percentage points? are left to gain", page) == two - least


@pytest.mark.parametrize("reason", [None, "a threshold on a mixture is outside that class"])
def test_why_a_model_is_below_the_bound(complete: Findings, reason: str | None) -> None:
    above = complete.certificate.error + 0.01
    below = replace(complete.certificate, lower_bound=above, gap=-0.01, below_because=reason)
    page = text_of(render(replace(complete, certificate=below)))
    assert f"This model is below it because{': ' + reason if reason else ' it breaks the rules a little'}." in page


def test_pairs_and_groups(complete: Findings) -> None:
    page = text_of(render(complete))
    cards = re.findall(r'<li class="card">.*?</table>', page)
    assert len(cards) == len(complete.dearest)
    not_followed = 0
    for card in cards:
        chances = re.search(r"<tfoot>.*?<td>([\d.]+) %</td><td>([\d.]+) %</td>", card)
        broken = re.search(r"the chances differ by ([\d.]+) percentage", card)
        assert chances is not None
        if broken is not None:
            not_followed += 1
            assert Decimal(broken[1]) == abs(Decimal(chances[1]) - Decimal(chances[2]))
    assert not_followed
    tables = re.findall(r"<caption>Rates by .*?</table>", page)
    assert tables
    for table in tables:
        body, foot = table.split("<tfoot>")
        rows = [re.findall(_CELL, line)[1:] for line in re.findall(r"<tr><th scope=.row.*?</tr>", body)]
        for column, told in zip(zip(*rows, strict=True), re.findall(_CELL, foot), strict=True):
            shares = [Decimal(cell.removesuffix(" %")) for cell in column if cell.endswith("%")]
            assert Decimal(told) == max(shares) - min(shares)


def test_the_row_of_the_chosen_point_is_the_model(complete: Findings) -> None:
    page = text_of(render(complete))
    row = re.search(r'<tr class="chosen">.*?</tr>', page)
    assert row is not None
    assert re.findall(_CELL, row[0])[0] == f"{100 * complete.certificate.error:.1f} %"


@pytest.mark.parametrize("weighted", [False, True])
def test_a_share_beside_counts_says_when_it_is_no_quotient_of_them(complete: Findings, *, weighted: bool) -> None:
    judgments = complete.audit.judgments
    weight = np.arange(len(judgments)) % 2 + 1.0 if weighted else 2.0
    audit = replace(complete.audit, judgments=judgments.assign(weight=weight))
    page = text_of(render(replace(complete, audit=audit), draw_figures(complete)))
    assert ("Shares in this annex count each with its weight" in page) == weighted
