"""A participant's way over HTTP: nothing lost, nothing doubled, nothing of others, nothing of outcomes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from visits import Visit, hidden, visiting

from fairwise.elicitation import export
from fairwise.elicitation.store.tables import answers, metadata, participants
from fairwise.elicitation.web.arriving import COOKIE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


Maker = "Callable[..., StudyFolder]"
OUTCOME = "a_result_that_must_never_be_seen"


@pytest.fixture
def visit(make_study: Any, tmp_path: Path) -> Iterator[Visit]:
    with visiting(make_study(), tmp_path / "study.sqlite") as opened:
        yield opened


def test_the_whole_way_on_both_databases(make_study: Any, new_database: Callable[[], Any]) -> None:
    study = make_study(comprehension_check=True, ask_why=True, ask_confidence=True)
    with visiting(study, new_database()) as visit:
        mine = visit.agree()
        check = visit.post(f"{mine}/task", **hidden(visit.get(f"{mine}/task")))
        assert check.url.path == f"{mine}/check"
        again = visit.post(f"{mine}/check", **hidden(check), order="same")
        assert again.status_code == 422
        practice = visit.post(f"{mine}/check", **hidden(again), order="same")
        assert practice.url.path == f"{mine}/practice"  # after two tries everyone goes on
        assert visit.post(f"{mine}/practice", **hidden(practice), answer="same").url.path == f"{mine}/pair/1"
        said = ["same", "a_at_least_b", "b_at_least_a", "no_constraint"]
        for number, answer in enumerate(said, start=1):
            following = visit.answer(mine, number, answer, why="=1+1 <b>", confidence="4")
            assert "Saved" in following.text
        assert following.url.path == f"{mine}/review"
        thanks = visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="mine", comments="")
        assert thanks.url.path == f"{mine}/thanks"
        receipt = re.search(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}", thanks.text)
        assert receipt is not None
        assert receipt[0] in visit.get(f"{mine}/thanks").text
        assert visit.exported() == said
        table = visit.store.read_now(export.judgments).frame
        assert (table["seconds"] >= 0).all()
        assert set(table["a"]) | set(table["b"]) <= set(study.person_ids)
        texts = visit.store.read_now(export.texts)
        assert texts["text"].tolist() == ["=1+1 <b>"] * 4 + ["mine"]


def test_a_get_never_changes_anything(visit: Visit) -> None:
    mine = visit.begin()

    def everything() -> list[Any]:
        return visit.store.read_now(lambda c: [c.execute(sa.select(table)).all() for table in metadata.sorted_tables])

    before = everything()
    for path in ("/", "/declined", "/withdrawn", mine, *(f"{mine}/{page}" for page in (
        "task", "check", "practice", "pair/1", "pair/2", "pair/99", "review", "closing", "thanks", "withdraw",
    ))):  # fmt: skip
        visit.get(path)
    assert everything() == before


def test_declining_keeps_nothing(visit: Visit) -> None:
    page = visit.get("/")
    assert visit.post("/consent", **hidden(page), decision="decline").url.path == "/declined"
    assert visit.post("/consent", **hidden(page)).status_code == 422
    assert visit.rows(participants) == 0
    assert not visit.client.cookies


def test_agreeing_twice_is_agreeing_once(visit: Visit) -> None:
    form = hidden(visit.get("/"))
    paths = {visit.post("/consent", **form, decision="agree").url.path for _ in range(3)}
    assert len(paths) == 1
    assert visit.rows(participants) == 1


def test_double_clicks_replays_and_other_tabs(visit: Visit) -> None:
    mine = visit.begin()
    first_tab, other_tab = (hidden(visit.get(f"{mine}/pair/1")) for _ in range(2))
    for _ in range(3):
        visit.post(f"{mine}/pair/1", **first_tab, answer="same")
    visit.post(f"{mine}/pair/1", **other_tab, answer="same")
    assert visit.rows(answers) == 1
    visit.post(f"{mine}/pair/1", **hidden(visit.get(f"{mine}/pair/1")), answer="no_constraint")
    assert visit.rows(answers) == 2  # a changed mind; the old one is kept
    visit.post(f"{mine}/pair/1", **first_tab, answer="same")  # the back button, and the old form again
    assert visit.rows(answers) == 2
    assert visit.exported() == ["no_constraint"]


def test_an_open_pair_is_found_again_on_any_device(visit: Visit) -> None:
    mine = visit.begin()
    visit.answer(mine, 1)
    visit.answer(mine, 3)
    visit.client.cookies.clear()
    assert visit.get(mine).url.path == f"{mine}/pair/2"
    assert visit.get(f"{mine}/closing").status_code == 422


def test_after_the_end_nothing_changes(visit: Visit) -> None:
    mine = visit.begin()
    forms = {number: hidden(visit.get(f"{mine}/pair/{number}")) for number in range(1, 5)}
    for number in range(1, 5):
        visit.answer(mine, number)
    closing = hidden(visit.get(f"{mine}/closing"))
    for _ in range(2):
        visit.post(f"{mine}/closing", **closing, rules="first")
    assert visit.post(f"{mine}/pair/1", **forms[1], answer="no_constraint").url.path == f"{mine}/thanks"
    assert visit.post(f"{mine}/closing", **closing, rules="second").url.path == f"{mine}/thanks"
    assert visit.exported() == ["same"] * 4
    assert visit.store.read_now(export.texts)["text"].tolist() == ["first"]


def test_withdrawing_deletes_everything(visit: Visit) -> None:
    mine = visit.begin()
    visit.answer(mine, 1)
    assert COOKIE in visit.client.cookies
    gone = visit.post(f"{mine}/withdraw", **hidden(visit.get(f"{mine}/withdraw")))
    assert gone.url.path == "/withdrawn"
    assert COOKIE not in visit.client.cookies
    for table in metadata.sorted_tables:
        if table.name not in {"counters", "withdrawals", "study", "consent_texts"}:
            assert visit.rows(table) == 0
    assert visit.get(mine).status_code == 404


def test_a_problem_is_told_and_nothing_is_kept(visit: Visit) -> None:
    mine = visit.begin()
    form = hidden(visit.get(f"{mine}/pair/1"))
    for said in ("", "perhaps", "SAME", "0"):
        page = visit.post(f"{mine}/pair/1", **form, answer=said)
        assert page.status_code == 422
        assert "Choose one of the answers" in page.text
    assert visit.rows(answers) == 0


def test_two_answers_are_only_two(make_study: Any, tmp_path: Path) -> None:
    with visiting(make_study(answers="two"), tmp_path / "study.sqlite") as visit:
        mine = visit.begin()
        assert visit.answer(mine, 1, "a_at_least_b").status_code == 422
        assert visit.answer(mine, 1, "no_constraint").status_code == 200


# Safety


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


@pytest.mark.parametrize("csrf", ["", "x", "é", "a" * 300])
def test_a_form_without_its_token_is_refused(visit: Visit, csrf: str) -> None:
    mine = visit.begin()
    form = {**hidden(visit.get(f"{mine}/pair/1")), "csrf": csrf}
    for path in (f"{mine}/pair/1", f"{mine}/task", f"{mine}/withdraw", f"{mine}/closing", "/consent"):
        assert visit.post(path, **form, answer="same", decision="agree").status_code == 403
    assert visit.rows(answers) == 0
    assert visit.rows(participants) == 1


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
def test_a_form_from_another_site_is_refused(visit: Visit, headers: dict[str, str]) -> None:
    mine = visit.begin()
    form = hidden(visit.get(f"{mine}/pair/1"))
    refused = visit.client.post(f"{mine}/pair/1", data={**form, "answer": "same"}, headers=headers)
    assert refused.status_code == 403
    assert visit.rows(answers) == 0
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
    after = replace(make_study(practice=False), secret=before.secret)
    with visiting(after, tmp_path / "study.sqlite") as visit:
        page = visit.get(mine)
        assert page.url.path == f"{mine}/{stage}"
        chosen = {"order": "a_at_least_b", "either": "no_constraint", "change": "yes", "answer": "same"}
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
def test_a_confidence_that_is_none_is_left_out(make_study: Any, tmp_path: Path, sure: str) -> None:
    with visiting(make_study(ask_confidence=True), tmp_path / "study.sqlite") as visit:
        assert visit.answer(visit.begin(), 1, confidence=sure).status_code == 200


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
def test_what_is_not_there(visit: Visit, path: str) -> None:
    reply = visit.get(path)
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
