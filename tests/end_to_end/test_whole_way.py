"""A study from the link to the receipt, in a real browser on a real server: by mouse, by keyboard, on a phone."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.accessible import check_accessible
from tests.support.served import Served, browsing, practise, press, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

PAIRS = 4
NASTY = ["<b>bold</b>", "=1+1", "👩🏽‍🚀 and 日本", "עברית", "long " * 2000, ""]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    table = pd.DataFrame(
        {"id": [f"n{k}" for k in range(12)], "age": range(20, 32), "note": [NASTY[k % len(NASTY)] for k in range(12)]}
    )
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def served(people: Path, tmp_path: Path) -> Iterator[Served]:
    with serving(people, tmp_path) as found:
        yield found


def to_the_pairs(page: Page, served: Served) -> str:
    page.goto(served.address)
    press(page, page.get_by_role("button", name="I agree to take part"))
    mine = page.url.removesuffix("/task")
    press(page, page.get_by_role("button", name="Start"))
    practise(page)
    assert page.url.endswith("/pair/1")
    return mine


def to_the_end(page: Page) -> str:
    assert page.url.split("?")[0].endswith("/review")
    page.locator("main a, main button").filter(
        has_text=re.compile("last questions|closing|finish", re.IGNORECASE)
    ).first.click()
    page.locator("textarea").first.fill("My own rules <script>alert(1)</script>")
    press(page, page.locator("main button").first)
    assert page.url.endswith("/thanks")
    found = re.search(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}", page.inner_text("main"))
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 1280, "height": 900}},
        {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
        {"viewport": {"width": 1280, "height": 900}, "java_script_enabled": False},
        {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", "color_scheme": "dark"},
    ],
    ids=["mouse", "phone", "without-javascript", "dark-and-still"],
)
def test_from_the_link_to_the_receipt(browser: Browser, served: Served, options: dict[str, Any]) -> None:
    with browsing(browser, **options) as (_, page):
        mine = to_the_pairs(page, served)
        for number in range(1, PAIRS + 1):
            assert f"Pair {number} of {PAIRS}" in page.inner_text("main")
            press(page, page.locator("button[value=a_at_least_b]"))
            assert "Saved" in page.inner_text("main")
        code = to_the_end(page)
        page.goto(mine)
        assert code in page.inner_text("main")
    assert served.answers() == ["a_at_least_b"] * PAIRS


def test_by_keyboard_alone(browser: Browser, served: Served) -> None:
    def tab_to(page: Page, text: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            if text in (page.evaluate("document.activeElement.textContent") or ""):
                return
        raise AssertionError(text)

    with browsing(browser) as (_, page):
        page.goto(served.address)
        tab_to(page, "I agree to take part")
        page.keyboard.press("Enter")
        page.wait_for_url("**/task")
        tab_to(page, "Start")
        page.keyboard.press("Enter")
        page.wait_for_url("**/practice")
        page.keyboard.press("1")
        page.wait_for_url("**/practice?*")
        tab_to(page, "Begin with the first pair")
        page.keyboard.press("Enter")
        page.wait_for_url("**/pair/1")
        page.keyboard.press("4")
        page.wait_for_url("**/pair/2*")
        page.keyboard.press("3")
        page.wait_for_url("**/pair/3*")
        tab_to(page, "treated the same")
        page.keyboard.press("Space")
        page.wait_for_url("**/pair/4*")
        page.keyboard.press("2")
        page.wait_for_url("**/review*")
    assert served.answers() == ["no_constraint", "b_at_least_a", "same", "a_at_least_b"]


def test_back_reload_and_a_changed_mind(browser: Browser, served: Served) -> None:
    with browsing(browser) as (_, page):
        to_the_pairs(page, served)
        page.reload()
        for _ in range(PAIRS):
            press(page, page.locator("button[value=same]"))
            page.reload()
        for number in range(PAIRS, 0, -1):  # the browser's own button, all the way
            page.go_back()
            page.wait_for_url(f"**/pair/{number}*")
            page.goto(page.url)  # and the address entered again, which takes the place of the entry
        press(page, page.locator("button[value=no_constraint]"))
        press(page, page.get_by_role("link", name="All answers"))
        page.reload()
        press(page, page.locator("main a[href*='/pair/2']").first)
        assert page.locator("button[value=same]").evaluate(
            "button => button.getAttribute('aria-pressed') === 'true' || /your answer/i.test(button.textContent)"
        )
    assert served.answers() == ["no_constraint", "same", "same", "same"]


def test_two_tabs_and_another_device(browser: Browser, served: Served) -> None:
    with browsing(browser) as (context, page):
        mine = to_the_pairs(page, served)
        other = context.new_page()
        other.goto(page.url)
        press(page, page.locator("button[value=same]"))
        press(other, other.locator("button[value=same]"))
        other.goto(f"{mine}/pair/1")
        press(other, other.locator("button[value=b_at_least_a]"))
        again = context.new_page()
        again.goto(served.address)
        press(again, again.get_by_role("link", name=re.compile("continue|go on|carry on", re.IGNORECASE)).first)
        assert again.url.endswith("/pair/2")
    with browsing(browser) as (_, page):
        page.goto(mine)
        assert page.url.endswith("/pair/2")
    assert served.answers() == ["b_at_least_a"]


def test_double_clicks(browser: Browser, served: Served) -> None:
    with browsing(browser) as (_, page):
        to_the_pairs(page, served)
        for _ in range(PAIRS):
            page.locator("button[value=same]").dblclick(no_wait_after=True)
            page.wait_for_load_state()
            page.wait_for_timeout(150)
            if "/review" in page.url:
                break
    assert set(served.answers()) == {"same"}


def test_declining_and_withdrawing(browser: Browser, served: Served) -> None:
    with browsing(browser) as (_, page):
        page.goto(served.address)
        press(page, page.get_by_role("button", name="I do not want to take part"))
        assert page.url.endswith("/declined")
        mine = to_the_pairs(page, served)
        press(page, page.locator("button[value=same]"))
        press(page, page.get_by_role("link", name="Withdraw from the study"))
        press(page, page.locator("main button").first)
        assert page.url.endswith("/withdrawn")
        assert page.goto(mine).status == 404  # type: ignore[union-attr]
    assert served.answers() == []


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_in_the_language_of_the_browser_or_another(
    browser: Browser, people: Path, tmp_path: Path, scripts: bool
) -> None:
    """German by the browser's wish; English by choice, which stays; German again, on the way; and on another device."""
    with serving(people, tmp_path, languages=["en", "de"]) as served:
        with browsing(browser, locale="de-AT", java_script_enabled=scripts) as (_, page):
            page.goto(served.address)
            assert page.locator("h1").inner_text() == "Möchten Sie teilnehmen?"
            press(page, page.get_by_role("navigation", name="Sprache").get_by_role("link", name="English"))
            press(page, page.get_by_role("button", name="I agree to take part"))
            mine = page.inner_text(".link-text")
            press(page, page.get_by_role("button", name="Start"))
            practise(page)
            assert page.locator("h1").inner_text() == f"Pair 1 of {PAIRS}"
            press(page, page.locator("footer").get_by_role("link", name="Deutsch"))
            for number in range(1, PAIRS + 1):
                assert page.locator("h1").inner_text() == f"Paar {number} von {PAIRS}"
                press(page, page.get_by_role("button", name="Die beiden sollten gleich behandelt werden"))
            press(page, page.get_by_role("link", name="Weiter zu den letzten Fragen"))
            press(page, page.get_by_role("button", name="Abschließen"))
            assert "UTC" in page.inner_text(".receipt")  # written by the browser, where it has a script
        with browsing(browser, locale="de-AT") as (_, page):
            page.goto(mine)
            assert page.locator("h1").inner_text() == "Thank you"
    assert served.answers() == ["same"] * PAIRS


