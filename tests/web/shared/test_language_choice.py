"""Which language a visitor reads, and that they read it on every page."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from fairwise.store.schema import metadata, participants
from fairwise.study.texts import language
from fairwise.web.app import Site
from fairwise.web.shared.requests import LANGUAGE_COOKIE, preferred

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder


@pytest.fixture(scope="module")
def study(make_study: Any) -> StudyFolder:
    made: StudyFolder = make_study(
        languages=["en", "de"], comprehension_check=True, ask_why=True, ask_confidence=True, mark_differences=True
    )
    return made


@pytest.fixture(scope="module")
def site(study: StudyFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    app = Site(study.path, tmp_path_factory.mktemp("site") / "study.sqlite")
    headers = {"sec-fetch-site": "same-origin"}
    with TestClient(app, base_url="https://study.example", headers=headers) as opened:
        yield opened


@pytest.fixture
def client(site: TestClient) -> TestClient:
    """Of somebody who has not been here."""
    site.cookies.clear()
    return site


def spoken(page: Any) -> str:
    found = re.search(r'<html lang="(\w+)" dir="ltr">', page.text)
    assert found is not None
    return found[1]


def hidden(page: Any) -> dict[str, str]:
    inputs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text)
    return {name: unescape(value) for name, value in inputs}


def action(page: Any) -> str:
    found = re.search(r'<form method="post" action="([^"]*consent[^"]*)"', page.text)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (None, "en"),
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr, en-US;q=0.5, de;q=0.4", "en"),
        ("en;q=0.2, DE;q=0.3", "de"),
        ("de;q=0", "en"),
        ("fr,*;q=0.5", "en"),
        ("de;q=x", "en"),
        (";;;===,,,", "en"),
        ("x," * 50 + "de", "en"),
    ],
)
def test_the_browser_says_what_is_preferred(client: TestClient, header: str | None, wanted: str) -> None:
    assert preferred(header, ["en", "de"]) == wanted
    page = client.get("/", headers={} if header is None else {"accept-language": header})
    assert spoken(page) == wanted
    assert not client.cookies


def test_a_choice_goes_before_that_and_is_kept_in_the_browser_alone(client: TestClient) -> None:
    page = client.get("/?lang=de", headers={"accept-language": "en"})
    assert spoken(page) == "de"
    assert page.headers["set-cookie"] == (
        f"{LANGUAGE_COOKIE}=de; Max-Age=2592000; Path=/; HttpOnly; SameSite=lax; Secure"
    )
    kept = {"cookie": f"{LANGUAGE_COOKIE}=de", "accept-language": "en"}
    assert spoken(client.get("/declined", headers=kept)) == "de"
    assert spoken(client.get("/declined?lang=en", headers=kept)) == "en"


@pytest.mark.parametrize("asked", ["xx", "", "DE", "de%0d%0aset-cookie:x", "de;x", "../de"])
def test_no_other_language_can_be_chosen(client: TestClient, asked: str) -> None:
    page = client.get(f"/?lang={asked}", headers={"cookie": f"{LANGUAGE_COOKIE}=../../etc"})
    assert spoken(page) == "en"
    assert "set-cookie" not in page.headers


def test_a_study_in_one_language_asks_nobody(make_study: Any, tmp_path: Path) -> None:
    app = Site(make_study().path, tmp_path / "study.sqlite")
    with TestClient(app, base_url="https://study.example") as client:
        page = client.get("/?lang=de", headers={"accept-language": "de", "cookie": f"{LANGUAGE_COOKIE}=de"})
        assert spoken(page) == "en"
        assert "set-cookie" not in page.headers
        assert "?lang=" not in page.text


def test_the_whole_way_in_german(client: TestClient, study: StudyFolder) -> None:
    """Every page that is met on the way, problems included, has not one of our English sentences."""
    seen = []

    def kept(page: Any, status: int = 200) -> Any:
        assert page.status_code == status
        assert spoken(page) == "de"
        seen.append(unescape(page.text))
        return page

    first = kept(client.get("/?lang=de"))
    client.cookies.clear()  # agreeing keeps the language, however it was chosen
    form = hidden(first)
    assert action(first) == "/consent?lang=de"
    kept(client.post(action(first), data=form), 422)
    kept(client.get("/consent"), 404)  # after a reload
    kept(client.post(action(first), data={**form, "decision": "decline"}))
    client.cookies.clear()
    task = kept(client.post(action(first), data={**form, "decision": "agree"}))
    mine = task.url.path.removesuffix("/task")
    assert f"https://study.example{mine}?lang=de" in task.text
    check = kept(client.post(f"{mine}/task", data=hidden(task)))
    again = kept(client.post(f"{mine}/check", data=hidden(check)), 422)
    kept(client.post(f"{mine}/check", data=hidden(again)))
    practice = kept(client.get(mine))
    kept(client.post(f"{mine}/practice", data=hidden(practice)), 422)
    pressed = kept(client.post(f"{mine}/practice", data={**hidden(practice), "answer": "same"}))
    pair = kept(client.post(f"{mine}/practice", data=hidden(pressed)))
    kept(client.post(f"{mine}/pair/1", data=hidden(pair)), 422)
    kept(client.post(f"{mine}/pair/1", data={**hidden(pair), "answer": "same"}))
    kept(client.get(f"{mine}/review"))
    kept(client.get(f"{mine}/closing"), 422)
    for number in range(1, 5):
        pair = kept(client.get(f"{mine}/pair/{number}"))
        kept(client.post(f"{mine}/pair/{number}", data={**hidden(pair), "answer": "same"}))
    closing = kept(client.get(f"{mine}/closing"))
    kept(client.post(f"{mine}/closing", data=hidden(closing)))
    withdrawal = kept(client.get(f"{mine}/withdraw"))
    kept(client.post(f"{mine}/withdraw", data=hidden(withdrawal)))
    kept(client.get(mine), 404)
    kept(client.put("/"), 405)
    kept(client.post("/consent"), 415)
    kept(client.post("/consent", data={"decision": "agree"}), 403)
    kept(client.post("/consent", data={"why": "x" * 500_000}), 413)
    kept(client.post("/consent", data={}, headers={"sec-fetch-site": "cross-site"}), 403)
    assert not english_in(" ".join(seen))
    assert study.editions["de"].consent_version != study.consent_version


def english_in(pages: str) -> list[str]:
    """Sentences of ours that a German page must not have."""
    german: Any = language("de").catalogue
    ours = {key[0] if isinstance(key, tuple) else key for key in german._catalog}
    return [text for text in ours if len(text) > 12 and german.gettext(text) != text and text in pages]


def test_who_agreed_agreed_to_the_text_they_read(client: TestClient, study: StudyFolder) -> None:
    assert isinstance(client.app, Site)
    store, agreed = client.app.host.store, sa.select(participants.c.consent_version).order_by(participants.c.id)
    before = len(store.read_now(lambda connection: connection.execute(agreed).all()))
    for code in ("en", "de"):
        page = client.get(f"/?lang={code}")
        client.post(action(page), data={**hidden(page), "decision": "agree"})
    versions = store.read_now(lambda connection: connection.execute(agreed).scalars().all())[before:]
    assert set(versions) == {edition.consent_version for edition in study.editions.values()}


def test_the_own_link_brings_the_language_to_another_device(client: TestClient) -> None:
    page = client.get("/?lang=de")
    task = client.post(action(page), data={**hidden(page), "decision": "agree"})
    link = re.search(r"https://study\.example(/p/[\w-]+\?lang=de)<", task.text)
    assert link is not None
    client.cookies.clear()
    there = client.get(link[1], headers={"accept-language": "en"})
    assert there.url.path.endswith("/task")
    assert spoken(there) == "de"


def test_choosing_a_language_changes_nothing_on_the_server(client: TestClient) -> None:
    page = client.get("/")
    mine = client.post(action(page), data={**hidden(page), "decision": "agree"}).url.path.removesuffix("/task")
    assert isinstance(client.app, Site)
    store = client.app.host.store

    def everything() -> Any:
        return store.read_now(lambda c: [c.execute(sa.select(table)).all() for table in metadata.sorted_tables])

    before = everything()
    for path in ("/", mine, f"{mine}/task", "/nowhere"):
        assert spoken(client.get(f"{path}?lang=de")) == "de"
    assert everything() == before
