"""Ways into a study, and from there to the end."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.support.visits import Visit, hidden

from fairwise.store.roster import roster

if TYPE_CHECKING:
    from httpx2 import Response

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
PROLIFIC = {
    "panel": "prolific",
    "open": False,
    "completion_url": "https://app.prolific.example/submissions/complete?cc=C1&who={id}&s={session}",
    "completion_code": "C1-MANUAL",
    "screened_out_url": "https://app.prolific.example/submissions/complete?cc=OUT",
}
ANNS_LINK = "/?PROLIFIC_PID=ann000000000000000000000&STUDY_ID=study1&SESSION_ID=session1"


def to_the_end(visit: Visit, mine: str) -> Response:
    page = visit.get(mine)
    while not page.url.path.endswith(("/thanks", "/screened-out")):
        before, path = page.url, page.url.path
        if path.endswith("/review"):
            page = visit.get(f"{mine}/closing")
            continue
        chosen = {"answer": "same", "relation": "neither", "why": ""}
        page = visit.post(path.removesuffix("/why"), **{**chosen, **hidden(page)})
        if "you can go on" in page.text:  # after the last try at the check
            page = visit.get(mine)
        assert page.url != before or page.status_code == 422
    return page


def agree(visit: Visit, link: str) -> Response:
    page = visit.get(link)
    assert page.status_code == 200
    return visit.post("/consent", **hidden(page), decision="agree")


def mine(page: Response) -> str:
    return "/".join(page.url.path.split("/")[:3])


def states(visit: Visit) -> list[tuple[str, str]]:
    return [(entry.came_by, entry.state) for entry in visit.store.read_now(roster)]