def test_every_page_of_a_study_with_everything(browser: Browser, people: Path, tmp_path: Path) -> None:
    """Axe on every page as it is served, with each optional part."""
    wanted = {"comprehension_check": True, "ask_why": True, "ask_confidence": True, "mark_differences": True}
    with (
        serving(people, tmp_path, **wanted) as served,
        browsing(browser, viewport={"width": 360, "height": 780}) as (_, page),
    ):
        look = partial(check_accessible, page)
        page.goto(served.address)
        look()
        press(page, page.get_by_role("button", name="I agree to take part"))
        look()
        press(page, page.get_by_role("button", name="Start"))
        look()
        for option in ("first", "last"):  # not all right, so a problem is told; then the second try
            for group in page.locator("fieldset").all():
                getattr(group.locator("input[type=radio]"), option).check()
            press(page, page.get_by_role("button", name="Go on"))
            look()
        press(page, page.locator("main .primary"))  # after the last try: what the answers mean
        look()
        press(page, page.locator("button[value=same]"))
        look()
        press(page, page.locator("main .notice button"))
        for _ in range(PAIRS):
            look()
            press(page, page.locator("button[value=same]"))
            look()
            page.locator("textarea[name=why]").fill("because 1 2 3 4")  # digits in a text are no answer
            page.locator("input[name=confidence]").nth(2).check()
            press(page, page.get_by_role("button", name="Next"))
        look()
        to_the_end(page)
        look()
        page.goto(f"{served.address}/nowhere")
        look()
    assert served.answers() == ["same"] * PAIRS
