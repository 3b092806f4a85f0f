"""The page of ``python -m replication`` in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.accessible import axe_on

from fairwise.datasets import make_people
from fairwise.simulation import simulate_panel
from replication import run_study, write_study

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    people, outcome = make_people(200, 3, seed=5)
    judgments = simulate_panel(people, n_judges=4, n_pairs=10, seed=2)
    groups = (people.iloc[:, 0] > 0).map({True: "over", False: "under"})
    study = run_study(
        people, outcome, judgments, favorable_label=1, groups=groups, simulated=True, rounds=(10, 40), n_jobs=1
    )
    folder = tmp_path_factory.mktemp("section5")
    write_study(study, folder, command="python -m replication", seconds=1.0, seed=2)
    return folder / "section5.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_it_fits_reads_well_and_asks_for_nothing(browser: Browser, page_file: Path, width: int, scheme: str) -> None:
    with browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme) as session:  # type: ignore[arg-type]
        page = session.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(page_file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        result = axe_on(page)
        assert result.violations_count == 0, result.generate_report()
        assert complaints == []
        assert page.locator("figure svg").count() == 14
