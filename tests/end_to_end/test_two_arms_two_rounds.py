"""A study with two arms and two rounds, from the first answer to the comparison of arms and a verified bundle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from tests.support.accessible import axe_on
from tests.support.two_rounds import ALONE, TALKED
from tests.support.two_rounds_walk import BOTS, HIDDEN, WRITTEN, follow
from typer.testing import CliRunner

from fairwise.archive.verify import verify_bundle
from fairwise.bots.browser import Page as SeenPage
from fairwise.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow

PICTURE = re.compile(r"!\[[^\]]{20,}\]\(\.\./figures/deliberation/(\w+)\.png\)")


def command(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_played_by_simulated_people_and_one_in_a_browser(
    browser: Browser, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    looked: list[str] = []

    def look(page: Page, name: str, part: Locator | None) -> None:
        looked.append(name)
        assert [one["id"] for one in axe_on(page).response["violations"]] == [], name
        assert part is not None
        assert part.first.is_visible()

    walk = follow(browser, tmp_path, look)
    howto = request.config.rootpath / "docs" / "howto" / "deliberation.md"
    assert PICTURE.findall(howto.read_text(encoding="utf-8")) == looked

    # Who is only asked again never sees what others said; the others never see what was hidden.
    assert {arm for arm, _ in walk.seen} == {TALKED, ALONE}
    read = [(arm, html, SeenPage.read(html)) for arm, html in walk.seen]
    for arm, html, page in read:
        told = re.search(r"\d+ of \d+</span>|how the others answered|Report this reason", html, re.IGNORECASE)
        assert bool(page.others) == (arm == TALKED and bool(page.first))
        assert bool(told) == (arm == TALKED)
    mine = {html for _, html in walk.seen[: walk.pages_of_one]}
    assert sum(HIDDEN in html for html in mine) == 1
    for arm, html, _ in read:
        assert html in mine or HIDDEN not in html
        assert html in mine or arm == TALKED or WRITTEN not in html
    assert any(WRITTEN in html for _, html, _ in read if html not in mine)

    # Both rounds are in the export.
    home = walk.study.path
    out, judges, bundle = (tmp_path / name for name in ("judgments.csv", "judges.csv", "study.zip"))
    command("export", home, "--out", out, "--judges", judges, "--bundle", bundle)
    said, known = pd.read_csv(out), pd.read_csv(judges).set_index("judge")
    again = said[said["round"] == 2]
    assert set(again["judge"]) == set(known.index)
    assert walk.bots.n_returned == BOTS
    assert len(again) - walk.bots.kept - walk.bots.changed == again["judge"].value_counts().iloc[0]
    assert abs(known["arm"].value_counts().diff().iloc[1]) <= 2

    # The arms are compared, and drawn again from the bundle.
    compared = command("compare-arms", home)
    assert f"Against {ALONE}" in compared
    assert TALKED in compared
    assert verify_bundle(bundle).arms == len(known) == BOTS + 1


def test_every_picture_is_there_and_small(request: pytest.FixtureRequest) -> None:
    docs = request.config.rootpath / "docs"
    named = PICTURE.findall((docs / "howto" / "deliberation.md").read_text(encoding="utf-8"))
    files = list((docs / "figures" / "deliberation").iterdir())
    assert sorted(named) == sorted(file.stem for file in files)
    assert all(file.stat().st_size < 120_000 for file in files)
