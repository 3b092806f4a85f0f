"""A room that talks, in a real browser: who leads it, its wall, and phones; for tests and for pictures."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd
from tests.support.operating import PASSWORD
from tests.support.served import browsing, listening, press

from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile
from fairwise.web.app import Site
from fairwise.web.console.accounts import setup_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from playwright.sync_api import Browser, Page

PHONE = {"viewport": {"width": 390, "height": 844}}
WALL = {"viewport": {"width": 1920, "height": 1080}}
CONSOLE = {"viewport": {"width": 1100, "height": 800}}
PEOPLE = pd.DataFrame(
    {
        "id": ["x", "y", "z", "v"],
        "age": [24, 34, 51, 42],
        "earlier offences": [4, 3, 0, 1],
        "charge": ["misdemeanour", "felony", "felony", "misdemeanour"],
    }
)


class RoomInBrowser:
    """The console page of a room; further pages are opened as long as `open_pages` is open."""

    def __init__(self, browser: Browser, site: Site, address: str, open_pages: ExitStack, **options: Any) -> None:
        self._browser, self._address, self._open_pages = browser, address, open_pages
        self._options = options
        self.console = self.new(CONSOLE)
        self.console.goto(f"{address}/admin/setup/{setup_key(site.host)}")
        for field, words in (("name", "Ada"), ("password", PASSWORD), ("again", PASSWORD)):
            self.console.locator(f"input[name={field}]").fill(words)
        press(self.console, self.console.locator("main form button").first)
        self.console.goto(f"{address}/admin/coming")
        self.console.get_by_label("Name of a new room").fill("Class 7b")
        press(self.console, self.console.get_by_role("button", name="Open the room"))
        press(self.console, self.console.get_by_role("link", name="Lead the talk"))
        self.code = self.console.url.rpartition("/")[2]
        self.wall = self.new(WALL)
        self.wall.goto(f"{address}/room/{self.code}/wall")

    def new(self, size: dict[str, Any], **options: Any) -> Page:
        _, page = self._open_pages.enter_context(browsing(self._browser, **size, **self._options, **options))
        return page

    def phone(self, **options: Any) -> Page:
        """Somebody comes in."""
        page = self.new(PHONE, **options)
        page.goto(f"{self._address}/room/{self.code}")
        press(page, page.get_by_role("button", name="I agree to take part"))
        press(page, page.get_by_role("button", name="Start"))
        return page

    def lead_on(self, words: str) -> None:
        press(self.console, self.console.get_by_role("button", name=words))

    def answer(self, phones: Sequence[Page], answers: Sequence[str]) -> None:
        """Each phone presses its answer to the pair that the room is at."""
        for phone, said in zip(phones, answers, strict=True):
            phone.reload()
            press(phone, phone.locator(f"button[value={said}]"))


@contextmanager
def talking_study(folder: Path, pairs: int = 2) -> Iterator[tuple[Site, str]]:
    """A study whose rooms talk, and its address."""
    people = folder / "people.csv"
    PEOPLE.to_csv(people, index=False)
    told: dict[str, Any] = {
        "title": "Who goes home",
        "treated_well": "to go home",
        "pairs": pairs,
        "practice": False,
        "design": {"fixed": pairs},
        "deliberation": {"rooms": True},
    }
    study = new_study(folder / "study", PeopleFile.read(people, "id"), list(PEOPLE.columns[1:]), told)
    site = Site(study.path, folder / "study.sqlite")
    with listening(site) as address:
        yield site, address


def follow(browser: Browser, folder: Path, take: Callable[[Page, str], None]) -> None:
    """A room of five phones and its first pair, with pictures of what each of them shows on the way."""
    with talking_study(folder) as (site, address), ExitStack() as open_pages:
        room = RoomInBrowser(browser, site, address, open_pages)
        phones = [room.phone() for _ in range(5)]
        room.lead_on("Begin with the first pair")
        phones[0].reload()
        take(phones[0], "phone")
        room.answer(phones, ("same", "same", "a_at_least_b", "no_constraint", "a_at_least_b"))
        room.lead_on("Show the answers")
        take(room.console, "leading")
        room.lead_on("Answer again")
        room.answer(phones, ("same", "same", "same", "no_constraint", "a_at_least_b"))
        room.lead_on("Show both answers")
        room.wall.reload()
        take(room.wall, "wall")
