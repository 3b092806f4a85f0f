"""The loop in a real browser: a fit, the marker on its frontier, the choice, and the page for those who answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.support.accessible import check_accessible
from tests.support.fits import done_job, point, wanted
from tests.support.fitting import answered, study_of, working
from tests.support.served import browsing, practise, press
from tests.support.served_site import ServedSite, serving_site

from fairwise.store.study_state import choose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

PAIRS = 4
PHONE = {"viewport": {"width": 360, "height": 740}}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedSite]:
    """A study of which one fit is done, as far as its files say so."""
    study = study_of(tmp_path, pairs_each=PAIRS)
    with serving_site(study.path, tmp_path / "study.sqlite") as found:
        good = {person: round((7 * k % 80) / 80, 3) for k, person in enumerate(study.person_ids)}
        done_job(found.site.host.store, study.path, good, settings=wanted(favorable_label="0"))
        yield found


def take_part(page: Page, address: str) -> str:
    page.goto(address)
    press(page, page.get_by_role("button", name="I agree to take part"))
    mine = page.url.removesuffix("/task")
    press(page, page.get_by_role("button", name="Start"))
    practise(page)
    for answer in ("same", "a_at_least_b", "b_at_least_a", "no_constraint"):
        press(page, page.locator(f"button[value={answer}]"))
    page.goto(f"{mine}/closing")
    press(page, page.get_by_role("button", name="Finish"))
    return mine


def seen_point(page: Page) -> str:
    return page.locator("section[data-point]:not([hidden]) h3").inner_text()


def marker_is_on(page: Page, place: int) -> bool:
    spot = page.locator(".frontier .spot").nth(place)
    moved = page.locator("[data-marker]").get_attribute("transform") or ""
    return moved == f"translate({spot.get_attribute('cx')} {spot.get_attribute('cy')})"


def knob_is_below_the_marker(page: Page) -> bool:
    """The middle of the knob, and that of the circle around the point."""
    middle = """() => {
        const range = document.querySelector("[data-marker-range]"), box = range.getBoundingClientRect();
        const share = (range.value - range.min) / (range.max - range.min), knob = 1.5 * 16;
        return box.left + knob / 2 + share * (box.width - knob);
    }"""
    circle = page.locator("[data-marker] circle").bounding_box()
    assert circle is not None
    return abs(float(page.evaluate(middle)) - (circle["x"] + circle["width"] / 2)) < 2


@pytest.mark.parametrize("options", [{}, PHONE, {"color_scheme": "dark"}], ids=["desktop", "phone", "dark"])
def test_the_marker_is_moved_by_keys_by_mouse_and_stays_after_a_reload(
    browser: Browser, served: ServedSite, options: dict[str, Any]
) -> None:
    with browsing(browser, **options) as (_, page):
        served.set_up(page)
        page.goto(f"{served.address}/admin/fits/1")
        check_accessible(page)
        assert "Allowance 0 " in f"{seen_point(page)} "
        assert marker_is_on(page, 0)
        marker = page.get_by_label("The knob", exact=True)
        marker.press("ArrowRight")
        marker.press("ArrowRight")
        assert "Allowance 0.02" in seen_point(page)
        assert marker_is_on(page, 2)
        assert (
            marker.get_attribute("aria-valuetext")
            == "Allowance 0.02: 26.0 wrong decisions in 100, 7 answers not followed"
        )
        assert page.locator("[data-answers]:not([hidden]) tbody tr").count() == 7
        check_accessible(page)
        page.locator(".frontier a .reach").nth(3).click()
        assert "Allowance 0.04" in seen_point(page)
        page.reload()
        assert "Allowance 0.04" in seen_point(page)
        assert float(marker.input_value()) == float(page.locator(".frontier .spot").nth(3).get_attribute("cx") or 0)
        assert knob_is_below_the_marker(page)
        press(page, page.get_by_role("button", name="Learn this point"))
        assert page.url.split("?")[0].endswith("/admin/fits/2")
        assert "waits for its turn" in page.content()
        check_accessible(page)
        press(page, page.get_by_role("button", name="Stop learning it"))
        page.get_by_text("The learning of this model was stopped").wait_for()


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_the_knob_is_below_the_marker_beside_errors_of_many_digits(
    browser: Browser, tmp_path: Path, options: dict[str, Any]
) -> None:
    study = study_of(tmp_path, pairs_each=PAIRS, amount={"unit": "DM", "least": 0, "most": 10_000, "better": "more"})
    with serving_site(study.path, tmp_path / "study.sqlite") as found, browsing(browser, **options) as (_, page):
        curve = [point(eta, error, []) for eta, error in ((0, 2310.5), (0.02, 2160.25), (0.04, 2107.5))]
        good = dict.fromkeys(study.person_ids, 0.5)
        done_job(found.site.host.store, study.path, good, settings=wanted(favorable_label=None), points=curve)
        found.set_up(page)
        for at in range(len(curve)):
            page.goto(f"{found.address}/admin/fits/1?at={at}")
            assert knob_is_below_the_marker(page)
            check_accessible(page)


def test_without_scripts_the_marker_goes_by_links(browser: Browser, served: ServedSite) -> None:
    with browsing(browser, java_script_enabled=False) as (_, page):
        served.set_up(page)
        page.goto(f"{served.address}/admin/fits/1")
        assert not page.get_by_label("The knob", exact=True).is_visible()
        press(page, page.locator(".points a").nth(2))
        assert "Allowance 0.02" in seen_point(page)
        assert marker_is_on(page, 2)
        assert page.locator(".points a[aria-current]").inner_text() == "0.02"


def test_the_report_can_do_nothing_in_the_name_of_the_study(browser: Browser, served: ServedSite) -> None:
    with browsing(browser) as (_, page):
        served.set_up(page)
        page.goto(f"{served.address}/admin/fits/1/report")
        assert page.locator("#told").inner_text() == "null forbidden"  # its script ran, without an origin or cookies
        assert page.locator("h1").evaluate("e => getComputedStyle(e).color") == "rgb(1, 2, 3)"


@pytest.mark.parametrize("options", [PHONE, {"java_script_enabled": False}, {"color_scheme": "dark"}])
def test_a_participant_reads_what_became_of_their_answers(
    browser: Browser, served: ServedSite, options: dict[str, Any]
) -> None:
    with browsing(browser, **options) as (_, page):
        mine = take_part(page, served.address)
        assert page.get_by_text("may decide to show you here").count() == 1
        served.site.host.store.change_now(lambda c: choose(c, 1, shown=True))
        page.goto(mine)
        press(page, page.get_by_role("link", name="See the result"))
        assert page.locator("h1").inner_text() == "What became of your answers"
        assert page.locator("article.treated").count() == PAIRS
        page.locator("details.folded").last.locator("summary").first.click()
        opened = page.locator("article.treated").last.locator("details")
        opened.locator("summary").click()
        assert opened.locator(".compared").first.is_visible()
        if options.get("java_script_enabled", True):
            check_accessible(page)
        press(page, page.get_by_role("link", name="Back to your receipt"))
        assert page.url == f"{mine}/thanks"


def test_from_the_question_what_it_costs_to_the_page_of_a_participant(browser: Browser, tmp_path: Path) -> None:
    """With a real fit of a small study."""
    study = study_of(tmp_path, pairs_each=PAIRS)
    database = tmp_path / "study.sqlite"
    with serving_site(study.path, database) as served, browsing(browser) as (_, page):
        served.set_up(page)
        page.goto(f"{served.address}/admin/fits")
        assert page.get_by_text("Nobody has answered yet").is_visible()
        answered(study, served.site.host.store)
        with browsing(browser, **PHONE) as (_, phone):
            mine = take_part(phone, served.address)
            page.goto(f"{served.address}/admin/fits")
            press(page, page.get_by_role("link", name="Learn a model"))
            check_accessible(page)
            page.get_by_label("0", exact=True).check()
            page.get_by_text("Advanced", exact=True).click()
            page.get_by_label("Questions in a row").select_option("1")
            page.get_by_label("An allowance of my own").check()
            page.get_by_label("Tolerance (γ)").fill("nothing")
            press(page, page.get_by_role("button", name="Learn the model"))
            assert "must be a number from 0 to 1" in page.get_by_role("alert").inner_text()
            assert page.get_by_label("Questions in a row").input_value() == "1"
            page.get_by_label("Tolerance (γ)").fill("0.05")
            press(page, page.get_by_role("button", name="Learn the model"))
            with working(study.path, database):
                # Without reloading; fits run at the lowest priority, which takes its time on a busy machine.
                page.get_by_text("What is proved, and what is not").wait_for(timeout=300_000)
            check_accessible(page)
            assert page.get_by_text("it is the best there is of this kind").count() == 1
            with page.expect_download() as download:
                page.get_by_role("link", name="Download the model").click()
            assert download.value.suggested_filename == "fit-1.skops"
            press(page, page.get_by_role("button", name="Choose this model"))
            check_accessible(page)
            phone.goto(f"{mine}/result")
            assert phone.url == f"{mine}/thanks"
            press(page, page.get_by_role("button", name="Show it to participants"))
            phone.goto(f"{mine}/result")
            assert phone.url == f"{mine}/result"
            assert phone.locator("article.treated").count() == PAIRS
            assert "The model was made with the answers of 9 people." in phone.locator("main").inner_text()
            check_accessible(phone)
