"""Several studies on one server: each for itself, and none in the way of another."""

from __future__ import annotations

import logging
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families
from tests.support.operating import PASSWORD
from tests.support.several import OneOfSeveral, VisitOfOne, browser, folder_of_studies, serving
from tests.support.visits import hidden

from fairwise.store import places
from fairwise.store.errors import StoreUnavailable
from fairwise.store.export import judgments
from fairwise.store.logs import name_studies
from fairwise.web.console.accounts import setup_key
from fairwise.web.shared.monitoring import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

    from fairwise.web.studies import Studies

NAMES = ("loans", "parole")


@pytest.fixture
def home(make_study: Any, tmp_path: Path) -> Path:
    return folder_of_studies(tmp_path / "studies", make_study, *NAMES)


@pytest.fixture
def served(home: Path) -> Iterator[tuple[Studies, TestClient]]:
    with serving(home) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What changes is found when a test looks, not whenever; and nothing is being copied here."""
    monkeypatch.setattr("fairwise.web.studies.LOOKING_SECONDS", 1e6)
    monkeypatch.setattr(places, "SETTLED_SECONDS", 0.0)


def look(client: TestClient, studies: Studies) -> None:
    assert client.portal is not None
    client.portal.call(studies.look)


def logged_in(studies: Studies, name: str, who: str = "Ada") -> OneOfSeveral:
    console = OneOfSeveral(browser(studies), studies, name)
    console.set_up(who)
    return console


def test_each_study_has_its_own_address_and_database(served: tuple[Studies, TestClient], home: Path) -> None:
    studies, client = served
    for name, said in zip(NAMES, ("same", "no_constraint"), strict=True):
        visit = VisitOfOne(browser(studies), name)
        assert f"The study {name}" in visit.get("/").text
        mine = visit.begin()
        visit.answer(mine, 1, said)
    for name, said in zip(NAMES, ("same", "no_constraint"), strict=True):
        store = studies.site(name).host.store
        assert list(store.read_now(judgments).frame["answer"]) == [said]
        assert (home / name / "study.sqlite").exists()
    assert studies.site("loans").host.keys.form("x") != studies.site("parole").host.keys.form("x")
    styles = client.get("/loans/").text.partition('rel="stylesheet" href="')[2].partition('"')[0]
    assert styles.startswith("/loans/static/")
    assert client.get(styles).status_code == 200


def test_the_address_without_its_slash(served: tuple[Studies, TestClient]) -> None:
    _, client = served
    found = client.get("/loans?PROLIFIC_PID=1", headers={"host": "evil.example"}, follow_redirects=False)
    assert (found.status_code, found.headers["location"]) == (307, "/loans/?PROLIFIC_PID=1")
    assert client.get("/loans/admin", follow_redirects=False).headers["location"] == "/loans/admin/login"


# Who sees which studies


def test_strangers_are_told_of_no_study(served: tuple[Studies, TestClient]) -> None:
    _, client = served
    for path in ("/", "/readyz", "/healthz", "/nowhere", "/admin", "/metrics"):
        page = client.get(path, headers={"host": "evil.example"})
        assert "loans" not in page.text
        assert "parole" not in page.text
        assert "evil.example" not in page.text
    assert client.get("/").status_code == 200


def test_whoever_is_logged_in_sees_those_studies_and_no_others(served: tuple[Studies, TestClient]) -> None:
    studies, client = served
    console = logged_in(studies, "loans")
    page = console.client.get("/").text
    assert 'href="/loans/admin"' in page
    assert "The study loans" in page
    assert "parole" not in page
    assert 'href="/"' in console.get("").text
    assert "loans" not in client.get("/").text  # another browser
    console.post("/logout")
    assert "loans" not in console.client.get("/").text


def test_with_accounts_in_two_studies_both_are_listed(served: tuple[Studies, TestClient]) -> None:
    studies, _ = served
    console = logged_in(studies, "parole")
    OneOfSeveral(console.client, studies, "loans").set_up("Ada")
    page = console.client.get("/").text
    assert page.index("/loans/admin") < page.index("/parole/admin")


def test_a_session_that_ended_lists_nothing(served: tuple[Studies, TestClient]) -> None:
    studies, _ = served
    console = logged_in(studies, "loans")
    kept = dict(console.client.cookies)
    console.post("/logout")
    again = browser(studies)
    again.cookies.update(kept)
    assert "loans" not in again.get("/").text


def test_the_start_page_is_not_fooled(served: tuple[Studies, TestClient]) -> None:
    studies, _ = served
    console = logged_in(studies, "loans")
    ticket = next(cookie.value for cookie in console.client.cookies.jar if cookie.name == "fairwise_study_loans")
    session = str(ticket).partition(".")[0]
    for name, value in (
        ("parole", ticket),
        ("loans", session),
        ("loans", f"{session}."),
        ("loans", f"{session}.{studies.site('parole').host.keys.form(f'start page {session}')}"),
        ("loans", "zz.zz"),
        ("loans", f".{studies.site('loans').host.keys.form('start page ')}"),
    ):
        page = browser(studies).get("/", headers={"cookie": f"fairwise_study_{name}={value}"})
        assert page.status_code == 200
        assert "loans" not in page.text
        assert "parole" not in page.text


# What belongs to one study is worth nothing in another


def test_cookies_are_for_their_own_study(served: tuple[Studies, TestClient]) -> None:
    studies, _ = served
    console = logged_in(studies, "loans")
    VisitOfOne(console.client, "loans").agree()
    console.get("?lang=de")
    paths = {str(cookie.name): cookie.path for cookie in console.client.cookies.jar}
    assert paths.pop("fairwise_study_loans") == "/"
    assert len(paths) >= 4
    assert all(path in ("/loans/", "/loans/admin") for path in paths.values())


def test_a_session_of_one_study_opens_nothing_in_another(served: tuple[Studies, TestClient]) -> None:
    studies, _ = served
    console = logged_in(studies, "loans")
    values = [str(cookie.value) for cookie in console.client.cookies.jar]
    values += [value.partition(".")[0] for value in values]
    for value in values:
        page = browser(studies).get(
            "/parole/admin", headers={"cookie": f"fairwise_operator={value}"}, follow_redirects=False
        )
        assert (page.status_code, page.headers["location"]) == (303, "/parole/admin/login")
    # Nor does the cookie for the start page open anything in its own study.
    ticket = next(str(cookie.value) for cookie in console.client.cookies.jar if cookie.path == "/")
    for value in (ticket, ticket.partition(".")[0]):
        page = browser(studies).get(
            "/loans/admin", headers={"cookie": f"fairwise_operator={value}"}, follow_redirects=False
        )
        assert page.status_code == 303


def test_a_form_of_one_study_is_refused_by_another(served: tuple[Studies, TestClient]) -> None:
    studies, client = served
    console = logged_in(studies, "loans")
    other = OneOfSeveral(browser(studies), studies, "parole")
    other.set_up("Eve")
    assert other.post("/accounts", csrf=console.csrf(), name="X").status_code == 403
    login = {"csrf": hidden(client.get("/loans/admin/login"))["csrf"], "name": "Eve", "password": PASSWORD}
    assert client.post("/parole/admin/login", data=login).status_code == 403
    agreeing = {**hidden(client.get("/loans/")), "decision": "agree"}
    assert client.post("/parole/consent", data=agreeing).status_code == 403


def test_links_and_accounts_of_one_study_are_unknown_to_another(served: tuple[Studies, TestClient]) -> None:
    studies, client = served
    mine = VisitOfOne(browser(studies), "loans").begin()
    assert client.get(f"/loans{mine}").status_code == 200
    assert client.get(f"/parole{mine}").status_code == 404
    assert client.get(mine).status_code == 404
    logged_in(studies, "loans")
    csrf = hidden(client.get("/parole/admin/login"))["csrf"]
    refused = client.post("/parole/admin/login", data={"csrf": csrf, "name": "Ada", "password": PASSWORD})
    assert refused.status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        "/nothing/",
        "/LOANS/",
        "/loans%2f/",
        "/..%2fstudies%2floans/",
        "/%2e%2e/",
        "/.hidden/",
        "/.hidden",
        "/loans/%2e%2e/parole%2fadmin/",
        "/loans%0a/",
        "/loans%00/",
        "/notes/",
        "/admin/login",
        "/static/..%2f..%2fsecret.key",
        "/loans/static/..%2f..%2fsecret.key",
        "/loans/..%2fparole%2fadmin%2flogin",
    ],
)
def test_no_other_name_leads_anywhere(home: Path, path: str) -> None:
    shutil.copytree(home / "loans", home / ".hidden")
    (home / "notes").mkdir()
    (home / "notes" / "secret.txt").write_text("what nobody is to read", encoding="utf-8")
    with serving(home) as (_, client):
        page = client.get(path)
    assert page.status_code == 404
    assert "what nobody" not in page.text
    assert page.headers["x-frame-options"] == "DENY"


# One broken study


def test_a_broken_study_stops_no_other(
    home: Path, make_study: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder_of_studies(home, make_study, "broken")
    settings = (home / "broken" / "study.toml").read_text(encoding="utf-8")
    (home / "broken" / "study.toml").write_text("pairs = many", encoding="utf-8")
    with serving(home) as (studies, client):
        assert client.get("/loans/").status_code == 200
        for path in ("/broken", "/broken/", "/broken/admin", "/broken/readyz"):
            page = client.get(path)
            assert page.status_code == 503
            assert "cannot be served at the moment" in page.text
            assert "study.toml" not in page.text
            assert page.headers["x-frame-options"] == "DENY"
        (said,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        assert "study.toml" in said
        assert client.get("/readyz").status_code == 200
        look(client, studies)
        assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 1  # not each time
        (home / "broken" / "study.toml").write_text(settings, encoding="utf-8")
        look(client, studies)
        assert "The study broken" in client.get("/broken/").text
        monkeypatch.setattr("fairwise.store.store.Store.read_now", _gone)
        assert client.get("/readyz").status_code == 503


def _gone(*_: object) -> None:
    raise StoreUnavailable("gone")


def test_what_cannot_be_opened_leaves_nothing_open(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr("fairwise.web.app.Site._serve_study", _gone)
    monkeypatch.setattr("fairwise.web.shared.host.Host.close", lambda host: closed.append(host.path.name))
    with serving(home) as (_, client):
        assert client.get("/loans/").status_code == 503
    assert sorted(closed) == list(NAMES)


def test_a_copy_with_the_same_secret_is_refused_and_the_first_goes_on(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(home) as (studies, client):
        look(client, studies)
        shutil.copytree(home / "parole", home / "a-copy")  # whose name comes first
        look(client, studies)
        assert client.get("/a-copy/").status_code == 503
        assert client.get("/parole/").status_code == 200
    assert "a-copy" in {name: why for name, why in places.find_places(home, None).refused.items() if "parole" in why}
    with serving(home) as (_, client):
        assert client.get("/a-copy/").status_code == 503
        assert client.get("/parole/").status_code == 200
    assert "secret.key is that of parole" in caplog.text


def test_studies_come_and_go_while_others_are_served(
    home: Path, make_study: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(home) as (studies, client):
        assert client.get("/new/").status_code == 404
        folder_of_studies(home, make_study, "new")
        monkeypatch.setattr(places, "SETTLED_SECONDS", 3600.0)  # it may still be on its way here
        look(client, studies)
        assert client.get("/new/").status_code == 404
        monkeypatch.setattr(places, "SETTLED_SECONDS", 0.0)
        look(client, studies)
        assert "The study new" in client.get("/new/").text
        assert "fairwise study operator add" in caplog.text
        (home / "new").rename(home / "newer")
        look(client, studies)
        assert client.get("/new/").status_code == 404
        assert "The study new" in client.get("/newer/").text
        assert client.get("/loans/").status_code == 200


def test_names_that_cannot_be_addresses_are_told(home: Path, make_study: Any) -> None:
    folder_of_studies(home, make_study, "metrics", "two words", "dotted.name")
    found = places.find_places(home, None)
    assert set(found.studies) == set(NAMES)
    assert set(found.refused) == {"metrics", "two words", "dotted.name"}
    with serving(home) as (_, client):
        assert client.get("/healthz").text == "ok"
        assert client.get("/metrics").status_code == 404
        assert client.get("/two%20words/").status_code == 404


# For those who watch


def test_numbers_of_each_study_have_its_name(
    served: tuple[Studies, TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    studies, client = served
    monkeypatch.setenv(TOKEN, "a token of sixteen letters")
    visit = VisitOfOne(browser(studies), "loans")
    visit.answer(visit.begin(), 1)
    text = client.get("/metrics", headers={"authorization": "Bearer a token of sixteen letters"}).text
    kinds = list(text_string_to_metric_families(text))
    assert len({kind.name for kind in kinds}) == len(kinds)  # each is explained once
    answers = {
        sample.labels["study"]: sample.value
        for kind in kinds
        for sample in kind.samples
        if sample.name == "fairwise_answers"
    }
    assert answers == {"loans": 1.0, "parole": 0.0}
    assert client.get("/metrics").status_code == 404


def test_lines_of_the_log_name_their_study(served: tuple[Studies, TestClient], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of requests, and of threads that a study has for itself."""
    studies, client = served
    logger, lines = logging.getLogger("fairwise"), []
    monkeypatch.setattr(logger, "filters", list(logger.filters))
    name_studies("fairwise")
    logger.addFilter(lambda record: lines.append(record.getMessage()) or True)  # type: ignore[func-returns-value]
    with pytest.raises(StoreUnavailable):
        studies.site("loans").host.store.change_now(lambda connection: connection.execute(sa.text("no statement")))
    monkeypatch.setattr("fairwise.web.shared.pages.Pages.render", _broken)
    client.get("/parole/")
    assert [line.partition(": ")[0] for line in lines] == ["loans", "parole"]


def _broken(*_: object, **__: object) -> None:
    raise RuntimeError


def test_every_form_and_link_of_a_console_is_of_its_own_study(served: tuple[Studies, TestClient]) -> None:
    studies, client = served
    console = OneOfSeveral(client, studies, "loans")
    first = console.get(f"/setup/{setup_key(console.site.host)}")
    assert 'action="/loans/admin/setup/' in first.text
    console.set_up()
    pages, seen = ["", "/study", "/help"], [first]
    for path in pages:
        page = console.get(path)
        seen.append(page)
        inside = re.findall(r'href="/loans/admin(/[a-z/-]+)"', page.text)
        pages += [found for found in dict.fromkeys(inside) if found not in pages]
    assert len(seen) > 10
    for page in seen:
        named = re.findall(r'(?:action|href|src)="(/[^"]*)"', page.text)
        assert not [one for one in named if not one.startswith("/loans/") and one != "/"], page.url
