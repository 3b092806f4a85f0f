"""What those are told who watch the server: whether it is there, and numbers about nobody."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient
from tests.support.fits import done_job
from tests.support.operating import Operating, operating
from tests.support.visits import Visit
from tests.support.watching import take_part

from fairwise.store.errors import StoreUnavailable
from fairwise.web.app import Site
from fairwise.web.shared.monitoring import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

WORDS = "words that only I would write"
SECRET = "a token of sixteen letters"


@pytest.fixture
def study(make_study: Any) -> StudyFolder:
    study: StudyFolder = make_study(ask_why=True)
    return study


@pytest.fixture
def console(study: StudyFolder, tmp_path: Path) -> Iterator[Operating]:
    with operating(study.path, tmp_path / "study.sqlite") as opened:
        opened.set_up()
        yield opened


def test_alive_and_ready(console: Operating) -> None:
    assert (console.client.get("/healthz").text, console.client.get("/readyz").text) == ("ok", "ready")
    older = sa.text("UPDATE alembic_version SET version_num = '0001'")
    console.site.host.store.change_now(lambda c: c.execute(older))
    assert console.client.get("/readyz").status_code == 503
    assert console.client.get("/healthz").status_code == 200


def test_not_ready_without_the_database(console: Operating, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(type(console.site.host.store), "read_now", gone)
    assert console.client.get("/readyz").status_code == 503
    assert console.client.get("/healthz").status_code == 200


def test_ready_before_there_is_a_study(tmp_path: Path) -> None:
    with operating(tmp_path / "new", tmp_path / "new.sqlite") as console:
        assert console.client.get("/readyz").text == "ready"


def test_numbers_are_about_nobody_and_for_whoever_has_the_token(
    console: Operating, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = take_part(console, 4, why=WORDS, closing=WORDS)
    study = console.site.host.study
    assert study is not None
    done_job(console.site.host.store, study.path, dict.fromkeys(study.person_ids, 0.5))
    console.client.get("/nowhere/at/all")
    known = {"authorization": f"Bearer {SECRET}"}
    assert console.client.get("/metrics", headers=known).status_code == 404  # nobody has set one
    for short in ("", "short"):
        monkeypatch.setenv(TOKEN, short)
        assert console.client.get("/metrics", headers={"authorization": f"Bearer {short}"}).status_code == 404
    monkeypatch.setenv(TOKEN, SECRET)
    for wrong in ({}, {"authorization": "Bearer x"}, {"authorization": f"Bearer {SECRET}x"}, {"authorization": SECRET}):
        assert console.client.get("/metrics", headers=wrong).status_code == 404
    page = console.client.get("/metrics", headers=known)
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    numbers = {name: float(value) for name, value in re.findall(r"^([^#\s].*) (\S+)$", page.text, flags=re.MULTILINE)}
    assert numbers["fairwise_answers"] == 4
    assert numbers["fairwise_participants_begun"] == numbers["fairwise_participants_finished"] == 1
    assert numbers['fairwise_jobs{state="done"}'] == 1
    assert numbers['fairwise_jobs{state="waiting"}'] == 0
    posts = [value for name, value in numbers.items() if re.search(r'method="POST".*route="[^"]*/pair/', name)]
    assert posts == [4]
    assert any('route="other",status="404"' in name for name in numbers)
    counts = [value for name, value in numbers.items() if re.match(r"fairwise_request_seconds_count.*/pair/", name)]
    every = [value for name, value in numbers.items() if re.match(r'.*_seconds_bucket.*le="\+Inf".*/pair/', name)]
    assert counts == every
    assert counts[0] >= 8  # four pages of pairs, four answers
    for secret in (mine.removeprefix("/p/"), WORDS, "known-as", "nowhere", "Ada"):
        assert secret not in page.text


def test_a_site_measures_what_fails_too(make_study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, SECRET)
    with operating(make_study().path, tmp_path / "study.sqlite") as console:
        assert isinstance(console.site, Site)
        mine = Visit(console.client).begin()
        with monkeypatch.context() as broken:
            broken.setattr(type(console.site.host.store), "read_now", lambda *_: 1 / 0)
            assert console.client.get(f"{mine}/pair/1").status_code == 500
        page = console.client.get("/metrics", headers={"authorization": f"Bearer {SECRET}"}).text
    assert 'route="/p/{token}/pair/{position}",status="500"} 1.0' in page


@pytest.mark.parametrize(("given", "status"), [("", 404), ("Bearer 0123456789abcdef", 200)])
def test_numbers_have_the_same_headers_as_pages(
    study: StudyFolder, monkeypatch: pytest.MonkeyPatch, given: str, status: int
) -> None:
    monkeypatch.setenv(TOKEN, "0123456789abcdef")
    with TestClient(Site(study.path, study.path / "study.sqlite")) as client:
        page, numbers = client.get("/"), client.get("/metrics", headers={"authorization": given})
    assert numbers.status_code == status
    own = {"content-length", "content-type", "vary", "set-cookie", "content-language"}
    expected = {name: value for name, value in page.headers.items() if name not in own}
    assert "x-content-type-options" in expected
    assert {name: numbers.headers.get(name) for name in expected} == expected
