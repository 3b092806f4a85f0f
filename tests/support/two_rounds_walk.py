"""The whole way of a study with two arms and two rounds: simulated people and one in a browser, and an operator.

The tests walk it, and the pictures of docs/howto/deliberation.md are taken on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from tests.support.operating import PASSWORD
from tests.support.served import browsing, listening, press
from tests.support.two_rounds import FIXED, play_first_round, play_second_round, two_armed_study

from fairwise.simulation import SecondThoughts
from fairwise.store.places import DATABASE_FILE
from fairwise.store.schema import participants
from fairwise.store.store import snapshot
from fairwise.study.recruitment import Keys
from fairwise.web.app import Site
from fairwise.web.console.accounts import setup_key

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page
    from tests.support.tutorial_reader import Look

    from fairwise.bots.participant import BotReturn
    from fairwise.study.folder import StudyFolder

BOTS = 11
WRITTEN, HIDDEN = "Both have done the same before.", "My neighbour Anna was treated otherwise."


@dataclass(frozen=True)
class Walk:
    """What came of it."""

    study: StudyFolder
    seen: list[tuple[str, str]]
    """The arm, and a page of the second round that someone in it was shown; first those of the one in a browser."""

    bots: BotReturn
    pages_of_one: int
    """How many of these pages are of the one in a browser."""


def follow(browser: Browser, home: Path, look: Look, **options: Any) -> Walk:
    """Walk it in a folder of one's own; the options are those of the operator's window."""
    study = two_armed_study(home)
    site, thoughts = Site(study.path, study.path / DATABASE_FILE), SecondThoughts(0.3, 0.2, 0.2)
    with listening(site) as address:
        run = play_first_round(study, address, BOTS)
        with browsing(browser, **options) as (_, page):
            mine = _take_part(page, address)
        with browsing(browser, **options) as (_, page):
            _operate(page, f"{address}/admin", setup_key(site.host), look)
            with browsing(browser, **options) as (_, person):
                everyone = (mine, *run.links.values())
                seen = [(_arm(study, link), html) for link in everyone for html in _pages(person, link)]
                shown = next(link for link in run.links.values() if _arm(study, link) == study.settings.arms[0].name)
                _first_pair(person, shown)
                look(person, "pair", person.locator("main .where, main .opinions"))
                _answer_again(person, mine)
            returned = play_second_round(study, address, run, thoughts)
            page.goto(f"{address}/admin/second-round")
            look(page, "came_back", page.locator("h1, .panel:has(#round), .tiles"))
    return Walk(study, seen, returned, len(seen) // len(everyone))


def _take_part(page: Page, address: str) -> str:
    """Answer all, and say why; returns the own link."""
    page.goto(address)
    press(page, page.get_by_role("button", name="I agree to take part"))
    mine = page.url.removesuffix("/task")
    press(page, page.get_by_role("button", name="Start"))
    for number in range(FIXED):
        press(page, page.locator("button[value=same]"))
        page.get_by_label("Why?").fill(WRITTEN if number else HIDDEN)
        press(page, page.get_by_role("button", name="Next"))
    press(page, page.get_by_role("link", name="Go on"))
    press(page, page.get_by_role("button", name="Finish"))
    return mine


def _operate(page: Page, admin: str, key: str, look: Look) -> None:
    """End the first round, read the reasons, release all but one, and open the second round."""
    page.goto(f"{admin}/setup/{key}")
    page.get_by_label("Name").fill("operator")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("The same password again").fill(PASSWORD)
    press(page, page.get_by_role("button", name="Make the account"))
    page.goto(f"{admin}/second-round")
    page.get_by_label("Yes, for good").check()
    press(page, page.get_by_role("button", name="End the first round"))
    for button in page.get_by_role("button", name="Release all of pair").all_inner_texts():
        press(page, page.get_by_role("button", name=button, exact=True))
    named = page.locator("ul.reasons > li").filter(has_text=HIDDEN)
    press(page, named.get_by_role("button", name="Hide reason"))
    page.goto(f"{admin}/second-round")
    look(page, "reasons", page.locator("#pair-1"))
    page.get_by_label("Yes, with this list of pairs").check()
    press(page, page.get_by_role("button", name="Open the second round"))


def _pages(page: Page, link: str) -> list[str]:
    """Come back by the own link, and look at every pair that is shown again."""
    page.goto(link)
    found = [page.content()]
    for pair in [one.get_attribute("href") for one in page.get_by_role("link", name="Look again").all()]:
        page.goto(f"{link.partition('/p/')[0]}{pair}")
        found.append(page.content())
    return found


def _first_pair(page: Page, link: str) -> None:
    page.goto(link)
    press(page, page.get_by_role("link", name="Go on", exact=True))


def _answer_again(page: Page, link: str) -> None:
    """Change the first answer and keep the others."""
    _first_pair(page, link)
    page.locator("input[value=no_constraint]").check()
    while "/second-round/end" not in page.url:
        press(page, page.get_by_role("button", name="Save and go on"))
        if page.locator("input[value=same]").count():
            page.locator("input[value=same]").check()


def _arm(study: StudyFolder, link: str) -> str:
    token = Keys.hashed(link.rpartition("/")[2])
    with snapshot(study.path / DATABASE_FILE) as connection:
        arm = connection.execute(sa.select(participants.c.arm).where(participants.c.token_hash == token)).scalar_one()
    return str(arm)
