"""*Score a person* in a real browser, with a real model and whatever somebody may type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from tests.support.accessible import WCAG, check_accessible
from tests.support.fits import done_job, wanted
from tests.support.served import browsing, press
from tests.support.served_site import ServedSite, serving_site

from fairwise import PairwiseFairClassifier
from fairwise.store.fit_files import MODEL, job_folder
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

COLUMNS = [
    {"name": "age_at", "label": "Age", "unit": "years"},
    {"name": "twn", "label": "Town", "unit": ""},
    {"name": "street", "label": "Street", "unit": ""},
]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedSite]:
    """A study with a model of it, of which one column has more values than a list can offer."""
    rng = np.random.default_rng(0)
    age, town = rng.integers(18, 70, 90), rng.choice(["North", "South"], 90)
    table = pd.DataFrame(
        {"id": range(90), "age_at": age, "twn": town, "street": [f"Street {k % 45}" for k in range(90)]}
    )
    table["good"] = ((age > 40) ^ (town == "South")).astype(int)
    table.to_csv(tmp_path / "people.csv", index=False)
    people = PeopleFile.read(tmp_path / "people.csv", "id")
    told = {"title": "Who gets in", "treated_well": "getting in", "columns": COLUMNS}
    study = new_study(tmp_path / "study", people, [one["name"] for one in COLUMNS], told, outcome="good")
    shown = study.people()
    model = PairwiseFairClassifier("tree", max_depth=2, favorable_label=1).fit(shown, study.outcome().astype(int))
    with serving_site(study.path, tmp_path / "study.sqlite") as site:
        good = dict(zip(shown.index, model.predict_proba(shown)[:, 1], strict=True))
        job = done_job(site.site.host.store, study.path, good, settings=wanted(favorable_label="1"), labels=["0", "1"])
        (job_folder(study.path, job) / MODEL).unlink()
        model.save(job_folder(study.path, job) / MODEL)
        yield site


def scored(page: Page, **values: str) -> str:
    """Fill in some fields by their labels, and send; returns what is said."""
    for label, text in values.items():
        field = page.get_by_role("main").get_by_label(label)
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(text)
        else:
            field.fill(text)
    press(page, page.get_by_role("button", name="Score this person"))
    return page.locator("main").inner_text()


def check_mistake(page: Page, text: str, words: str) -> None:
    """A value that is no number is said beside a link to its field, on a page that everyone can use."""
    said = scored(page, Age=text)
    assert words in page.get_by_role("alert").inner_text()
    assert "with a probability" not in said
    page.get_by_role("alert").get_by_role("link").click()
    expect(page.get_by_role("main").get_by_label("Age")).to_be_focused()
    assert page.get_by_role("main").get_by_label("Age").get_attribute("aria-invalid") == "true"
    check_accessible(page, *WCAG)


def test_a_person_is_scored_and_mistakes_are_said(browser: Browser, served: ServedSite) -> None:
    with browsing(browser) as (context, page):
        served.set_up(page)
        page.goto(f"{served.address}/admin/fits/1")
        page.get_by_text("Score a person", exact=True).click()
        said = scored(page, Age="61", Town="North", Street="Street 3")
        assert "with a probability of 100.0 %" in said
        assert "Age is above" in said  # the study's words and not the file's
        assert "age_at" not in said
        said = scored(page, Age="25")
        assert "with a probability of 0.0 %" in said
        assert page.get_by_role("main").get_by_label("Age").input_value() == "25"  # to change one thing and ask again
        check_mistake(page, "old", "Age: old is not a number")
        check_mistake(page, "2,400", "without a mark between thousands")
        said = scored(page, Age="25", Town="", Street="")  # nothing is known of them
        assert "with a probability of" in said
        said = scored(page, Age="25", Town="North", Street="A street that nobody lives in, 後藤 <b>")
        assert "with a probability of 0.0 %" in said
        check_accessible(page, *WCAG)
        said = scored(page, Age="", Town="", Street="")
        assert "with a probability of" in said
        session: Any = context.storage_state()
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "storage_state": session}
    with browsing(browser, **phone) as (_, page):
        page.goto(f"{served.address}/admin/fits/1")
        page.get_by_text("Score a person", exact=True).click()
        check_mistake(page, "old", "Age: old is not a number")
        said = scored(page, Age="25", Town="North", Street="A street that nobody lives in, 後藤 <b>")
        assert "with a probability of 0.0 %" in said
        check_accessible(page, *WCAG)
