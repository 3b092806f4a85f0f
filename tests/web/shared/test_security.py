"""What a stranger, another participant or a broken form may do: nothing that is kept, and nothing that is told."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.small_study import OUTCOME
from tests.support.visits import Visit, hidden, visiting

from fairwise.store import export
from fairwise.store.schema import answers, participants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def test_outcomes_reach_neither_the_database_nor_any_page(make_study: Any, tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    study = make_study()
    with visiting(study, path) as visit:
        mine = visit.begin()
        for number in range(1, 5):
            visit.answer(mine, number)
        visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")))
        pages = "".join(visit.seen)
        assert "known-as-" not in pages  # nor who the people are
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"known-as-" in kept
    for secret in (OUTCOME, "outcome-0-never", "outcome-1-never"):
        assert secret not in pages
        assert secret.encode() not in kept
    assert study.outcome().str.contains("never").all()  # it is there, for a fit


def test_every_text_is_escaped(visit: Visit) -> None:
    mine = visit.begin()
    for number in range(1, 5):
        page = visit.get(f"{mine}/pair/{number}").text
        assert "<b>Town" not in page
        assert "&lt;b&gt;Town" in page


def test_only_hashes_of_tokens_are_kept(visit: Visit, tmp_path: Path) -> None:
    token = visit.begin().removeprefix("/p/")
    assert len(token) * 6 >= 128
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert token.encode() not in kept


def test_nobody_sees_or_answers_for_somebody_else(visit: Visit) -> None:
    mine = visit.begin()
    form = hidden(visit.get(f"{mine}/pair/1"))
    visit.client.cookies.clear()
    theirs = visit.begin()
    theirs_form = hidden(visit.get(f"{theirs}/pair/1"))
    assert visit.post(f"{theirs}/pair/1", **form, answer="same").status_code == 403  # another's form
    mixed = {**theirs_form, "key": form["key"]}
    assert visit.post(f"{theirs}/pair/1", **mixed, answer="same").status_code == 404  # another's pair
    assert visit.rows(answers) == 0


@pytest.fixture(scope="module")
def shared_site(make_study: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    with visiting(make_study(ask_confidence=True), tmp_path_factory.mktemp("site") / "study.sqlite") as visit:
        yield visit


@pytest.fixture
def another_visit(shared_site: Visit) -> Visit:
    """Of a site where others have been before."""
    shared_site.client.cookies.clear()
    return shared_site


@pytest.mark.parametrize("csrf", ["", "x", "é", "a" * 300])
def test_a_form_without_its_token_is_refused(another_visit: Visit, csrf: str) -> None:
    visit = another_visit
    mine = visit.begin()
    before = visit.rows(answers), visit.rows(participants)
    form = {**hidden(visit.get(f"{mine}/pair/1")), "csrf": csrf}
    for path in (f"{mine}/pair/1", f"{mine}/task", f"{mine}/withdraw", f"{mine}/closing", "/consent"):
        assert visit.post(path, **form, answer="same", decision="agree").status_code == 403
    assert (visit.rows(answers), visit.rows(participants)) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "http://[no-origin"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_from_another_site_is_refused(another_visit: Visit, headers: dict[str, str]) -> None:
    visit = another_visit
    mine, before = visit.begin(), visit.rows(answers)
    form = hidden(visit.get(f"{mine}/pair/1"))
    refused = visit.client.post(f"{mine}/pair/1", data={**form, "answer": "same"}, headers=headers)
    assert refused.status_code == 403
    assert visit.rows(answers) == before
    own = {"origin": "https://study.example", "sec-fetch-site": "same-origin"}
    assert visit.client.post(f"{mine}/pair/1", data={**form, "answer": "same"}, headers=own).status_code == 200


def test_too_much_is_refused_before_it_is_read(visit: Visit) -> None:
    mine = visit.begin()
    form = hidden(visit.get(f"{mine}/pair/1"))
    assert visit.post(f"{mine}/pair/1", **form, answer="same", why="x" * 500_000).status_code == 413

    def endless() -> Iterator[bytes]:
        yield from (b"x" * 1000 for _ in range(500))

    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert visit.client.post(f"{mine}/pair/1", content=endless(), headers=headers).status_code == 413
    assert visit.rows(answers) == 0


@pytest.mark.parametrize("stage", ["check", "practice"])
def test_a_stage_that_is_switched_off_holds_nobody_back(make_study: Any, tmp_path: Path, stage: str) -> None:
    before = make_study(comprehension_check=True)
    with visiting(before, tmp_path / "study.sqlite") as visit:
        mine = visit.agree()
        page = visit.post(f"{mine}/task", **hidden(visit.get(f"{mine}/task")))
        if stage == "practice":
            right = {"order": "a_at_least_b", "either": "no_constraint", "change": "yes"}
            page = visit.post(f"{mine}/check", **hidden(page), **right)
        assert page.url.path == f"{mine}/{stage}"
    settings = before.settings.model_copy(update={"comprehension_check": False, "practice": False})
    after = replace(before, settings=settings)
    with visiting(after, tmp_path / "study.sqlite") as visit:
        page = visit.get(mine)
        assert page.url.path == f"{mine}/{stage}"
        chosen = {"order": "a_at_least_b", "either": "no_constraint", "change": "yes", "done": "yes"}
        assert visit.post(f"{mine}/{stage}", **hidden(page), **chosen).url.path == f"{mine}/pair/1"


def test_what_is_no_form_is_refused(visit: Visit) -> None:
    mine = visit.begin()
    for content in ("application/json", "text/plain", ""):
        reply = visit.client.post(f"{mine}/pair/1", content=b"{}", headers={"content-type": content})
        assert reply.status_code == 415
    many = {f"field{k}": "x" for k in range(500)}
    assert visit.post(f"{mine}/pair/1", **many).status_code in (400, 403)
    assert visit.client.post(f"{mine}/pair/1", files={"f": b"x"}).status_code in (400, 403)


def test_long_texts_in_any_script_arrive_whole(visit: Visit) -> None:
    mine = visit.begin()
    for number in range(1, 5):
        visit.answer(mine, number)
    texts = dict.fromkeys(("rules", "expressible", "comments"), "漢" * 10000)
    assert visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), **texts).status_code == 200
    assert visit.store.read_now(export.texts)["text"].str.len().tolist() == [10_000] * 3


@pytest.mark.parametrize("sure", ["0000000039999999999", "٣", "-1", "6", "x"])
def test_a_confidence_that_is_none_is_left_out(another_visit: Visit, sure: str) -> None:
    assert another_visit.answer(another_visit.begin(), 1, confidence=sure).status_code == 200


def test_odd_characters_are_cleaned_not_lost(make_study: Any, new_database: Callable[[], Any]) -> None:
    with visiting(make_study(ask_why=True), new_database()) as visit:
        mine = visit.begin()
        visit.answer(mine, 1, why="a\x00b\x07 \r\n日本 👩‍👩‍👧 =SUM(A1) " + "x" * 5000)
        text = visit.store.read_now(export.texts)["text"].item()
        assert text.startswith("ab \n日本 👩‍👩‍👧 =SUM(A1) x")
        assert len(text) == 2000


def test_headers_that_keep_strangers_out(visit: Visit) -> None:
    mine = visit.begin()
    for path in ("/", f"{mine}/pair/1", "/nowhere"):
        headers = visit.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers
    static = visit.client.get(re.findall(r'href="(/static/[^"]+)"', visit.get("/").text)[0])
    assert "immutable" in static.headers["cache-control"]


def test_cookies_are_out_of_reach(visit: Visit) -> None:
    page = visit.client.get("/")
    reply = visit.client.post("/consent", data={**hidden(page), "decision": "agree"}, follow_redirects=False)
    cookie = reply.headers["set-cookie"].lower()
    assert reply.status_code == 303
    for wanted in ("httponly", "secure", "samesite=lax", "path=/"):
        assert wanted in cookie


def test_behind_a_proxy_with_a_path(make_study: Any, tmp_path: Path) -> None:
    """The proxy takes the prefix away; every address on our pages has it."""
    with visiting(make_study(), tmp_path / "study.sqlite", prefix="/studies/one") as visit:
        page = visit.client.get("/")
        reply = visit.client.post("/consent", data={**hidden(page), "decision": "agree"}, follow_redirects=False)
        assert reply.headers["location"].startswith("/studies/one/p/")
        assert "path=/studies/one/" in reply.headers["set-cookie"].lower()
        task = visit.client.get(reply.headers["location"].removeprefix("/studies/one"))
        addresses = re.findall(r'(?:href|src|action)="(/[^"]*)"', task.text)
        assert addresses
        assert all(address.startswith("/studies/one/") for address in addresses)


def test_a_slash_too_many_does_not_lead_out_of_the_study(make_study: Any, tmp_path: Path) -> None:
    with visiting(make_study(), tmp_path / "study.sqlite", prefix="/studies/one") as visit:
        reply = visit.client.post(
            "/consent", data={**hidden(visit.get("/")), "decision": "agree"}, follow_redirects=False
        )
        mine = reply.headers["location"].removeprefix("/studies/one").removesuffix("/task")
        resumed = visit.client.get(f"{mine}/", follow_redirects=False)
        assert resumed.headers["location"] == f"/studies/one{mine}/task"
        assert visit.client.get(f"{mine}/task/", follow_redirects=False).status_code == 404


NOWHERE = ["/p/short", "/p/" + "x" * 24, "/p/../../etc/passwd", "/static/../app.py", "/docs", "/openapi.json", "/p/%00"]


@pytest.mark.parametrize("path", NOWHERE)
def test_what_is_not_there(another_visit: Visit, path: str) -> None:
    reply = another_visit.get(path)
    assert reply.status_code == 404
    assert "There is no such page" in reply.text


def test_a_failure_shows_no_traceback(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = visit.begin()
    monkeypatch.setattr(type(visit.store), "read_now", lambda *_: 1 / 0)
    reply = visit.get(f"{mine}/pair/1")
    assert reply.status_code == 500
    assert "Nothing that was saved is lost" in reply.text
    assert "Traceback" not in reply.text
    assert "default-src 'none'" in reply.headers["content-security-policy"]
