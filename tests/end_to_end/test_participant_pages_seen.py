"""The pages of a study as people see them: on a laptop and a phone, enlarged, mirrored, dark, without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.support.accessible import WCAG, axe_on
from tests.support.page_gallery import (
    ALICE,
    AMOUNT,
    BELLA,
    DESKTOP,
    GALLERY,
    LABELS,
    NARROWEST,
    PHONE,
    TIERS,
    many_columns,
    nine_columns,
    visiting,
)

from fairwise.study.texts import available
from fairwise.web.shared.requests import read_static_files

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

OPEN_DETAILS = "document.querySelectorAll('details').forEach((details) => (details.open = true))"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_on_any_page(browser: Browser, size: tuple[int, int], scheme: str) -> None:
    with visiting(browser, size, color_scheme=scheme, reduced_motion="reduce") as visit:
        for name in GALLERY:
            page = visit.open(name)
            page.evaluate(OPEN_DETAILS)
            result = axe_on(page, *WCAG)
            assert result.violations_count == 0, f"{name}\n{result.generate_report()}"
            assert len(result.response["passes"]) > 15, name


@pytest.mark.parametrize("size", [DESKTOP, PHONE, NARROWEST], ids=["desktop", "phone", "narrowest"])
def test_no_page_scrolls_sideways(browser: Browser, size: tuple[int, int]) -> None:
    width = "(direction) => ((document.documentElement.dir = direction), document.documentElement.scrollWidth)"
    with visiting(browser, size) as visit:
        for name in GALLERY:
            page = visit.open(name)
            page.evaluate(OPEN_DETAILS)
            for direction in ("ltr", "rtl"):
                assert page.evaluate(width, direction) <= size[0], (name, direction)


def test_a_page_from_right_to_left_is_the_mirror_image(browser: Browser) -> None:
    """Person A on the right, numbers of the keys before the words, and what is written from left to right as it is."""
    left = "(selector) => document.querySelector(selector).getBoundingClientRect().left"
    with visiting(browser) as visit:
        page = visit.open("ar-pair")
        a, b = "thead th:nth-child(2)", "thead th:nth-child(3)"
        assert page.evaluate(left, a) > page.evaluate(left, b)
        assert page.evaluate(left, ".answers kbd") > page.evaluate(left, ".answers .words")
        assert page.evaluate("getComputedStyle(document.querySelector('.link-text')).direction") == "ltr"
        page = visit.open("pair")
        assert page.evaluate(left, a) < page.evaluate(left, b)


def test_nothing_is_lost_at_twice_the_size(browser: Browser) -> None:
    """Zoomed by 200 %, and with text alone twice as large, buttons and text stay whole and inside the page."""
    cut = """() => [...document.querySelectorAll("button, a, th, td, dd, p, h1, h2, legend, label")]
        .filter((one) => one.checkVisibility() && !one.closest(".skip, .long, .hidden, .wide-only") && one.clientWidth)
        .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth)
        .map((one) => one.outerHTML)"""
    with visiting(browser, (640, 450), device_scale_factor=2) as visit:
        for name in GALLERY:
            page = visit.open(name)
            assert page.evaluate(cut) == [], name
            page.evaluate("document.documentElement.style.fontSize = '200%'")
            assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('footer')).fontSize)") == 32
            assert page.evaluate(cut) == [], name
            assert page.evaluate("document.documentElement.scrollWidth") <= 640, name


@pytest.mark.parametrize("size", [DESKTOP, NARROWEST], ids=["desktop", "narrowest"])
def test_everything_to_press_is_large_enough(browser: Browser, size: tuple[int, int]) -> None:
    small = """() => [...document.querySelectorAll(
        "button, .button, summary, nav a, footer a, .list a, .summary a, label:has(input)")]
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 44)
        .map((one) => one.outerHTML)"""
    with visiting(browser, size) as visit:
        for name in GALLERY:
            assert visit.open(name).evaluate(small) == [], name


def test_both_people_and_the_answers_have_names(browser: Browser) -> None:
    with visiting(browser) as visit:
        page = visit.open("pair-full")
        assert page.get_by_role("columnheader").all_inner_texts() == ["Person A", "Person B"]
        rows = page.get_by_role("table").get_by_role("row").all()[1:]
        for label, row, *both in zip(LABELS, rows, ALICE, BELLA, strict=True):
            assert row.get_by_role("rowheader").inner_text().split("\n")[0].startswith(label)
            assert row.get_by_role("cell").all_inner_texts() == both
        chosen = page.get_by_role("button", name="Your answer: Person A should be treated at least as well as person B")
        assert chosen.get_attribute("value") == "a_at_least_b"
        assert page.get_by_role("progressbar").get_attribute("value") == "6"
        assert page.get_by_role("status").first.inner_text() == "Saved"
        assert page.get_by_role("link", name="Undo").is_visible()


# The bar that pages for phones are held to: nine short columns, in whichever language is longest.
IN_SIGHT = """() => [...document.querySelectorAll(".compared tr, button[name=answer]")]
    .map((one) => one.getBoundingClientRect()).filter((box) => box.top < 0 || box.bottom > innerHeight).length"""
HIDDEN_ROWS = """() => {
    const bar = document.querySelector(".answer-bar").getBoundingClientRect().top;
    const rows = [...document.querySelectorAll(".compared tr")];
    return rows.filter((one) => one.getBoundingClientRect().bottom > bar).length;
}"""


@pytest.mark.parametrize("decided", [{}, TIERS, AMOUNT], ids=["two", "tiers", "amount"])
@pytest.mark.parametrize("code", [*available(), "longer"])
def test_a_phone_shows_both_people_and_all_answers_without_scrolling(
    browser: Browser, code: str, decided: dict[str, Any]
) -> None:
    with visiting(browser, PHONE, has_touch=True, is_mobile=True) as visit:
        page = visit.show(nine_columns(code, decided))
        assert page.locator(".compared tbody tr").count() == 9
        assert page.locator("button[name=answer]").count() == 4
        assert page.evaluate(IN_SIGHT) == 0
        assert page.evaluate(HIDDEN_ROWS) == 0
        with page.expect_navigation():
            page.locator("button[value=no_constraint]").tap()
        assert visit.answers() == ["no_constraint"]


def test_with_many_columns_the_answers_stay_in_sight_wherever_one_scrolls(browser: Browser) -> None:
    outside = """() => [...document.querySelectorAll("button[name=answer]")].map((one) => one.getBoundingClientRect())
        .filter((box) => box.top < 0 || box.bottom > innerHeight).length"""
    for size in (PHONE, (1280, 720)):
        with visiting(browser, size) as visit:
            page = visit.show(many_columns())
            page.evaluate(OPEN_DETAILS)
            height = page.evaluate("document.documentElement.scrollHeight")
            assert height > 2 * size[1]
            for top in range(0, height, size[1] // 2):
                page.evaluate("(top) => scrollTo({top, behavior: 'instant'})", top)
                assert page.evaluate(outside) == 0, (size, top)


def test_a_pair_weighs_at_most_sixty_kilobytes() -> None:
    static = sum(len(read_static_files()[name][0]) for name in ("study.css", "study.js"))
    assert len(nine_columns("de").encode()) + static <= 60_000


def test_the_answers_are_of_one_size(browser: Browser) -> None:
    """Side by side on a laptop; on a phone the two of one person each, and the two about both."""
    widths = """() => [...document.querySelectorAll(".answers button")]
        .map((one) => Math.round(one.getBoundingClientRect().width))"""
    with visiting(browser) as visit:
        assert len(set(visit.open("pair").evaluate(widths))) == 1
    with visiting(browser, PHONE) as visit:
        same, a, b, either = visit.open("pair").evaluate(widths)
        assert (same, a) == (either, b)
        assert same > 2 * a


def test_a_laptop_shows_the_answers_without_scrolling(browser: Browser) -> None:
    with visiting(browser, (1280, 720)) as visit:
        page = visit.open("pair")
        assert page.locator("button[value=no_constraint]").bounding_box()["y"] + 52 <= 720  # type: ignore[index]


def test_all_is_there_without_scripts(browser: Browser) -> None:
    with visiting(browser, java_script_enabled=False) as visit:
        for name in GALLERY:
            page = visit.open(name)
            assert page.locator("h1").count() == 1, name
            assert page.locator(".with-script:visible").count() == 0, name
            for form in page.locator("form").all():
                assert form.locator("button:visible").count() > 0, name


def test_dark_is_dark_and_paper_is_white(browser: Browser) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with visiting(browser, color_scheme="dark") as visit:
        page = visit.open("thanks")
        assert page.evaluate(ground) == "rgb(18, 24, 28)"
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        assert not page.get_by_role("button", name="Copy the link").is_visible()


def test_colours_that_are_forced_leave_borders_and_marks(browser: Browser) -> None:
    with visiting(browser, forced_colors="active") as visit:
        page = visit.open("pair-full")
        assert page.evaluate("getComputedStyle(document.querySelector('.differs td')).borderLeftStyle") == "solid"
        assert page.evaluate("getComputedStyle(document.querySelector('.chosen')).borderTopWidth") == "3px"
