"""A study made in a real browser, with and without JavaScript, by eye and by keyboard, on a phone and a desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from tests.support.accessible import check_accessible
from tests.support.served import browsing, press
from tests.support.served_site import serving_site

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

SIZES = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": range(40),
            "age": rng.integers(20, 70, 40),
            "town": [f"Town {k % 5}" for k in range(40)],
            "good": rng.integers(0, 2, 40),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_preview_follows_what_is_chosen(
    browser: Browser, tmp_path: Path, people: Path, size: str, scheme: str
) -> None:
    with (
        serving_site(tmp_path / "study", tmp_path / "study.sqlite") as site,
        browsing(browser, viewport=SIZES[size], color_scheme=scheme) as (_, page),
    ):
        site.set_up(page)
        press(page, page.get_by_role("link", name="Make a study"))
        check_accessible(page)
        page.get_by_label("A file with one row").set_input_files(people)
        press(page, page.get_by_role("button", name="Upload and go on"))
        check_accessible(page)
        press(page, page.get_by_role("link", name="Yes, go on"))
        check_accessible(page)
        frame = page.frame_locator("#preview")
        frame.get_by_text("Tick a column").wait_for()
        page.get_by_role("main").get_by_label("town", exact=False).first.check()
        frame.get_by_text("Town 0").wait_for()
        page.get_by_role("main").get_by_label("age", exact=False).first.check()
        page.get_by_label("Unit of age").fill("years")
        frame.get_by_text(" years").first.wait_for()
        page.get_by_label("Place of town").fill("1")
        page.get_by_label("Name of the study").fill("Who goes <b>home</b>")
        frame.get_by_text("Who goes <b>home</b>").first.wait_for()
        page.get_by_label("The favourable outcome, in words").fill("to go home")
        page.get_by_label("Two: the same").check()
        frame.locator(".answers.n2").wait_for()
        page.get_by_text("Offer other languages, too").click()
        page.get_by_label("Deutsch", exact=True).check()
        page.locator("#preview-language").select_option("de")
        frame.get_by_text("Paar 1 von 50").wait_for()
        # What is never shown cannot be ticked.
        assert page.locator("[name=show-0]").is_disabled()
        page.get_by_label("The column with the outcome").select_option(label="good")
        assert page.locator("[name=show-3]").is_disabled()
        check_accessible(page)
        page.get_by_label("Pairs for each participant").fill("6")
        press(page, page.get_by_role("button", name="Make the study"))
        page.get_by_text("The study was made").wait_for()
        check_accessible(page)
        press(page, page.get_by_role("link", name="Consent: English", exact=True))
        preview = page.frame_locator("#preview")
        page.get_by_label("The text").fill("# Hello\n\nRead *this*.")
        preview.locator("em", has_text="this").wait_for()
        check_accessible(page)
        press(page, page.get_by_role("button", name="Save"))
        page.get_by_text("Saved.").wait_for()
        press(page, page.get_by_role("link", name="Overview"))
        check_accessible(page)
        page.get_by_label("Open it all the same").check()
        press(page, page.get_by_role("button", name="Open the study"))
        page.get_by_text("people can take part now").wait_for()


def test_without_javascript(browser: Browser, tmp_path: Path, people: Path) -> None:
    with (
        serving_site(tmp_path / "study", tmp_path / "study.sqlite") as site,
        browsing(browser, java_script_enabled=False) as (_, page),
    ):
        site.set_up(page)
        page.goto(f"{site.address}/admin/new")
        page.get_by_label("A file with one row").set_input_files(people)
        press(page, page.get_by_role("button", name="Upload and go on"))
        press(page, page.get_by_role("link", name="Yes, go on"))
        page.locator("[name=show-1]").check()
        page.locator("[name=show-2]").check()
        page.get_by_role("button", name="Preview", exact=True).click()
        frame = page.frame_locator("#preview")
        frame.get_by_text("Town 0").wait_for()
        page.get_by_role("button", name="Make the study").click()  # the browser itself asks for what is missing
        assert not (tmp_path / "study" / "study.toml").exists()
        page.get_by_label("The favourable outcome, in words").fill("to go home")
        page.get_by_label("The column with the outcome").select_option(label="good")
        press(page, page.get_by_role("button", name="Make the study"))
        page.get_by_text("The study was made").wait_for()
        assert (tmp_path / "study" / "study.toml").exists()


def test_a_participant_meets_a_pause_and_loses_nothing(browser: Browser, tmp_path: Path, people: Path) -> None:
    with (
        serving_site(tmp_path / "study", tmp_path / "study.sqlite") as site,
        browsing(browser) as (_, operator),
        browsing(browser, viewport=SIZES["phone"]) as (_, page),
    ):
        site.set_up(operator)
        operator.goto(f"{site.address}/admin/new")
        operator.get_by_label("A file with one row").set_input_files(people)
        press(operator, operator.get_by_role("button", name="Upload and go on"))
        press(operator, operator.get_by_role("link", name="Yes, go on"))
        operator.locator("[name=show-1]").check()
        operator.get_by_label("The favourable outcome, in words").fill("to go home")
        operator.get_by_label("The column with the outcome").select_option(label="good")
        operator.get_by_label("Pairs for each participant").fill("4")
        operator.get_by_text("Which pairs", exact=True).first.click()
        operator.get_by_label("Only uniform").check()
        press(operator, operator.get_by_role("button", name="Make the study"))
        page.goto(site.address)
        page.get_by_role("heading", name="not open at the moment").wait_for()
        check_accessible(page)
        operator.goto(f"{site.address}/admin")
        operator.get_by_label("Open it all the same").check()
        press(operator, operator.get_by_role("button", name="Open the study"))
        press(page, page.get_by_role("link", name="Look whether it is open"))
        press(page, page.get_by_role("button", name="I agree"))
        press(page, page.locator("main form button").last)
        press(page, page.locator("button[name=answer]").first)  # practice
        press(page, page.get_by_role("button", name="Begin with the first pair"))
        press(operator, operator.get_by_role("button", name="Pause the study"))
        press(page, page.locator("button[name=answer]").first)
        page.get_by_role("heading", name="was not saved").wait_for()
        check_accessible(page)
        operator.get_by_label("Open it all the same").check()
        press(operator, operator.get_by_role("button", name="Open the study"))
        press(page, page.get_by_role("button", name="Send it again"))
        page.get_by_role("heading", name="Pair 2 of 4").wait_for()
