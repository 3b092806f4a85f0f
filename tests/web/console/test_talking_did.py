"""The console tells what talking did: the numbers of a fit, in either language, and dashes for none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.fits import done_job
from tests.support.operating import Operating, operating

from fairwise.jobs.work import effects_of
from fairwise.judgments import Judgments
from fairwise.messages import translated
from fairwise.results.effects import CHECKS, HYPOTHESES
from fairwise.simulation import draw_pairs, simulate_panel, simulate_second_round
from fairwise.store.export import SecondRound
from fairwise.store.fit_files import EFFECTS, job_folder
from fairwise.tables.output import json_text
from fairwise.web.console.base import LANGUAGE_COOKIE, results_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

PEOPLE = pd.DataFrame({"age": [20.0, 31, 42, 53, 64, 25, 36, 47]}, index=pd.Index([f"p{k}" for k in range(8)]))

MINUS = "\N{MINUS SIGN}"


@pytest.fixture
def console(make_study: Callable[..., StudyFolder], tmp_path: Path) -> Iterator[Operating]:
    with operating(make_study().path, tmp_path / "study.sqlite") as opened:
        opened.set_up()
        yield opened


def found(*, back: bool) -> dict[str, Any]:
    """What a fit says of simulated people of two arms, who came back or did not."""
    first = simulate_panel(PEOPLE, 16, answers="four", pairs=draw_pairs(PEOPLE, 1, 8, seed=1)[0], seed=1)
    second = simulate_second_round(first, persuasion=0.9, seed=1)
    said = second.judgments
    frame = said.frame if back else said.frame[said.frame["round"] == 1]
    told = effects_of(Judgments(frame), SecondRound(said.judge_attributes, second.reasons, "control"))
    content: dict[str, Any] = json.loads(json_text(told.to_json()))
    return content


def page_of(console: Operating, content: dict[str, Any] | None, language: str = "en") -> str:
    host = console.site.host
    job_id = done_job(host.store, host.path, {"known-as-1": 0.5})
    if content is not None:
        (job_folder(host.path, job_id) / EFFECTS).write_text(json.dumps(content), encoding="utf-8")
    console.client.cookies.set(LANGUAGE_COOKIE, language)
    return console.get(f"/fits/{job_id}").text


def test_each_hypothesis_is_told_with_its_numbers(console: Operating) -> None:
    content = found(back=True)
    page = page_of(console, content)
    assert "What talking did" in page
    assert "reasons against control: what is stated, and what is found" in page
    assert "95 in 100 interval" in page
    for test in content["tests"]:
        assert test["statement"] in page
        assert f">{test['effect']:.3f}".replace("-", MINUS) in page
        if test["low"] is None:
            continue
        assert f"{test['low']:.3f} to {test['high']:.3f}".replace("-", MINUS) in page
    assert sum(test["low"] is not None for test in content["tests"]) >= 4
    for line in content["arms"]:
        assert f"{line['alpha_before']:.2f} (".replace("-", MINUS) in page
        assert f"{100 * line['towards_reasons']:.1f} %" in page


def test_what_would_be_learned_is_told_by_arm(console: Operating) -> None:
    names = ("arm", "error_before", "error_after", "error_change", "error_change_low", "error_change_high")
    learned = [
        dict(zip((*names, "treated_differently"), line, strict=True))
        for line in (
            ("control", 0.301, 0.302, 0.001, -0.01, 0.02, 0.0),
            ("reasons", 0.4114, 0.3777, -0.0337, -0.05, -0.02, 0.256),
            ("everyone", None, None, None, None, None, None),
        )
    ]
    settings = {"gamma": 0.1, "eta": 0.0, "least_change": 0.01, "confidence": 0.95, "n_resamples": 40, "n_draws": 99}
    content = found(back=True) | {"learned": {"arms": learned, "rates": [], "tests": [], **settings}}
    page = page_of(console, content)
    table = page.partition("What would be learned before and after")[2].partition("</table>")[0]
    assert "41.1 %" in table
    assert "37.8 %" in table
    assert f"{MINUS}3.3 ({MINUS}5.0 to {MINUS}2.0)" in table, "the difference of the printed errors"
    assert "25.6 %" in table
    assert "None" not in table


def test_it_is_told_in_german(console: Operating) -> None:
    content = found(back=True)
    page = page_of(console, content, "de")
    assert "Was das Gespräch bewirkt hat" in page
    for test in content["tests"]:
        statement = {**HYPOTHESES, **CHECKS}[test["name"]]
        assert translated(statement, results_language("de")) in page
        assert statement not in page
    assert f"{content['tests'][2]['effect']:.3f}".replace(".", ",").replace("-", MINUS) in page


def test_where_nobody_came_back_it_says_so(console: Operating) -> None:
    page = page_of(console, found(back=False))
    assert "Nobody came back for a second round, so no change can be told." in page
    assert "None" not in page.partition("What talking did")[2].partition("</section>")[0]


def test_a_fit_without_a_second_round_says_nothing(console: Operating) -> None:
    assert "What talking did" not in page_of(console, None)
