"""The pages of a study as people use them: by keyboard, by mouse, twice by mistake, and without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.page_gallery import ME, PREFIX, visiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("key", [1, 2, 3, 4])
def test_a_number_key_answers_once(browser: Browser, key: int) -> None:
    with visiting(browser) as visit:
        page = visit.open("pair")
        page.keyboard.press(str(key))
        page.wait_for_selector("text=Pair 8 of 50")
        expected = ["same", "a_at_least_b", "b_at_least_a", "no_constraint"][key - 1]
        sent = {"csrf": "the-csrf", "key": "the-key", "nonce": "the-nonce", "stamp": "the-stamp", "answer": expected}
        assert visit.sent == [(f"{PREFIX}/p/token/pair/7", sent)]


def test_number_keys_answer_only_what_is_asked(browser: Browser) -> None:
    with visiting(browser) as visit:
        page = visit.open("pair-two")
        for other in ("3", "4", "5", "0", "a", "Control+1", "Alt+2", "Shift+1"):
            page.keyboard.press(other)
        page = visit.open("why")
        page.locator("#why").focus()
        page.keyboard.type(" 1234")
        assert page.locator("#why").input_value().replace("because", "") == " 1234"
        page.locator("#confidence").focus()
        page.keyboard.press("1")
        page.wait_for_timeout(200)
        assert visit.sent == []


def test_number_keys_can_be_switched_off_and_stay_off(browser: Browser) -> None:
    with visiting(browser) as visit:
        page = visit.open("pair")
        assert page.locator("kbd").first.is_visible()
        page.get_by_role("button", name="Switch number keys off").click()
        assert not page.locator("kbd").first.is_visible()
        page = visit.open("pair-full")
        page.keyboard.press("1")
        page.wait_for_timeout(200)
        assert visit.sent == []
        page.get_by_role("button", name="Switch number keys on").click()
        page.keyboard.press("1")
        page.wait_for_selector("text=Pair 8 of 50")
        assert visit.answers() == ["same"]


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.value ?? document.activeElement.textContent.trim()"))


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_tab_and_enter_answer(browser: Browser, scripts: bool) -> None:
    with visiting(browser, java_script_enabled=scripts) as visit:
        page = visit.open("pair")
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the main part"
        page.keyboard.press("Tab")
        assert focused(page) == "Undo"
        for value in ("same", "a_at_least_b", "b_at_least_a"):
            page.keyboard.press("Tab")
            assert focused(page) == value
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Pair 8 of 50")
        assert visit.answers() == ["b_at_least_a"]


def test_focus_is_seen(browser: Browser) -> None:
    with visiting(browser) as visit:
        page = visit.open("pair-full")
        page.keyboard.press("Tab")
        for _ in range(9):
            page.keyboard.press("Tab")
            style = "getComputedStyle(document.activeElement)"
            assert page.evaluate(f"[{style}.outlineStyle, {style}.outlineWidth]") == ["solid", "3px"], focused(page)


def test_the_skip_link_leads_to_the_main_part(browser: Browser) -> None:
    with visiting(browser) as visit:
        page = visit.open("review")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_why_and_confidence_go_with_the_answer(browser: Browser, scripts: bool) -> None:
    with visiting(browser, java_script_enabled=scripts) as visit:
        page = visit.open("why")
        page.get_by_label("Why?").fill("because\nof “this” & that")
        page.get_by_label("Very sure").check()
        page.get_by_role("button", name="Next").click()
        page.wait_for_selector("text=Pair 8 of 50")
        ((_, fields),) = visit.sent
        assert fields["why"] == "because\r\nof “this” & that"
        assert (fields["answer"], fields["confidence"]) == ("a_at_least_b", "5")


def test_a_double_click_answers_one_pair_and_not_the_next(browser: Browser) -> None:
    with visiting(browser) as visit:
        page = visit.open("pair")
        page.locator("button[name=answer]").first.dblclick()
        page.wait_for_selector("text=Pair 8 of 50")
        page.wait_for_timeout(200)
        assert visit.answers() == ["same"]
        assert page.locator("h1").inner_text() == "Pair 8 of 50"
        page.evaluate("""() => document.querySelector("button[value=same]")
            .dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, detail: 2}))""")
        page.wait_for_timeout(200)
        assert visit.answers() == ["same"]


def test_a_form_is_sent_once_until_one_comes_back(browser: Browser) -> None:
    with visiting(browser) as visit:
        page = visit.open("pair")
        page.evaluate("""() => {
            const button = document.querySelector("button[value=same]");
            for (const _ of [1, 2, 3]) button.click();
        }""")
        page.wait_for_selector("text=Pair 8 of 50")
        assert visit.answers() == ["same"]
        page.go_back()
        page.wait_for_selector("text=Pair 7 of 50")
        page.locator("button[value=no_constraint]").click()
        page.wait_for_selector("text=Pair 8 of 50")
        assert visit.answers() == ["same", "no_constraint"]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("consent-again", "decision"),
        ("check-again", "order"),
        ("pair-problem", "answer"),
        ("pair-odd", "answer"),
    ],
)
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_a_problem_has_the_focus_and_leads_to_its_field(browser: Browser, name: str, field: str, scripts: bool) -> None:
    with visiting(browser, java_script_enabled=scripts) as visit:
        page = visit.open(name)
        assert page.title().startswith("Error: ")
        page.locator(".summary:focus").wait_for()  # a browser gives it the focus when it draws the page
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/{name}#{field}")  # a busy machine takes its time
        if field != "decision":
            page.locator(f"#{field}:focus").wait_for()


def test_the_own_link_can_be_copied(browser: Browser) -> None:
    with visiting(browser, permissions=["clipboard-read", "clipboard-write"]) as visit:
        page = visit.open("task")
        page.get_by_role("button", name="Copy the link").click()
        page.wait_for_selector("text=Copied")
        assert page.evaluate("navigator.clipboard.readText()") == ME.link


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_long_texts_are_folded_and_the_keyboard_unfolds_them(browser: Browser, scripts: bool) -> None:
    with visiting(browser, java_script_enabled=scripts) as visit:
        page = visit.open("pair-odd")
        long = page.locator("details.long").first
        folded = long.bounding_box()["height"]  # type: ignore[index]
        long.locator("summary").focus()
        page.keyboard.press("Enter")
        long.get_by_text("Show less").wait_for()
        assert long.bounding_box()["height"] > 10 * folded  # type: ignore[index]
        assert len(long.locator(".whole").inner_text()) > 1000


def test_a_receipt_says_the_time_where_the_reader_is(browser: Browser) -> None:
    with visiting(browser, timezone_id="Asia/Tokyo", locale="en-GB") as visit:
        assert "9 March 2026" in visit.open("thanks").locator("time").inner_text()
        assert "23:05" in visit.open("thanks").locator("time").inner_text()
    with visiting(browser, timezone_id="Asia/Tokyo", java_script_enabled=False) as visit:
        assert visit.open("thanks").locator("time").inner_text() == "9 March 2026, 14:05 UTC"


def test_what_was_written_is_not_lost_without_asking(browser: Browser) -> None:
    with visiting(browser) as visit:
        asked: list[str] = []

        def leave(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.accept()

        page = visit.open("closing")
        page.on("dialog", leave)
        page.get_by_label("anything else").press_sequentially("hello")
        page.get_by_role("button", name="Finish").click()
        page.wait_for_selector("text=Pair 8 of 50")
        assert asked == []
        page = visit.open("closing")
        page.get_by_label("anything else").press_sequentially("hello")
        visit.open("pair")
        assert asked == ["beforeunload"]
