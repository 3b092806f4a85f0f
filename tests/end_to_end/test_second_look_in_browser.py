"""A second look in a real browser: by mouse without scripts, by keyboard, with reload, back and double clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.accessible import axe_on
from tests.support.served import Served, browsing, practise, press, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

PAIRS = 4


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Two people, compared twice, among four pairs of three people."""
    people = tmp_path / "people.csv"
    pd.DataFrame({"id": ["x", "y", "z"], "age": [20, 30, 40], "note": ["<b>", "", "=1+1"]}).to_csv(people, index=False)
    with serving(people, tmp_path, pairs=PAIRS, second_look=True, design={"repeats": 1}) as found:
        yield found


def to_the_second_look(page: Page, served: Served) -> str:
    """Always the left one first, and so both ways round."""
    page.goto(served.address)
    press(page, page.get_by_role("button", name="I agree to take part"))
    mine = page.url.removesuffix("/task")
    press(page, page.get_by_role("button", name="Start"))
    practise(page)
    for _ in range(PAIRS):
        press(page, page.locator("button[value=a_at_least_b]"))
    assert page.url.split("?")[0] == f"{mine}/review"
    press(page, page.get_by_role("button", name="Go on"))
    assert page.url == f"{mine}/second-look"
    return mine


@pytest.mark.parametrize(
    "options",
    [{"viewport": {"width": 390, "height": 844}}, {"java_script_enabled": False}, {"color_scheme": "dark"}],
    ids=["phone", "no-scripts", "dark"],
)
def test_one_answer_is_changed_and_both_are_kept(browser: Browser, served: Served, options: dict[str, Any]) -> None:
    with browsing(browser, **options) as (_, page):
        mine = to_the_second_look(page, served)
        for _ in range(2):  # reload changes nothing
            assert page.locator("h1").inner_text() == "A second look"
            assert page.get_by_role("link", name="Look again at pair").count() == 2
            page.reload()
        press(page, page.get_by_role("link", name="Look again at pair").last)
        changed = page.url.rpartition("/")[2]
        press(page, page.get_by_role("link", name="Leave this answer as it is"))
        assert page.url == f"{mine}/second-look#pair-{changed}"
        assert page.get_by_text("Before:").count() == 0
        press(page, page.get_by_role("link", name=f"Look again at pair {changed}"))
        page.locator("button[value=same]").dblclick()
        page.wait_for_url(f"**/second-look?saved={changed}#pair-{changed}")
        line = page.locator(f"#pair-{changed}")
        assert "Saved" in line.inner_text()
        assert "Before: Person 2 should be treated at least as well as person 1" in line.inner_text()
        press(page, page.get_by_role("link", name="Go on to the last questions"))
        press(page, page.get_by_role("link", name="Back to the second look"))
        press(page, page.get_by_role("link", name="Go on to the last questions"))
        press(page, page.get_by_role("button", name="Finish"))
        assert page.url == f"{mine}/thanks"
        page.goto(f"{mine}/second-look")
        assert page.url == f"{mine}/thanks"
    assert sorted(served.answers()) == ["a_at_least_b"] * PAIRS + ["same"]


def test_by_keyboard_and_with_the_back_button(browser: Browser, served: Served) -> None:
    with browsing(browser) as (_, page):
        mine = to_the_second_look(page, served)
        result = axe_on(page)
        assert result.violations_count == 0, result.generate_report()
        page.go_back()  # to the list, which is left behind
        page.goto(f"{mine}/review")
        assert page.url == f"{mine}/second-look"
        for _ in range(20):
            page.keyboard.press("Tab")
            if "Keep my answers" in (page.evaluate("document.activeElement.textContent") or ""):
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/closing")
        press(page, page.get_by_role("button", name="Finish"))
        assert page.url == f"{mine}/thanks"
    assert served.answers() == ["a_at_least_b"] * PAIRS
