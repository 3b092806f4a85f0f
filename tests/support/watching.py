"""Participants who take part while an operator watches: the same site, through its real pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.visits import Visit, hidden

from fairwise.web.participant.base import COOKIE

if TYPE_CHECKING:
    from tests.support.operating import Operating


def take_part(console: Operating, answered: int, *, link: str | None = None, why: str = "", closing: str = "") -> str:
    """Begin by the open link or a personal one, answer so many pairs, and finish if there is something to say.

    Returns the path of their own pages.
    """
    if COOKIE in console.client.cookies:  # another person, on another machine
        console.client.cookies.delete(COOKIE)
    visit = Visit(console.client)
    page = visit.get(link or "/")
    page = visit.post("/consent", **hidden(page), decision="agree")
    mine = page.url.path.rpartition("/")[0]
    while "/pair/" not in page.url.path:
        chosen = {"done": "yes"} if page.url.path.endswith("practice") else {}
        page = visit.post(page.url.path, **hidden(page), **chosen)
    for number in range(1, answered + 1):
        assert visit.answer(mine, number, why=why).status_code == 200
    if closing:
        done = visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules=closing, comments=closing)
        assert done.status_code == 200
    return mine
