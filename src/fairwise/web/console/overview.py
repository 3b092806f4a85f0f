"""How the study goes, at a glance, and by itself every few seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, Response

from fairwise.store.erasure import days_off
from fairwise.study.quality import NAMES
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.console.charts import last_hour, whole_study
from fairwise.web.shared.watch import LEFT_AFTER

if TYPE_CHECKING:
    from starlette.requests import Request

    from fairwise.study.folder import StudyFolder
    from fairwise.web.shared.watch import Picture


@dataclass(frozen=True)
class Coverage:
    """How many anchor pairs have as many people as the study wants."""

    pairs: int
    people: int
    """So many people who finished every pair should have."""

    enough: int
    coming: int
    """More that will have enough if all who are at it finish."""

    fewest: int


class OverviewPages(ConsolePages):
    """The first page of the console."""

    async def overview(self, request: Request) -> Response:
        study = self._host.study
        if study is None:
            return self._page(request, "no_study")
        return self._page(request, "overview", **await self._numbers(study))

    async def live(self, request: Request) -> Response:  # noqa: ARG002 - as all handlers
        """The numbers alone, which the page's script puts in the place of the old ones."""
        study = self._host.study
        if study is None:
            return HTMLResponse("", 404)
        return HTMLResponse(self._rendering.page("overview_numbers", **await self._numbers(study)))

    async def _numbers(self, study: StudyFolder) -> dict[str, Any]:
        picture = await self._beside(self._host.watch.now, study)
        off = await self._read(partial(days_off, now=datetime.now(UTC))) if study.settings.retention_days else 0
        return {
            "days_off": off,
            "standing": self._host.standing,
            "picture": picture,
            "pairs": study.settings.pairs,
            "hour": last_hour(picture.answered_at, picture.at),
            "whole": whole_study(picture.answered_at, picture.at),
            "coverage": _coverage(picture, study.settings.design.anchor_people),
            "flag_names": NAMES,
            "left_after": int(LEFT_AFTER.total_seconds() // 60),
        }

    routes = (
        ConsoleRoute("GET", "/admin", overview, "viewer"),
        ConsoleRoute("GET", "/admin/live", live, "viewer"),
    )


def _coverage(picture: Picture, wanted: int) -> Coverage | None:
    if not picture.anchors:
        return None
    enough = sum(pair.finished >= wanted for pair in picture.anchors)
    coming = sum(pair.finished < wanted <= pair.finished + pair.at_it for pair in picture.anchors)
    return Coverage(len(picture.anchors), wanted, enough, coming, min(pair.finished for pair in picture.anchors))
