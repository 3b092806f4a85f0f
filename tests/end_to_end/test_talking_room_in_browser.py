"""A room that talks, in a real browser: phones with scripts and without, the wall, and who leads it in the console."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from tests.support.accessible import axe_on
from tests.support.served import press
from tests.support.talking_in_browser import RoomInBrowser, talking_study

from fairwise.store.export import judgments

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

FOLLOWED = 30_000
"""Milliseconds in which a page must have followed its room, also on a busy machine."""


def see(heading: str, *pages: Page) -> None:
    for page in pages:
        page.get_by_role("heading", level=1, name=heading).wait_for(timeout=FOLLOWED)


def check(*pages: Page) -> None:
    for page in pages:
        result = axe_on(page)
        assert result.violations_count == 0, result.generate_report()
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")  # also of a page loaded just now


def says(page: Page, answer: str) -> None:
    press(page, page.locator(f"button[value={answer}]"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_room_talks(browser: Browser, tmp_path: Path, scheme: str) -> None:
    with talking_study(tmp_path) as (site, address), ExitStack() as pages:
        room = RoomInBrowser(browser, site, address, pages, color_scheme=scheme)
        first, second = room.phone(), room.phone()
        plain = room.phone(java_script_enabled=False)
        see("Wait until everyone is here", first, second, plain)
        check(first, room.wall, room.console)
        first.evaluate("window.stays = true")

        room.lead_on("Begin with the first pair")
        see("Pair 1 of 2", first, second, plain, room.wall)  # by the script, and by being loaded anew
        assert first.evaluate("window.stays")
        assert first.locator("[role=status][data-turn]").inner_text() == "Pair 1 of 2"
        check(first, room.console)
        first.keyboard.press("1")
        see("Wait until the others have answered", first)
        says(second, "a_at_least_b")
        says(plain, "a_at_least_b")
        room.wall.reload()
        assert room.wall.locator(".wall-answered").inner_text() == "3 / 3"
        check(first, room.wall)
        room.wall.evaluate("window.stays = true")

        room.lead_on("Show the answers")
        see("Look at the wall, and talk about it", first, second, plain)
        room.wall.locator(".wall-counts").wait_for(timeout=FOLLOWED)
        assert room.wall.evaluate("window.stays")
        late = room.phone()
        see("Look at the wall, and talk about it", late)
        assert late.get_by_text("You have not answered this pair").is_visible()
        check(late, room.wall, room.console)

        room.lead_on("Answer again")
        see("Pair 1 of 2", first)
        first.reload()
        assert first.get_by_text("Answer again, after talking").is_visible()
        check(first)
        for phone in (first, second, plain):
            see("Pair 1 of 2", phone)
            says(phone, "same")
        room.console.reload()
        room.lead_on("Show both answers")
        room.wall.get_by_role("columnheader", name="After talking").wait_for(timeout=FOLLOWED)
        check(room.wall, room.console)

        room.lead_on("Next pair")
        for phone in (late, plain):
            see("Pair 2 of 2", phone)
            says(phone, "no_constraint")
        for words in ("Show the answers", "End the talk"):
            room.lead_on(words)
        see("That was the last pair", room.wall)
        late.wait_for_url("**/pair/*", timeout=FOLLOWED)  # what was missed, by oneself
        check(room.wall, room.console)
        kept = site.host.store.read_now(judgments).frame
    assert kept["round"].value_counts().to_dict() == {1: 5, 2: 3}
    assert (kept.loc[kept["round"] == 2, "answer"] == "same").all()


def test_nothing_is_taken_from_under_the_hands_of_who_is_about_to_answer(browser: Browser, tmp_path: Path) -> None:
    with talking_study(tmp_path) as (site, address), ExitStack() as pages:
        room = RoomInBrowser(browser, site, address, pages)
        phone = room.phone()
        room.lead_on("Begin with the first pair")
        see("Pair 1 of 2", phone)
        for _ in range(30):
            phone.keyboard.press("Tab")
            if phone.evaluate("document.activeElement.value") == "same":
                break
        phone.evaluate("window.held = document.activeElement")
        for _ in range(2):
            with phone.expect_response(lambda reply: reply.url.endswith("/room/turn"), timeout=FOLLOWED) as asked:
                pass
            assert asked.value.status == 304
        assert phone.evaluate("window.held === document.activeElement && window.held.isConnected")
        with phone.expect_navigation():
            phone.keyboard.press("Enter")
        see("Wait until the others have answered", phone)
        phone.get_by_role("link", name="Change your answer").focus()
        room.lead_on("Show the answers")
        see("Look at the wall, and talk about it", phone)
        assert phone.evaluate("document.activeElement.id") == "main"  # and not the top of the page
        assert list(site.host.store.read_now(judgments).frame["answer"]) == ["same"]
