"""Two rounds in a real browser: on a phone, without scripts and by keyboard, with axe on every new page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.accessible import check_accessible
from tests.support.served import Served, browsing, press, serving
from tests.support.two_rounds import open_second_round

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    people = tmp_path / "people.csv"
    pd.DataFrame({"id": ["x", "y", "z"], "age": [20, 30, 40], "note": ["<b>", "", "=1+1"]}).to_csv(people, index=False)
    choices: dict[str, Any] = {"design": {"fixed": 1}, "deliberation": {"on": True}, "ask_why": True}
    with serving(people, tmp_path, pairs=1, practice=False, **choices) as found:
        yield found


def take_part(page: Page, served: Served, said: str) -> str:
    page.goto(served.address)
    press(page, page.get_by_role("button", name="I agree to take part"))
    mine = page.url.removesuffix("/task")
    press(page, page.get_by_role("button", name="Start"))
    press(page, page.locator(f"button[value={said}]"))
    page.get_by_label("Why?").fill(f"I say {said}")
    check_accessible(page)
    press(page, page.get_by_role("button", name="Next"))
    press(page, page.get_by_role("link", name="Go on"))
    press(page, page.get_by_role("button", name="Finish"))
    check_accessible(page)
    return mine


@pytest.mark.parametrize("options", [PHONE, {"java_script_enabled": False}], ids=["phone", "no-scripts"])
def test_two_rounds(browser: Browser, served: Served, options: dict[str, Any]) -> None:
    people = []
    for said in ("same", "same", "no_constraint", "no_constraint"):
        with browsing(browser, **PHONE) as (_, page):
            people.append(take_part(page, served, said))
    open_second_round(served.database)
    with browsing(browser, **options) as (_, page):
        page.goto(served.address)
        assert page.locator("h1").inner_text() == "The first round is over"
        page.goto(people[0])
        assert page.locator("h1").inner_text() == "The second round"
        press(page, page.get_by_role("link", name="Go on", exact=True))
        assert page.get_by_text("I say no_constraint").count() == 2
        press(page, page.get_by_role("link", name="Report this reason").last)
        press(page, page.get_by_role("button", name="Report this reason"))
        assert page.get_by_text("I say no_constraint").count() == 1
        page.locator("input[value=no_constraint]").check()
        press(page, page.get_by_role("button", name="Save and go on"))
        assert page.locator("h1").inner_text() == "Thank you"
    assert served.answers().count("no_constraint") == 3
    with browsing(browser, **PHONE) as (_, page):
        for path in ("", "/second-round", "/thanks"):
            page.goto(f"{people[1]}{path}")
            check_accessible(page)
        page.goto(served.address)
        check_accessible(page)
        page.goto(f"{people[1]}/second-round/1")
        check_accessible(page)
        press(page, page.get_by_role("link", name="Report this reason").first)
        check_accessible(page)
        page.goto(f"{people[0]}/second-round/end")
        check_accessible(page)


def test_by_keyboard(browser: Browser, served: Served) -> None:
    people = []
    for said in ("same", "same", "no_constraint", "no_constraint"):
        with browsing(browser) as (_, page):
            people.append(take_part(page, served, said))
    open_second_round(served.database)
    with browsing(browser) as (_, page):
        page.goto(f"{people[0]}/second-round/1")
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.name") == "answer":
                break
        page.keyboard.press("Space")
        for _ in range(5):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "BUTTON":
                break
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.url.endswith("/second-round/end")
    assert len(served.answers()) == 5
