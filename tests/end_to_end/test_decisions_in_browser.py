"""A study with three decisions, made in the browser, answered on a phone and by bots, up to the export."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from tests.support.accessible import check_accessible
from tests.support.served import browsing, practise, press
from tests.support.served_site import serving_site
from typer.testing import CliRunner

from fairwise.archive.verify import verify_bundle
from fairwise.bots.browser import checked_address
from fairwise.bots.participant import play
from fairwise.cli.app import app
from fairwise.simulation import draw_respondents
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

LABELS = ["conditions", "deny", "release"]
WORDS = ["released under conditions", "kept in prison", "released"]
VALUES = ["0.6", "0", "1"]
PAIRS, BOTS = 6, 4
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": [f"known-as-{k}" for k in range(40)],
            "age": rng.integers(20, 70, 40),
            "priors": rng.integers(0, 9, 40),
            "decided": rng.choice(LABELS, 40),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def make(page: Page, address: str, people: Path) -> None:
    """What was found is suggested as soon as the outcome is chosen; the preview follows."""
    page.goto(f"{address}/admin/new")
    page.get_by_label("A file with one row").set_input_files(people)
    press(page, page.get_by_role("button", name="Upload and go on"))
    press(page, page.get_by_role("link", name="Yes, go on"))
    page.locator("[name=show-1]").check()
    page.locator("[name=show-2]").check()
    page.get_by_label("The column with the outcome").select_option(label="decided")
    assert page.get_by_label("One of several things").is_checked()
    assert page.locator(".decision:visible").count() == len(LABELS) + 1
    for row, (label, words, value) in enumerate(zip(LABELS, WORDS, VALUES, strict=True)):
        assert page.locator(f"#decision-label-{row}").input_value() == label
        page.locator(f"#decision-words-{row}").fill(words)
        page.locator(f"#decision-value-{row}").fill(value)
    page.frame_locator("#preview").locator(".tiers li").first.wait_for()
    check_accessible(page)
    page.get_by_label("Pairs for each participant").fill(str(PAIRS))
    page.get_by_text("Which pairs", exact=True).first.click()
    page.get_by_label("Only uniform").check()
    press(page, page.get_by_role("button", name="Make the study"))
    page.get_by_text("The study was made").wait_for()
    page.goto(f"{address}/admin")
    page.get_by_label("Open it all the same").check()
    press(page, page.get_by_role("button", name="Open the study"))


def answer(page: Page, address: str) -> None:
    page.goto(address)
    press(page, page.get_by_role("button", name="I agree to take part"))
    best_first = [WORDS[2], WORDS[0], WORDS[1]]
    assert page.locator(".tiers li").all_inner_texts() == best_first
    press(page, page.get_by_role("button", name="Start"))
    practise(page)
    for _ in range(PAIRS):
        assert page.locator(".tiers li").all_inner_texts() == best_first
        seen = page.content()
        assert not any(hidden in seen for hidden in ("known-as", "decided", "0.6"))
        press(page, page.locator("button[value=a_at_least_b]"))
    assert page.url.split("?")[0].endswith("/review")


def test_three_decisions_from_the_wizard_to_the_export(browser: Browser, tmp_path: Path, people: Path) -> None:
    folder, database = tmp_path / "study", tmp_path / "study.sqlite"
    with (
        serving_site(folder, database) as site,
        browsing(browser, viewport=DESK) as (_, page),
        browsing(browser, viewport=PHONE, has_touch=True, is_mobile=True) as (_, phone),
    ):
        site.set_up(page)
        make(page, site.address, people)
        answer(phone, site.address)
        check_accessible(phone)
        study = StudyFolder.open(folder)
        bots = draw_respondents(study.people(), BOTS, seed=0)
        with ThreadPoolExecutor(1) as thread:  # the browser has this one
            thread.submit(lambda: asyncio.run(play(study, checked_address(site.address), bots, force=True))).result()
    assert study.settings.label_values == {"conditions": 0.6, "deny": 0, "release": 1}
    assert study.outcome().tolist() == pd.read_csv(people)["decided"].tolist()

    judgments, bundle, again = tmp_path / "judgments.csv", tmp_path / "bundle.zip", tmp_path / "again"
    for arguments in (
        ["export", folder, "--database", f"sqlite:///{database}", "--out", judgments, "--bundle", bundle],
        ["study", "reopen", bundle, again],
    ):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.output
    assert pd.read_csv(judgments).groupby("judge").size().tolist() == [PAIRS] * (BOTS + 1)
    assert verify_bundle(bundle).participants == BOTS + 1
    reopened = StudyFolder.open(again)
    assert reopened.settings.decisions == study.settings.decisions
    assert reopened.fingerprint == study.fingerprint
