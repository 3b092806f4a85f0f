"""Somebody who never saw the console makes a study from an Excel file, tries it, opens it, learns a model and reads it.

They know nothing but what is on the page: at each step they press the one filled button, or what the page before named.
The steps are counted and printed; docs/tutorials/first_day.md has them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from tests.support.fitting import working
from tests.support.served import browsing
from tests.support.served_site import serving_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "tutorials" / "first_day.md"
CONSENT = "# Before you begin\n\nWe ask you about applicants. Your answers are deleted after a month."
PAIRS = 5


class Walk:
    """Presses and fills, and writes down what."""

    def __init__(self, page: Page) -> None:
        self.page, self.steps = page, list[str]()

    def main(self) -> None:
        """Press the one button that is filled."""
        button = self.page.locator("main .primary")
        assert button.count() == 1, f"{self.page.url}: {button.all_inner_texts()}"
        self.press(button.inner_text())

    def press(self, words: str) -> None:
        self.steps.append(f"press {words}")
        found = self.page.locator("a, button, summary").filter(has_text=re.compile(rf"^\s*{re.escape(words)}\s*$"))
        with self.page.expect_navigation():
            found.first.click()

    def fill(self, label: str, text: str, shown: str = "") -> None:
        self.steps.append(f"{label}: {shown or text}")
        self.page.get_by_label(label).fill(text)

    def tick(self, label: str) -> None:
        self.steps.append(f"tick {label}")
        self.page.get_by_label(label, exact=True).first.check()

    def select(self, label: str, option: str) -> None:
        self.steps.append(f"{label}: {option}")
        self.page.get_by_label(label).select_option(label=option)

    def reads(self, words: str) -> None:
        self.page.get_by_text(words).first.wait_for(timeout=120_000)


@pytest.fixture
def officers_file(tmp_path: Path) -> Path:
    people = pd.read_csv(ROOT / "examples" / "hiring.csv").head(60)
    people.to_excel(tmp_path / "applicants.xlsx", index=False)
    return tmp_path / "applicants.xlsx"


def make(walk: Walk, file: Path) -> None:
    """From the first page of the console to a study whose texts are complete."""
    page = walk.page
    walk.main()
    walk.steps.append("choose applicants.xlsx")
    page.get_by_label("A file with one row for each person").set_input_files(file)
    walk.main()
    walk.reads("60 people, 9 columns")
    walk.main()
    walk.select("The column with the outcome", "hired_and_stayed")
    for column in ("age", "education", "languages"):
        walk.steps.append(f"tick {column}")
        box = page.locator("fieldset.column", has=page.locator("legend", has_text=re.compile(f"^{column}$")))
        box.get_by_role("checkbox").check()
    walk.fill("The favourable outcome, in words", "being hired")
    walk.fill("Pairs for each participant", str(PAIRS))
    walk.main()
    walk.reads("The study was made")
    while page.get_by_text("There is no study here yet").count():  # a busy server knows of it a moment later
        page.reload()
    for document in ("consent", "task"):
        walk.main()
        assert page.url.endswith(document)
        walk.fill("The text", CONSENT, "what you tell participants")
        walk.press("Save")
        walk.press("All parts of the study")
    walk.main()  # back to the overview


def test_a_first_day(browser: Browser, tmp_path: Path, officers_file: Path) -> None:
    database = tmp_path / "study.sqlite"
    with serving_site(tmp_path / "study", database) as site, browsing(browser) as (_, page):
        site.set_up(page)
        walk = Walk(page)
        make(walk, officers_file)
        walk.main()  # try it
        walk.main()
        assert "/try/" in page.url
        take_part(walk)
        walk.press("End the trial")
        walk.main()
        walk.reads("everything that you answered in it is deleted")
        assert not (tmp_path / "study" / ".trials").is_dir() or not any((tmp_path / "study" / ".trials").iterdir())
        walk.main()  # open
        walk.reads("The study is open")
        walk.main()  # invite
        walk.reads("Open link")
        with browsing(browser) as (_, other):
            other.goto(site.address)
            take_part(Walk(other))
        walk.press("Overview")
        walk.steps.append("press Close the study for good")
        page.get_by_text("Close the study for good").click()
        walk.tick("Yes, for good")
        walk.press("Close the study")
        walk.main()  # learn
        assert page.url.endswith("/fits/new"), page.url
        walk.tick("1")
        walk.main()
        with working(tmp_path / "study", database):
            walk.reads("What is proved, and what is not")
        walk.reads("Results by group")
        walk.press("Read the full report")
        assert page.locator("h1").count()
    print("\n".join(f"{number}. {step}" for number, step in enumerate(walk.steps, start=1)))  # noqa: T201 - the result
    listed = [line.partition(". ")[2] for line in GUIDE.read_text(encoding="utf-8").splitlines() if line[:1].isdigit()]
    assert [re.sub(r"[*`]", "", step) for step in listed] == walk.steps


def _answer(page: Page) -> None:
    with page.expect_navigation():
        page.locator("button[name=answer]").first.click()


def take_part(walk: Walk) -> None:
    """From the consent text to the receipt, as anyone would."""
    walk.press("I agree to take part")
    walk.press("Start")
    _answer(walk.page)
    walk.steps.append("answer the practice pair")
    walk.press("Begin with the first pair")
    for _ in range(PAIRS):
        _answer(walk.page)
    walk.steps.append(f"answer {PAIRS} pairs")
    walk.press("Go on to the last questions")
    walk.press("Finish")
    walk.reads("You have finished.")
