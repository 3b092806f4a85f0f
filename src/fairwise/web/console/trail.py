"""The trail: what was done by whom and when, to be read and to be taken away."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime
from functools import partial
from math import ceil
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from fairwise.store.export import defused
from fairwise.store.operators import Event, TrailFilter, count_events, event_values, trail
from fairwise.study.texts import marked
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.shared.forms import whole_number

PAGE_SIZE = 100
# Everything that is ever written down, in the words of the page.
ACTIONS = {
    "first account made": marked("First account made"),
    "account added": marked("Account made"),
    "account removed": marked("Account removed"),
    "account reset": marked("Account reset from the command line"),
    "password changed": marked("Password changed"),
    "password set by link": marked("Password set by a link"),
    "logged in": marked("Logged in"),
    "study made": marked("Study made"),
    "sample study made": marked("Sample study made"),
    "study changed": marked("Study changed"),
    "study tried": marked("Study tried"),
    "study opened": marked("Study opened"),
    "study paused": marked("Study paused"),
    "study closed": marked("Study closed"),
    "links made": marked("Links made"),
    "link revoked": marked("Link revoked"),
    "ids listed": marked("Ids put on the list"),
    "list of ids deleted": marked("List of ids deleted"),
    "room opened": marked("Room opened"),
    "room closed": marked("Room closed"),
    "excluded": marked("Participant excluded"),
    "included": marked("Participant taken back in"),
    "erased a participant": marked("Participant erased"),
    "fit started": marked("Model asked for"),
    "fit stopped": marked("Model stopped"),
    "model chosen": marked("Model chosen"),
    "vote opened": marked("Vote opened"),
    "vote ended": marked("Vote ended"),
    "vote decided": marked("Vote decided"),
    "result shown": marked("Result shown to participants"),
    "result hidden": marked("Result no longer shown"),
    "first round ended": marked("First round ended"),
    "second round opened": marked("Second round opened"),
    "reason released": marked("Reason released to others"),
    "reason hidden": marked("Reason hidden"),
    "reason reported": marked("Reason reported by a participant"),
    "downloaded": marked("Downloaded"),
    "clock said to be right": marked("Clock said to be right"),
}


def read_filter(query: QueryParams) -> TrailFilter:
    """What was asked for; what makes no sense is not taken."""
    return TrailFilter(
        operator=query.get("operator", "")[:100],
        action=query.get("action", "")[:40],
        since=_day(query.get("since", "")),
        until=_day(query.get("until", "")),
    )


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if date.min < day < date.max else None  # the days beside it are reckoned with


class TrailPages(ConsolePages):
    """For owners alone."""

    async def show(self, request: Request) -> Response:
        chosen = read_filter(request.query_params)
        found = await self._read(partial(count_events, which=chosen))
        pages = max(1, ceil(found / PAGE_SIZE))
        page = min(max(1, whole_number(request.query_params.get("page", "")) or 1), pages)
        listed = partial(trail, which=chosen, first=(page - 1) * PAGE_SIZE, most=PAGE_SIZE)
        given = {name: str(value) for name, value in vars(chosen).items() if value}
        return self._page(
            request,
            "trail",
            chosen=chosen,
            events=await self._read(listed),
            found=found,
            page=page,
            pages=pages,
            query=urlencode(given),
            operators=await self._read(partial(event_values, column="operator")),
            actions=await self._read(partial(event_values, column="action")),
            words=ACTIONS,
        )

    async def download(self, request: Request) -> Response:
        """All that the filters leave, as CSV."""
        events = await self._read(partial(trail, which=read_filter(request.query_params)))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Event._fields)
        writer.writerows((one.at.isoformat(), *(defused(cell) for cell in one[1:])) for one in events)
        name = f"trail-{datetime.now(UTC):%Y-%m-%d}.csv"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)

    routes = (
        ConsoleRoute("GET", "/admin/trail", show, "owner"),
        ConsoleRoute("GET", "/admin/trail.csv", download, "owner"),
    )
