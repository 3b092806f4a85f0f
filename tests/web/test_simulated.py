"""A study whose people are simulated says so on every page; a real one nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.support.operating import operating
from tests.support.visits import hidden, visiting

if TYPE_CHECKING:
    from pathlib import Path

BANNER = 'class="simulated"'


@pytest.mark.parametrize("simulated", [True, False])
def test_every_page_of_participants(make_study: Any, tmp_path: Path, simulated: bool) -> None:
    with visiting(make_study(simulated=simulated), tmp_path / "study.sqlite") as visit:
        mine = visit.begin()
        for number in range(1, 5):
            visit.answer(mine, number)
        visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")))
        visit.get(f"{mine}/withdraw")
        visit.get("/no-such-page")
        pages = [page for page in visit.seen if "<main" in page]
        assert len(pages) > 8
        assert [BANNER in page for page in pages] == [simulated] * len(pages)


@pytest.mark.parametrize("simulated", [True, False])
def test_every_page_of_the_console(make_study: Any, tmp_path: Path, simulated: bool) -> None:
    study = make_study(simulated=simulated)
    with operating(study.path, tmp_path / "study.sqlite") as console:
        console.set_up()
        for path in ("", "/participants", "/coming", "/study", "/fits", "/results", "/downloads", "/accounts"):
            page = console.get(path).text
            assert "<main" in page
            assert (BANNER in page) is simulated, path
