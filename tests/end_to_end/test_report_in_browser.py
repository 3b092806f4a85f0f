"""The report as people meet it: in a real browser, wide and narrow, light and dark, on paper, without JavaScript."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.accessible import WCAG, axe_on

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.datasets import load_compas
from fairwise.reporting import findings, write_report
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

DESKTOP, PHONE, NARROWEST = (1280, 900), (390, 844), (320, 640)
LONG = "a_name_without_any_end_" * 6 + "<b>後藤</b>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with every section, more judges than fit on a screen, and names that nothing can be ready for."""
    people, outcome = load_compas()
    people = people.rename(columns={"priors_count": LONG})
    simulated = simulate_panel(people.rename(columns={LONG: "priors_count"}), n_judges=30, n_pairs=10, seed=0)
    frame = simulated.frame.replace({"judge": {simulated.judges[0]: LONG}})
    relation = {judge: {"relation": LONG if i % 2 else "affected"} for i, judge in enumerate(frame["judge"].unique())}
    judgments = Judgments(frame, people=people, judge_attributes=relation)
    model = PairwiseFairClassifier("tree", gamma=0.3, eta=0.01, favorable_label=0)
    model.fit(people, outcome, judgments=judgments)
    errors = {0.0: 0.42, 0.3: model.certificate_.error, 1.0: 0.33}
    curve = pd.DataFrame(
        [
            {"judge": judge, "gamma": gamma, "eta": 0.01, "error": error, "error_low": error - 0.01}
            | {"error_high": error + 0.01, "max_violation": gamma, "mean_excess": 0.0}
            for judge in ("panel", *judgments.judges)
            for gamma, error in errors.items()
        ]
    )
    found = findings(
        model,
        people,
        judgments,
        outcome,
        frontier=curve,
        groups=["race", "sex"],
        question=LONG,
        title=f"Report {LONG}",
        simulated=True,
        labels={0: LONG},
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(found, path)
    return path


@contextmanager
def opened(browser: Browser, report: Path, size: tuple[int, int] = DESKTOP, **context: Any) -> Iterator[Page]:
    """The report in a tab; whatever the browser complains about fails the test."""
    width, height = size
    with browser.new_context(viewport={"width": width, "height": height}, **context) as session:
        page = session.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: None if asked.url == report.as_uri() else complaints.append(asked.url))
        page.goto(report.as_uri())
        yield page
        assert [complaint for complaint in complaints if not complaint.startswith("data:,")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing(browser: Browser, report: Path, size: tuple[int, int], scheme: str) -> None:
    with opened(browser, report, size, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
        result = axe_on(page, *WCAG)
        assert result.violations_count == 0, result.generate_report()
        assert len(result.response["passes"]) > 20


@pytest.mark.parametrize("size", [DESKTOP, PHONE, NARROWEST], ids=["desktop", "phone", "narrowest"])
def test_the_page_never_scrolls_sideways(browser: Browser, report: Path, size: tuple[int, int]) -> None:
    with opened(browser, report, size) as page:
        page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_the_dark_page_is_dark_and_so_are_its_figures(browser: Browser, report: Path) -> None:
    colours = """() => {
        const of = (selector, what) => getComputedStyle(document.querySelector(selector))[what];
        return [of("body", "backgroundColor"), of("#figure-frontier .stroke-accent", "stroke")];
    }"""
    seen = []
    for scheme in ("light", "dark"):
        with opened(browser, report, color_scheme=scheme) as page:
            seen.append(page.evaluate(colours))
    (light, light_line), (dark, dark_line) = seen
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    assert dark_line != light_line


def test_values_by_keyboard_and_by_pointer(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        plot, readout = page.locator("#figure-lorenz .plot"), page.locator("#figure-lorenz .readout")
        plot.focus()
        page.keyboard.press("ArrowRight")
        first = readout.inner_text()
        assert first.replace("\N{NO-BREAK SPACE}", " ").startswith("top 1 % of pairs")
        page.keyboard.press("ArrowRight")
        assert readout.inner_text().replace("\N{NO-BREAK SPACE}", " ").startswith("top 5 % of pairs")
        page.keyboard.press("ArrowLeft")
        assert readout.inner_text() == first
        page.keyboard.press("Escape")
        assert readout.inner_text() == ""
        plot.locator("circle").nth(2).hover()
        assert readout.inner_text().replace("\N{NO-BREAK SPACE}", " ").startswith("top 10 % of pairs")


def test_the_skip_link_leads_to_the_report(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_all_is_there_without_javascript(browser: Browser, report: Path) -> None:
    with opened(browser, report, java_script_enabled=False) as page:
        assert page.locator("section").count() == 15
        assert page.locator("svg").count() == 8
        assert not page.locator(".readout").first.is_visible()
        assert page.locator("#figure-lorenz circle title").count() == 10
        page.locator("summary").first.click()
        assert page.locator("details table").first.is_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["with-scripts", "without"])
def test_printing_shows_folded_tables_on_white(browser: Browser, report: Path, scripts: bool) -> None:
    with opened(browser, report, color_scheme="dark", java_script_enabled=scripts) as page:
        paper = page.pdf(format="A4")
        assert paper.startswith(b"%PDF")
        page.emulate_media(media="print")
        box = page.locator("details table").first.bounding_box()
        assert box is not None
        assert box["height"] > 200
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_the_button_prints_and_paper_begins_with_the_message_alone(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.evaluate("window.print = () => { document.title = 'printed'; }")
        page.get_by_role("button", name="Print, or save as PDF").click()
        assert page.title() == "printed"
        page.emulate_media(media="print")
        assert not page.locator("nav").is_visible()
        assert not page.get_by_role("button").is_visible()
        breaks = """() => [document.querySelector("#message"), document.querySelector(".annex")]
            .map((one) => [getComputedStyle(one).breakAfter, getComputedStyle(one).breakBefore])"""
        (after_message, _), (_, before_annex) = page.evaluate(breaks)
        assert (after_message, before_annex) == ("page", "page")


def test_on_a_phone_the_message_comes_before_the_contents(browser: Browser, report: Path) -> None:
    with opened(browser, report, PHONE) as page:
        message, contents = page.locator(".message").bounding_box(), page.locator("nav").bounding_box()
        assert message is not None
        assert contents is not None
        assert contents["y"] > message["y"] + message["height"]
