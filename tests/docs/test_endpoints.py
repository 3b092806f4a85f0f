"""docs/reference/endpoints.md lists every address that is answered, for whom, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.support.visits import visiting

from fairwise.web.app import ALL_PAGES, participant_app
from fairwise.web.shared.monitoring import PATH as METRICS

_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "endpoints.md"


def _listed(heading: str) -> list[tuple[str, ...]]:
    part = _PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| (GET|POST) \| `([^`]+)` \| (.*?) \|", part, re.MULTILINE)


def test_of_participants_and_of_those_who_watch(make_study: Any, tmp_path: Path) -> None:
    with visiting(make_study(), tmp_path / "study.sqlite") as visit:
        routes = participant_app(visit.site.services).routes
    answered = {
        (method, getattr(route, "path_format", ""))
        for route in routes
        for method in getattr(route, "methods", None) or ()
        if method != "HEAD"
    }
    listed = _listed("For participants") + _listed("For those who watch the server")
    assert {row[:2] for row in listed} == answered | {("GET", METRICS)}


def test_of_operators_with_their_roles() -> None:
    answered = {
        (route.method, route.path.replace(":number", ""), route.role) for pages in ALL_PAGES for route in pages.routes
    }
    assert set(_listed("For operators")) == answered
