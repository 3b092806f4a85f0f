"""Every page of everyone: its headers, and that nothing anybody wrote acts on it."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.fits import done_job
from tests.support.operating import Operating, operating
from tests.support.visits import Visit, hidden
from tests.support.watching import take_part

from fairwise.study.recruitment import filled
from fairwise.web.app import ALL_PAGES
from fairwise.web.console.participants import FILES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACTING = '"><script>alert(1)</script><img src=x onerror=alert(2)>=1+1'
OUTCOMES = re.compile("outcome-[01]-never")


@pytest.fixture(scope="module")
def site(make_study: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operating]:
    study = make_study(title=ACTING, question=ACTING, contact=ACTING, ask_why=True)
    with operating(study.path, tmp_path_factory.mktemp("site") / "study.sqlite") as opened:
        opened.set_up()
        opened.add("Vic", "viewer")
        opened.post("/coming/rooms", name=ACTING)
        made = opened.post("/coming/links", once="once", names=ACTING, count="")
        links = re.findall(r"https://study.example(/p/[\w-]+)", made.text)
        take_part(opened, 4, link=links[0], why=ACTING, closing=ACTING)
        opened.post("/participants/1/exclude", reason=ACTING)
        done_job(opened.site.host.store, study.path, dict.fromkeys(study.person_ids, 0.5))
        yield opened


@pytest.fixture
def console(site: Operating) -> Operating:
    """For its owner, who has just come."""
    site.log_in("Ada")
    return site


def pages(console: Operating) -> Iterator[tuple[str, Any]]:
    """Every page that a GET shows, with something in the place of every gap."""
    filled_in = {"number": "1", "id": "1", "part": "words", "file": "texts.csv", "upload": "x", "key": "x", "code": "x"}
    for route in (route for each in ALL_PAGES for route in each.routes if route.method == "GET"):
        path = re.sub(r"{(\w+)(?::number)?}", lambda gap: filled_in[gap[1]], route.path)
        yield path, console.client.get(path)
    for file in FILES:
        yield f"/admin/downloads/{file}", console.client.get(f"/admin/downloads/{file}")
    for path in ("/admin/fits/compare?a=1&b=1", "/admin/study/consent/preview", "/admin/study/recruitment"):
        yield path, console.client.get(path)
    visit = Visit(console.client)
    console.client.cookies.delete("fairwise_participant")
    mine = visit.begin()
    visit.answer(mine, 1, why=ACTING)
    for path in (
        "/",
        "/room",
        "/room/XXXXXX",
        "/declined",
        "/nowhere",
        "/healthz",
        "/readyz",
        "/static/study.css",
        mine,
    ):
        yield path, console.client.get(path)
    for page in ("task", "pair/1", "pair/2", "review", "closing", "withdraw", "back", "result", "second-look"):
        yield f"{mine}/{page}", console.client.get(f"{mine}/{page}")


def test_every_page_keeps_frames_and_foreign_scripts_out(console: Operating) -> None:
    seen = 0
    for path, reply in pages(console):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "base-uri 'none'" in policy, path
        assert "form-action" in policy, path
        # What the console shows beside a form may be framed by itself; nobody else may frame anything.
        assert re.search(r"frame-ancestors '(none|self)'", policy), path
        assert reply.headers["x-frame-options"] in ("DENY", "SAMEORIGIN"), path
        assert reply.headers["x-content-type-options"] == "nosniff", path
        # The address of a report may be a key: nobody at all is told where a reader came from.
        assert reply.headers["referrer-policy"] == ("no-referrer" if "/report" in path else "same-origin"), path
        assert reply.headers["cross-origin-opener-policy"] == "same-origin", path
        if "/report" not in path:  # a page of its own, in a sandbox
            assert "unsafe" not in policy, path
        else:
            assert policy.startswith("sandbox allow-scripts allow-modals;"), path
        seen += 1
    assert seen > 45


def test_nothing_that_anybody_wrote_acts_on_any_page(console: Operating) -> None:
    shown = 0
    for path, reply in pages(console):
        if "html" in reply.headers["content-type"]:
            assert "<script>alert" not in reply.text, path
            assert "<img src=x" not in reply.text, path
            shown += ACTING[:20] in unescape(reply.text)
    assert shown > 20  # and it is there, as text


def test_no_page_tells_anyones_outcome(console: Operating) -> None:
    """The two words for outcomes stand where an owner says which is the good one, and nowhere beside a person."""
    for name in ("Vic", "Ada"):
        console.log_in(name)
        for path, reply in pages(console):
            if path != "/admin/fits/new" and not path.startswith(("/admin/fits/1", "/admin/fits/compare")):
                assert not OUTCOMES.search(reply.text), path


def test_the_way_back_is_the_studys_own(make_study: Any, tmp_path: Path) -> None:
    """Whatever a visitor says who they are, and wherever they want to go."""
    way = {"panel": "prolific", "completion_url": "https://panel.example/done?id={id}&s={session}", "most": 0}
    study = make_study(recruitment=way)
    with operating(study.path, tmp_path / "study.sqlite") as console:
        visit = Visit(console.client)
        page = visit.get(
            "/?PROLIFIC_PID=a.b~c-d&SESSION_ID=..evil.example&next=https://evil.example&url=//evil.example"
        )
        page = visit.post("/consent", **hidden(page), decision="agree", next="https://evil.example")
        mine = page.url.path.rpartition("/")[0]
        while "/pair/" not in page.url.path:
            page = visit.post(page.url.path, **hidden(page), answer="same")
        for number in range(1, 5):
            visit.answer(mine, number)
        visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")))
        back = console.client.get(f"{mine}/back?next=https://evil.example", follow_redirects=False)
    assert back.headers["location"] == "https://panel.example/done?id=a.b~c-d&s=..evil.example"
    evil = filled("https://panel.example/{id}?s={session}", panel_id="@evil.example//\r\nx", session="&a=b#", code="")
    assert evil == "https://panel.example/%40evil.example%2F%2F%0D%0Ax?s=%26a%3Db%23"


@pytest.mark.parametrize(
    "name", ["app.py", "../app.py", "..%2Fapp.py", "%2e%2e/app.py", "/etc/passwd", "study.css/..", "", "."]
)
def test_only_our_own_files_are_served(console: Operating, name: str) -> None:
    assert console.client.get(f"/static/{name}").status_code == 404


def test_who_takes_part_cannot_be_found_out_by_asking(console: Operating) -> None:
    """A link that never was, one that was withdrawn and one that is nearly right look the same."""
    console.client.cookies.clear()
    visit = Visit(console.client)
    mine, gone = visit.begin(), ""
    visit.client.cookies.clear()
    gone = visit.begin()
    visit.post(f"{gone}/withdraw", **hidden(visit.get(f"{gone}/withdraw")))
    for page in ("", "/pair/1", "/review", "/thanks", "/withdraw", "/result"):
        nearly = f"{mine[:-1]}{'A' if mine[-1] != 'A' else 'B'}"
        replies = [visit.client.get(f"{who}{page}") for who in (gone, nearly, f"/p/{'x' * 24}", "/p/1")]
        assert {reply.status_code for reply in replies} == {404}, page
        assert len({reply.text for reply in replies}) == 1, page


@pytest.mark.parametrize("path", ["/admin/new/{}/preview", "/admin/study/{}", "/admin/downloads/{}", "/static/{}"])
def test_names_longer_than_any_file_are_not_looked_for(console: Operating, path: str) -> None:
    assert console.client.get(path.format("9" * 4500)).status_code == 404
