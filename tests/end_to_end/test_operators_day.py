"""An operator's day in a real browser, from a CSV file to a model that participants are shown; on each database."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from tests.support.accessible import axe_on
from tests.support.operating import PASSWORD
from tests.support.served import browsing, practise, press
from tests.support.served_process import announced

from fairwise.bots.browser import checked_address
from fairwise.bots.participant import play
from fairwise.simulation import draw_respondents
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

BOTS = 4


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    age, priors = rng.integers(18, 70, 120), rng.poisson(2, 120)
    frame = pd.DataFrame(
        {
            "number": [f"n{k}" for k in range(120)],
            "age": age,
            "priors": priors,
            "town": [f"Town {k % 4}" for k in range(120)],
            "again": (priors + rng.normal(0, 1, 120) > 2).astype(int),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def looked_at(page: Page) -> None:
    assert [one["id"] for one in axe_on(page).response["violations"]] == [], page.url


def make(page: Page, first: str, people: Path) -> None:
    page.goto(first)
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("The same password again").fill(PASSWORD)
    press(page, page.get_by_role("button", name="Make the account"))
    press(page, page.get_by_role("link", name="Make a study"))
    page.get_by_label("A file with one row").set_input_files(people)
    press(page, page.get_by_role("button", name="Upload and go on"))
    press(page, page.get_by_role("link", name="Yes, go on"))
    page.get_by_label("The column with the outcome").select_option(label="again")
    for column in ("age", "priors", "town"):
        page.get_by_role("main").get_by_label(column, exact=False).first.check()
    page.get_by_label("Name of the study").fill("Who goes home")
    page.get_by_label("The favourable outcome, in words").fill("to go home")
    page.get_by_label("Pairs for each participant").fill("12")
    page.get_by_text("Which pairs", exact=True).first.click()
    page.get_by_label("Numbers of my own").check()
    page.locator("#anchors").fill("4")
    page.locator("#repeats").fill("2")
    press(page, page.get_by_role("button", name="Make the study"))
    page.get_by_text("The study was made").wait_for()


def open_it(page: Page) -> None:
    for text in ("Consent", "Task"):
        press(page, page.get_by_role("link", name="Study", exact=True))
        press(page, page.get_by_role("link", name=text, exact=True))
        page.get_by_label("The text").fill("# Hello\n\nPlease read this.")
        press(page, page.get_by_role("button", name="Save"))
        page.get_by_text("Saved.").wait_for()
    press(page, page.get_by_role("link", name="Overview"))
    press(page, page.get_by_role("button", name="Open the study"))


def answered(page: Page, address: str) -> str:
    """Take part oneself; returns the own link."""
    page.goto(address)
    press(page, page.get_by_role("button", name="I agree to take part"))
    own = page.url.removesuffix("/task")
    press(page, page.get_by_role("button", name="Start"))
    practise(page)
    while "/review" not in page.url:
        press(page, page.get_by_role("button", name="should be treated the same").first)
    press(page, page.get_by_role("link", name="Go on to the last questions"))
    press(page, page.get_by_role("button", name="Finish"))
    return own


def learn(page: Page, address: str) -> None:
    page.goto(f"{address}/admin/fits/new")
    page.get_by_label("0", exact=True).check()
    page.get_by_label("Follow everything").check()
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_role("radio", name="Decision tree").check()
    page.locator("#max_depth").select_option("1")
    press(page, page.get_by_role("button", name="Learn the model"))
    page.get_by_text("What is proved, and what is not").wait_for(timeout=300_000)


@pytest.mark.parametrize("new_database", ["postgresql"], indirect=True)  # on SQLite, the tutorial goes the same way
def test_from_a_table_of_people_to_a_model_that_they_are_shown(
    browser: Browser, tmp_path: Path, people: Path, new_database: Callable[[], Any]
) -> None:
    folder = tmp_path / "study"
    database = new_database()
    with (
        announced(folder, "--database", database) as server,
        browsing(browser, viewport={"width": 1280, "height": 900}) as (_, page),
        browsing(browser, viewport={"width": 390, "height": 800}) as (_, phone),
    ):
        address = server.address
        make(page, server.link, people)
        open_it(page)
        own = answered(phone, address)
        study = StudyFolder.open(folder)
        bots = draw_respondents(study.people(), BOTS, seed=0)
        with ThreadPoolExecutor(1) as thread:  # the browser has this one
            thread.submit(lambda: asyncio.run(play(study, checked_address(address), bots, force=True))).result()

        page.goto(f"{address}/admin")
        looked_at(page)
        # The numbers may be some seconds old, and renew themselves.
        finished = re.compile(r"Finished\s+5\b")
        expect(page.locator("main")).to_contain_text(finished, use_inner_text=True, timeout=60_000)
        press(page, page.get_by_role("link", name="Participants", exact=True))
        looked_at(page)
        press(page, page.get_by_role("link", name="2", exact=True))
        page.get_by_label("Reason").fill("A test of the console")
        press(page, page.get_by_role("button", name="Exclude"))
        looked_at(page)

        learn(page, address)
        looked_at(page)
        marker = page.get_by_label("The knob", exact=True)
        marker.focus()
        marker.press("End")
        assert page.locator("[data-point]:visible").count() == 1
        press(page, page.get_by_role("button", name="Choose this model"))
        page.goto(f"{address}/admin")
        page.get_by_text("Close the study for good").click()
        page.get_by_label("Yes, for good").check()
        press(page, page.get_by_role("button", name="Close the study"))
        page.goto(f"{address}/admin/results")
        press(page, page.get_by_role("button", name="Show it to participants"))
        looked_at(page)

        for _ in range(300):  # what another process decided is known after a second
            phone.goto(f"{own}/result")
            if "result" in phone.url:
                break
            phone.wait_for_timeout(100)
        looked_at(phone)
        assert "result" in phone.url  # not led away, as it is shown now
        assert phone.locator(".compared").count() == 12  # each pair with both of its people
        with page.expect_download() as download:
            page.goto(f"{address}/admin/downloads")
            page.get_by_role("button", name="Bundle as ZIP").click()
        assert download.value.suggested_filename.endswith(".zip")
