"""Watching a study in a real browser: numbers that renew themselves, on a laptop and a phone, light and dark."""

from __future__ import annotations

import csv
import re
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from playwright.sync_api import expect
from tests.support.accessible import WCAG, axe_on
from tests.support.operating import PASSWORD
from tests.support.served import browsing, press
from tests.support.served_site import serving_site

from fairwise.store.operators import add_operator
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile
from fairwise.web.console.accounts import hashed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

PAGES = ("", "/participants", "/participants/1", "/participants/1/erase", "/coming", "/downloads")
LOOKS = [((1280, 900), "light"), ((1280, 900), "dark"), ((360, 780), "light"), ((360, 780), "dark")]


@contextmanager
def site(home: Path) -> Iterator[str]:
    """A site with a study and an owner's account; yields its address."""
    people = pd.DataFrame({"id": [f"p{k}" for k in range(12)], "age": range(20, 32), "note": ["x"] * 12})
    people.to_csv(home / "people.csv", index=False)
    told = {"title": "Who goes home", "treated_well": "to go home", "pairs": 3, "practice": False, "ask_why": True}
    study = new_study(home / "study", PeopleFile.read(home / "people.csv", "id"), ["age", "note"], told)
    with serving_site(study.path, home / "study.sqlite") as served:
        password = hashed(PASSWORD)
        add = partial(add_operator, name="Ada", password_hash=password, role="owner", at=datetime.now(UTC))
        served.site.host.store.change_now(add)
        yield served.address


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with site(tmp_path) as found:
        yield found


def log_in(page: Page, address: str) -> None:
    page.goto(f"{address}/admin/login")
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Password").fill(PASSWORD)
    press(page, page.get_by_role("main").get_by_role("button", name="Log in"))


def take_part(page: Page, address: str, answers: int) -> None:
    page.goto(address)
    press(page, page.locator("[name=decision][value=agree]"))
    while "/pair/" not in page.url:
        press(page, page.locator("main form button:visible").first)
    for _ in range(answers):
        press(page, page.locator("button[name=answer]").first)
        press(page, page.get_by_role("button", name="Next"))  # it asks why


def number(page: Page, words: str) -> str:
    return page.locator(".tile", has_text=words).locator("dd").first.inner_text().splitlines()[0]


def test_numbers_renew_themselves(browser: Browser, address: str) -> None:
    with browsing(browser) as (_, page), browsing(browser) as (_, other):
        log_in(page, address)
        assert (number(page, "Started"), number(page, "Pairs answered")) == ("0", "0")
        take_part(other, address, 2)
        expect(page.locator(".tile", has_text="Pairs answered").locator("dd")).to_have_text(
            re.compile("^2"), timeout=120_000
        )
        assert number(page, "Started") == "1"
        page.context.clear_cookies()
        page.wait_for_selector("text=no longer renewed", timeout=120_000)


def test_without_scripts_everything_is_there_by_reloading(browser: Browser, address: str) -> None:
    with browsing(browser, java_script_enabled=False) as (_, page):
        log_in(page, address)
        assert page.get_by_text("Reload the page to renew the numbers").is_visible()
        for path in PAGES:
            page.goto(f"{address}/admin{path}")
            assert page.locator(".with-script:visible").count() == 0, path


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_pages_can_be_read_by_everyone(browser: Browser, address: str, size: tuple[int, int], scheme: str) -> None:
    options: dict[str, Any] = {"viewport": {"width": size[0], "height": size[1]}, "color_scheme": scheme}
    with browsing(browser, **options) as (_, page), browsing(browser) as (_, other):
        log_in(page, address)
        look(page, address, ("", "/participants", "/coming", "/downloads"), size)  # before anybody came
        take_part(other, address, 3)
        page.goto(f"{address}/admin/coming")
        page.get_by_label("Name of a new room").fill("Class 7b")
        press(page, page.get_by_role("button", name="Open the room"))
        page.get_by_label("Or names").fill("Ann\nBea")
        press(page, page.get_by_role("button", name="Make the links"))
        check(page, "links", size)
        with page.expect_download() as file:
            page.get_by_role("link", name="Download as CSV").click()
        with Path(file.value.path()).open(encoding="utf-8", newline="") as opened:
            letters = [(row["name"], row["link"].partition("/p/")[0]) for row in csv.DictReader(opened)]
        assert letters == [("Ann", address), ("Bea", address)]
        look(page, address, PAGES, size)
        page.goto(f"{address}/admin/participants/1")
        page.get_by_label("Reason").fill("a try")
        press(page, page.get_by_role("button", name="Exclude"))
        page.goto(f"{address}/admin/participants/1/erase")
        page.get_by_label("type the number").fill("7")
        press(page, page.get_by_role("button", name="Erase for good"))
        assert page.get_by_role("alert").is_visible()
        check(page, "erase again", size)
        page.get_by_label("type the number").fill("1")
        press(page, page.get_by_role("button", name="Erase for good"))
        assert page.get_by_text("was erased").is_visible()


def look(page: Page, address: str, paths: tuple[str, ...], size: tuple[int, int]) -> None:
    for path in paths:
        page.goto(f"{address}/admin{path}")
        check(page, path, size)


def check(page: Page, name: str, size: tuple[int, int]) -> None:
    found = axe_on(page, *WCAG).response["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in found] == [], name
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0], name
