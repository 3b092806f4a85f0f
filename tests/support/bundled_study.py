"""People who take part in the study whose bundle is checked, and what can be changed in it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.support.visits import Visit, hidden

from fairwise.archive.bundle import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable

    Change = Callable[[dict[str, bytes]], object]

PAIRS = 5
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def come(visit: Visit, language: str = "en") -> str:
    """Take part, up to the practice pair."""
    visit.client.cookies.clear()
    page = visit.get(f"/?lang={language}")
    page = visit.post(f"/consent?lang={language}", **hidden(page), decision="agree")
    page = visit.post(page.url.path, **hidden(page), relation="affected")
    assert page.url.path.endswith("/task")
    return str(visit.post(page.url.path, **hidden(page)).url.path).removesuffix("/practice")


def manifest(**fields: Any) -> Change:
    def change(files: dict[str, bytes]) -> None:
        told = json.loads(files[MANIFEST]) | fields
        files[MANIFEST] = json.dumps({name: value for name, value in told.items() if value is not None}).encode()

    return change
