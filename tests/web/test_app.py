"""The site: whatever goes wrong, those who ask see a page of ours."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient
from tests.support.visits import visiting

from fairwise.web.app import Site
from fairwise.web.shared.security import HEADERS

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

FAILING = {
    "before any page": ("/", "fairwise.web.app.Site._keep_up"),
    "a page for participants": ("/", "fairwise.web.participant.base.ParticipantPages._page"),
    "every page for participants": ("/", "fairwise.web.shared.pages.Pages.render"),
    "the choice of a language": ("/", "fairwise.web.shared.requests.LanguageChoice.__call__"),
    "a page of the console": ("/admin/login", "fairwise.web.console.base.ConsolePages._page"),
    "every page of the console": ("/admin/login", "fairwise.web.console.base.Rendering.page"),
}


@pytest.mark.parametrize(("path", "broken"), FAILING.values(), ids=FAILING)
def test_whatever_fails_the_page_is_one_of_ours(
    make_study: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, path: str, broken: str
) -> None:
    study: StudyFolder = make_study()

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("a secret")

    with TestClient(Site(study.path, study.path / "study.sqlite")) as client, caplog.at_level(logging.ERROR):
        monkeypatch.setattr(broken, fails)
        page = client.get(path)
    assert page.status_code == 500
    assert "Something went wrong" in page.text
    assert "a secret" not in page.text
    own_headers = {name: value for name, value in HEADERS.items() if name != "content-security-policy"}
    assert {name: page.headers.get(name) for name in own_headers} == own_headers
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src ")
    (record,) = caplog.records
    assert "a secret" in caplog.text
    assert record.exc_info


def test_whoever_is_refused_finds_back_to_where_they_were(make_study: Any, tmp_path: Path) -> None:
    with visiting(make_study(), tmp_path / "study.sqlite") as visit:
        mine = visit.begin()
        refused = visit.post(f"{mine}/pair/1", csrf="too old", answer="same")
        assert refused.status_code == 403
        assert f'<a class="button" href="{mine}">' in refused.text
        assert visit.get(mine).url.path == f"{mine}/pair/1"
        for lost in (visit.get("/p/not-a-token"), visit.get("/nowhere")):
            assert lost.status_code == 404
            assert '<a class="button" href="/">' in lost.text  # and not to itself
