"""A site under attack: everyone who may ask something of it, and good requests of each of them to begin from."""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from tests.support.fits import done_job
from tests.support.operating import Operating, operating
from tests.support.raw_asgi import Asked, send
from tests.support.visits import Visit, hidden, not_me_form

from fairwise.store.operators import credentials
from fairwise.web.app import ALL_PAGES, Site
from fairwise.web.console.accounts import DEVICE_COOKIE as DEVICE
from fairwise.web.console.accounts import reset_key
from fairwise.web.console.base import COOKIE as OPERATOR
from fairwise.web.participant.base import COOKIE as PARTICIPANT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.raw_asgi import Reply

    from fairwise.study.folder import StudyFolder

FORM = b"application/x-www-form-urlencoded"
HEADERS = (
    (b"host", b"study.example"),
    (b"sec-fetch-site", b"same-origin"),
    (b"accept-language", b"de;q=0.5, en"),
)


@dataclass(frozen=True)
class Attacked:
    """What an attacker knows, who may also be a participant, a viewer or an owner."""

    good: tuple[Asked, ...]
    """Requests that are answered as they should be, of everyone and for every page."""

    names: tuple[str, ...]
    """Of fields and of parameters, as pages have them."""


def get(path: str, cookie: str = "") -> Asked:
    more = ((b"cookie", cookie.encode()),) if cookie else ()
    return Asked("GET", path, (*HEADERS, *more))


def post(path: str, fields: dict[str, str], cookie: str = "") -> Asked:
    asked = get(path, cookie)
    return Asked("POST", path, (*asked.headers, (b"content-type", FORM)), urlencode(fields).encode())


def prepared(study: StudyFolder, database: str | Path) -> Attacked:
    """Fill a study with people and fits, and collect what its pages ask for."""
    good: list[Asked] = []
    with operating(study.path, database) as console:
        console.set_up()
        console.add("Vic", "viewer")
        good += _of_participants(console)
        done_job(console.site.host.store, study.path, dict.fromkeys(study.person_ids, 0.5))
        owner = f"{OPERATOR}={console.client.cookies[OPERATOR]}; {DEVICE}={console.client.cookies[DEVICE]}"
        pages = _of_the_console(console)
        good += [_as(asked, owner) for asked in pages]
        console.log_in("Vic")
        viewer = f"{OPERATOR}={console.client.cookies[OPERATOR]}"
        good += [_as(asked, viewer) for asked in _of_the_console(console)]
        good += pages
        good += _of_a_reset(console)
    names = {name for asked in good for name in re.findall(r"(?:^|&)(\w+)=", asked.body.decode())}
    return Attacked(tuple(good), (*sorted(names | PARAMETERS),))


_FILLED = {
    "number": "1",
    "id": "1",
    "link": "1",
    "code": "ABCDEF",
    "part": "words",
    "file": "judgments.csv",
    "upload": "none",
}
GAPS = frozenset(_FILLED.values()) | {"x", "3", "judgments.csv", "study.css"}
"""What stands in paths where something else may stand."""

PARAMETERS = {"lang", "saved", "kept", "done", "page", "state", "flag", "came_by", "find", "sort", "order", "at", "all"}
PARAMETERS |= {"like", "a", "b", "participant", "finished_only", "with_excluded", "PROLIFIC_PID", "SESSION_ID"}


def _as(asked: Asked, cookie: str) -> Asked:
    return asked.with_header("cookie", cookie.encode())


_OWN_PAGES = ("", "/task", "/pair/1", "/pair/3", "/review", "/closing", "/withdraw", "/thanks", "/back", "/result")


