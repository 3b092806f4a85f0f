"""The overview of a study, its checklist, and the help page."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from sqlalchemy import Connection
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from fairwise.messages import marked
from fairwise.store import operators
from fairwise.store.answers import anyone_answered
from fairwise.store.deliberation import count_returned
from fairwise.store.erasure import days_off
from fairwise.store.errors import StoreUnavailable
from fairwise.store.export import simulated_count
from fairwise.store.fit_files import Fitted
from fairwise.store.jobs import all_jobs
from fairwise.store.operators import was_done
from fairwise.store.quotas import finished_by_relation
from fairwise.store.study_state import SECOND, Standing, standing
from fairwise.study.folder import OUTCOME, StudyFolder
from fairwise.study.quality import NAMES
from fairwise.study.settings import StudyState
from fairwise.web.console.base import REFUSALS, REFUSED_OTHERWISE, ConsolePages, Rendering, get
from fairwise.web.console.study_pages import TRIED, has_participants
from fairwise.web.shared.host import Host
from fairwise.web.shared.progress import LEFT_AFTER, Picture
from fairwise.web.shared.requests import visitor_language


@dataclass(frozen=True)
class Coverage:
    """Number of anchor pairs that have enough participants."""

    pairs: int
    people: int
    """Number of participants that every pair should have."""

    enough: int
    coming: int
    """Number of further pairs that will have enough if all who are in progress finish."""

    fewest: int


# Answers over time as a small picture: bars, drawn here as SVG.

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_WIDTHS = {
    _MINUTE: marked("a minute"),
    5 * _MINUTE: marked("5 minutes"),
    15 * _MINUTE: marked("15 minutes"),
    _HOUR: marked("an hour"),
    3 * _HOUR: marked("3 hours"),
    12 * _HOUR: marked("12 hours"),
    _DAY: marked("a day"),
    7 * _DAY: marked("a week"),
    30 * _DAY: marked("30 days"),
}
_MOST_BARS = 60
_HEIGHT = 60


@dataclass(frozen=True, eq=False)
class RateChart:
    """Bars of equal width in time, the last of which ends now."""

    begin: datetime
    end: datetime
    width: str
    """Time span of one bar, in words."""

    counts: NDArray[np.int64]

    @property
    def most(self) -> int:
        return int(self.counts.max(initial=0))

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def svg(self) -> Markup:
        """The bars; they are stretched to whatever width there is, so the words are beside them, not in them."""
        bars = "".join(
            f'<rect x="{10 * at + 1}" y="{_HEIGHT - height:.2f}" width="8" height="{height:.2f}"/>'
            for at, height in enumerate(_HEIGHT * self.counts / max(1, self.most))
            if height
        )
        size = f"0 0 {10 * len(self.counts)} {_HEIGHT}"
        return Markup(f'<svg viewBox="{size}" preserveAspectRatio="none" aria-hidden="true">{bars}</svg>')  # noqa: S704 - numbers


def last_hour(answered_at: NDArray[np.float64], now: datetime) -> RateChart:
    """Return the chart of the last hour, minute by minute."""
    return _chart(answered_at, now, _MINUTE, _HOUR // _MINUTE)


def whole_study(answered_at: NDArray[np.float64], now: datetime) -> RateChart | None:
    """Return the chart from the first answer on; None before there is one."""
    if not len(answered_at):
        return None
    span = now.timestamp() - float(answered_at[0])
    width = next((seconds for seconds in _WIDTHS if span < seconds * _MOST_BARS), max(_WIDTHS))
    return _chart(answered_at, now, width, max(1, int(span // width) + 1))


def _chart(answered_at: NDArray[np.float64], now: datetime, width: int, bars: int) -> RateChart:
    end = now.timestamp()
    edges = end - width * np.arange(bars, -1, -1)
    # What came while the picture was made counts as now.
    inside = answered_at[answered_at > edges[0]].clip(max=end)
    counts, _ = np.histogram(inside, edges)
    return RateChart(now - timedelta(seconds=width * bars), now, _WIDTHS[width], counts)


class OverviewPages(ConsolePages):
    """The first page of the console."""

    @get("/admin", "viewer")
    async def overview(self, request: Request) -> Response:
        study = self._host.study
        if study is None:
            return self._page(request, "no_study")
        state = await self._store.read(standing)  # not as of a second ago: it may just have been changed here
        steps = await self._store.read(partial(checklist, study=study, state=state))
        upcoming = next((step for step in steps if not step.done), None)
        numbers = {**await self._numbers(study), "standing": state}
        return self._page(request, "overview", steps=steps, next_step=upcoming, **numbers)

    @get("/admin/live", "viewer")
    async def live(self, request: Request) -> Response:
        """The numbers alone, which the page's script puts in the place of the old ones."""
        study = self._host.study
        if study is None:
            return HTMLResponse("", 404)
        numbers = await self._numbers(study)
        return HTMLResponse(self._rendering.page("overview_numbers", visitor_language(request.scope), **numbers))

    async def _numbers(self, study: StudyFolder) -> dict[str, Any]:
        picture = await asyncio.to_thread(self._host.watch.now, study)
        off = await self._store.read(partial(days_off, now=datetime.now(UTC))) if study.settings.retention_days else 0
        return {
            "days_off": off,
            "standing": self._host.standing,
            "picture": picture,
            "pairs": study.settings.pairs,
            "simulated": study.settings.simulated,
            "simulated_people": await self._store.read(simulated_count),
            "hour": last_hour(picture.answered_at, picture.at),
            "whole": whole_study(picture.answered_at, picture.at),
            "arms": _arms(picture, study),
            "returned": await self._returned(study),
            "coverage": _coverage(picture, study.settings.design.anchor_people),
            "flag_names": NAMES,
            "left_after": int(LEFT_AFTER.total_seconds() // 60),
        }

    async def _returned(self, study: StudyFolder) -> int | None:
        """Return the number of participants in the second round; None while there is none."""
        on = study.settings.deliberation.on and self._host.standing.round == SECOND
        return await self._store.read(count_returned) if on else None


def _arms(picture: Picture, study: StudyFolder) -> list[tuple[str, Counter[str]]]:
    """Every arm in the order of the settings with how many are in each state, the last for those not assigned yet."""
    counts = picture.by_arm
    rows = [(arm.name, counts.get(arm.name, Counter())) for arm in study.settings.arms]
    return [*rows, ("", counts[None])] if rows and None in counts else rows


def _coverage(picture: Picture, most: int) -> Coverage | None:
    if not picture.anchors:
        return None
    enough = sum(pair.finished >= most for pair in picture.anchors)
    coming = sum(pair.finished < most <= pair.finished + pair.active for pair in picture.anchors)
    return Coverage(len(picture.anchors), most, enough, coming, min(pair.finished for pair in picture.anchors))


@dataclass(frozen=True)
class Step:
    """Something to do, where it is done, and whether it has been done."""

    name: str
    title: str
    about: str
    button: str
    path: str
    done: bool
    finished: int | None = None
    """Number of participants who have finished, if the step waits for them."""

    most: int = 0
    """Number of participants the study wants; 0 if it does not say."""


def checklist(connection: Connection, study: StudyFolder, state: Standing) -> list[Step]:
    """Every step of this study in its order; where there are no outcomes, no model can be learned."""
    is_begun, open_or_closed = has_participants(connection), state.state != StudyState.PAUSED
    finished = finished_by_relation(connection, simulated=study.settings.simulated)
    everyone, most, relations = sum(finished.values()), study.settings.recruitment.most, study.settings.relations
    missing = most - everyone
    if not most and all(one.most is not None for one in relations):
        most = sum(one.most or 0 for one in relations)
        missing = sum(max(0, (one.most or 0) - finished.get(one.name, 0)) for one in relations)
    steps = [
        Step(
            "texts",
            marked("Complete the texts"),
            marked("The consent text says who you are, who sees the answers, and how long they are kept."),
            marked("Complete the texts"),
            "/study",
            done=not study.unfinished,
        ),
        Step(
            "try",
            marked("Try it"),
            marked("Walk through the study as a participant. Nothing of it is kept."),
            marked("Try it"),
            "/try",
            done=was_done(connection, TRIED) or is_begun,
        ),
        Step(
            "open",
            marked("Open it"),
            marked("From then on people can begin and answer."),
            marked("Open the study"),
            "#stands",
            done=open_or_closed or is_begun,
        ),
        Step(
            "invite",
            marked("Invite people"),
            marked("By one link for everyone, by personal links with letters, in a room or from a panel."),
            marked("Invite people"),
            "/coming",
            done=is_begun,
        ),
        Step(
            "collect",
            marked("Collect answers"),
            marked("Close the study only when enough have answered: a closed study cannot be opened again."),
            marked("See the participants"),
            "/participants",
            done=(most > 0 and missing <= 0) or state.state == StudyState.CLOSED,
            finished=everyone,
            most=most,
        ),
        Step(
            "close",
            marked("Close it"),
            marked("When enough have answered. A closed study cannot be opened again."),
            marked("Close it"),
            "#close",
            done=state.state == StudyState.CLOSED,
        ),
    ]
    if not (study.path / OUTCOME).exists():
        return steps
    learned = any(job.state == "done" and Fitted.of(study.path, job.id) for job in all_jobs(connection))
    return [
        *steps,
        Step(
            "learn",
            marked("Learn a model"),
            marked("It follows what people asked for, and you see what that costs."),
            marked("Learn a model"),
            "/fits/new" if anyone_answered(connection) else "/fits",
            done=learned,
        ),
        Step(
            "choose",
            marked("Choose a model"),
            marked("Compare what each degree of following costs, read the report, and choose."),
            marked("Choose a model"),
            "/fits",
            done=state.chosen_job_id is not None,
        ),
        Step(
            "show",
            marked("Show the result"),
            marked("Participants then see what the model does with their own pairs."),
            marked("Show the result"),
            "/results",
            done=state.result_shown,
        ),
    ]


class HelpPages(ConsolePages):
    """Help, for everyone with an account."""

    @get("/admin/help", "viewer")
    async def show(self, request: Request) -> Response:
        return self._page(request, "help")


# The start page of a server with several studies: those that a browser is logged in to.

_LISTED = (marked("Your studies"), marked("This browser is logged in to them. Studies of others are not listed."))
_NOTHING_LISTED = (
    marked("There is nothing to see here"),
    marked("Open the link that you were given. Operators see their studies here once they have logged in to one."),
)
_STATES = {
    StudyState.OPEN: marked("open"),
    StudyState.PAUSED: marked("paused"),
    StudyState.CLOSED: marked("closed"),
}


@dataclass(frozen=True)
class Listed:
    """A study on the start page, for somebody who is logged in to it."""

    name: str
    title: str
    address: str
    state: str
    role: str


async def listed(host: Host, visitor: HTTPConnection) -> Listed | None:
    """Return one of several studies as it is listed, if whoever asks is logged in to it now."""
    token_hash = None if host.start_page is None else host.start_page.session_of(visitor, host.keys)
    if host.start_page is None or token_hash is None:
        return None
    try:
        who = await host.store.read(partial(operators.operator_of, token_hash=token_hash, at=datetime.now(UTC)))
    except StoreUnavailable:
        return None
    if who is None:
        return None
    name, title = host.start_page.study, "" if host.study is None else host.study.settings.title
    return Listed(name, title or name, f"{host.prefix}/admin", _STATES[host.standing.state], who.role)


class Listing:
    """Pages that belong to no study."""

    def __init__(self, prefix: str) -> None:
        self._rendering = Rendering(prefix)

    def page(self, scope: Scope, studies: Sequence[Listed]) -> Response:
        return self._page(
            scope, _LISTED if studies else _NOTHING_LISTED, 200, sorted(studies, key=lambda one: one.name)
        )

    def refusal(self, scope: Scope, status: int) -> Response:
        return self._page(scope, REFUSALS.get(status, REFUSED_OTHERWISE), status, [])

    def _page(self, scope: Scope, words: tuple[str, str], status: int, studies: Sequence[Listed]) -> Response:
        heading, text = words
        values = {"operator": None, "csrf": "", "here": "/", "study": None, "done": None}
        html = self._rendering.page(
            "studies", visitor_language(scope), **values, heading=heading, text=text, studies=studies
        )
        return HTMLResponse(html, status)