def _of_participants(console: Operating) -> list[Asked]:
    visit = Visit(console.client)
    found = [get("/"), get("/declined"), get("/room"), get("/withdrawn"), get("/health"), get("/static/study.css")]
    found.append(post("/consent", {**hidden(visit.get("/")), "decision": "agree"}))
    found.append(post("/consent", {**hidden(visit.get("/")), "decision": "contest", "contests": "yes"}))
    found.append(post("/room", {**hidden(visit.get("/room")), "code": "ABCDEF"}))
    for answered in (0, 2, 4):
        if PARTICIPANT in visit.client.cookies:  # another person, on another machine
            visit.client.cookies.delete(PARTICIPANT)
        mine = visit.begin()
        found.append(post("/not-me", not_me_form(visit.get("/"))))
        for number in range(1, answered + 1):
            visit.answer(mine, number, why="because")
        found += [get(f"{mine}{page}") for page in _OWN_PAGES]
        pair = hidden(visit.get(f"{mine}/pair/1"))
        found += [post(f"{mine}/pair/1", {**pair, "answer": "same", "why": "x", "confidence": "3"})] * 3
        csrf = {"csrf": pair["csrf"]}
        found += [post(f"{mine}/{page}", {**csrf, "answer": "same"}) for page in ("task", "practice", "second-look")]
        found.append(post(f"{mine}/check", {**csrf, "tries": "0", "order": "same", "either": "same", "change": "yes"}))
        found.append(post(f"{mine}/relation", {**csrf, "relation": "a"}))
        found.append(post(f"{mine}/closing", {**csrf, "rules": "r", "expressible": "e", "comments": "c"}))
    return found


def _of_the_console(console: Operating) -> list[Asked]:
    """Every route, its gaps filled with what is there; every form with the fields that its page has."""
    found, csrf = [], console.csrf()
    for route in (route for pages in ALL_PAGES for route in pages.routes):
        path = re.sub(r"{(\w+)(?::number)?}", lambda gap: _FILLED.get(gap[1], "x"), route.path)
        if route.method == "GET":
            found.append(get(path))
        else:
            page = console.client.get(path).text
            fields = {unescape(name): unescape(value) for name, value in _FIELDS.findall(page)}
            found.append(post(path, {**fields, **_TYPED.get(route.handler.__name__, {}), "csrf": csrf}))
    return found


def _of_a_reset(console: Operating) -> list[Asked]:
    """A link for a new password of an account that nobody else uses."""
    console.add("Rita", "viewer")
    host = console.site.host
    operator_id, kept = host.store.read_now(partial(credentials, name="Rita")) or (0, "")
    path = f"/admin/reset/{reset_key(host.keys, operator_id, kept)}"
    typed = {"csrf": host.keys.form("console "), "password": "three words here", "again": "three words here"}
    return [get(path), post(path, typed)]


_FIELDS = re.compile(r'<(?:input|select|textarea)[^>]*?name="([^"]+)"(?:[^>]*?value="([^"]*)")?')
_TYPED = {
    "log_in": {"name": "Ada", "password": "a wrong password"},
    "exclude": {"reason": "too fast"},
    "make_links": {"once": "once", "count": "2", "names": ""},
    "open_room": {"name": "Class 7b"},
    "start": {"name": "A fit", "estimator": "tree", "favorable_label": "outcome-1-never", "gamma": "0.1", "eta": "0"},
    "fit_point": {"at": "0"},
    "show": {"shown": "yes", "job": "1"},
    "change_state": {"state": "paused"},
    "add": {"name": "Eve", "role": "viewer", "password": "three words here", "again": "three words here"},
    "preview": {"text": "# Hello"},
}


@contextmanager
def copied(study: Path, database: Path, into: Path) -> Iterator[Site]:
    """A copy of the study and its answers, to be ruined."""
    shutil.copytree(study, into / "study")
    shutil.copy(database, into / "study.sqlite")
    site = Site(into / "study", into / "study.sqlite")
    site.open()
    try:
        yield site
    finally:
        site.close()
        shutil.rmtree(into)


async def good_visit(site: Site) -> None:
    """Somebody takes part, and is served as if nothing had been tried."""
    welcome = await send(site, get("/"))
    assert welcome.status == 200, welcome.text
    agreed = await send(site, post("/consent", {**_hidden(welcome), "decision": "agree"}))
    mine = agreed.headers["location"]
    while "/pair/" not in (reply := await send(site, get(mine))).headers["location"]:
        page = reply.headers["location"]
        reply = await send(site, post(page, {**_hidden(await send(site, get(page))), "answer": "same", "done": "yes"}))
        assert reply.status == 303, reply.text
    pair = await send(site, get(f"{mine}/pair/1"))
    reply = await send(site, post(f"{mine}/pair/1", {**_hidden(pair), "answer": "same"}))
    assert re.search(r"/pair/(1/why|2\?saved)", reply.headers["location"])  # whether or not it asks why


def _hidden(reply: Reply) -> dict[str, str]:
    inputs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', reply.text)
    return {name: unescape(value) for name, value in inputs}
