"""A participant's browser without JavaScript, on the site of a study."""

from __future__ import annotations

import re
from contextlib import contextmanager
from html import unescape
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from starlette.testclient import TestClient

from fairwise.store import export
from fairwise.store.places import IDENTITY_FILE
from fairwise.study.folder import SETTINGS
from fairwise.study.settings import StudySettings
from fairwise.web.app import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx2 import Response

    from fairwise.store.store import Store
    from fairwise.study.folder import StudyFolder


class Visit:
    """A browser without JavaScript, on a study's site."""

    def __init__(self, client: TestClient, prefix: str = "") -> None:
        self.client, self.prefix = client, prefix
        self.seen: list[str] = []

    @property
    def site(self) -> Site:
        assert isinstance(self.client.app, Site)
        return self.client.app

    @property
    def store(self) -> Store:
        return self.site.host.store

    def get(self, path: str) -> Response:
        return self._kept(self.client.get(path))

    def post(self, path: str, **fields: Any) -> Response:
        return self._kept(self.client.post(path, data=fields))

    def _kept(self, response: Response) -> Response:
        self.seen.append(response.text)
        return response

    def agree(self) -> str:
        """Take part; returns the path of the participant's pages."""
        page = self.get("/")
        found = self.post("/consent", **hidden(page), decision="agree")
        assert found.status_code == 200
        return str(found.url.path).removesuffix("/task").removeprefix(self.prefix)

    def begin(self) -> str:
        """Take part, up to the first pair."""
        mine = self.agree()
        page = self.get(mine)
        while "/pair/" not in page.url.path:
            chosen = {"done": "yes"} if page.url.path.endswith("practice") else {}
            page = self.post(page.url.path.removeprefix(self.prefix), **hidden(page), **chosen)
        return mine

    def answer(self, mine: str, number: int, said: str = "same", **more: Any) -> Response:
        return self.post(f"{mine}/pair/{number}", **hidden(self.get(f"{mine}/pair/{number}")), answer=said, **more)

    def rows(self, table: sa.Table) -> int:
        return self.store.read_now(lambda c: c.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())

    def exported(self) -> list[str]:
        return list(self.store.read_now(export.judgments).frame["answer"])


def hidden(page: Response) -> dict[str, str]:
    """The hidden fields of a page's main form."""
    return _hidden(page.text)


def not_me_form(page: Response) -> dict[str, str]:
    """The hidden fields of "That is not me"."""
    assert "/not-me" in page.text
    return _hidden(page.text.partition("/not-me")[2].partition("</form>")[0])


def _hidden(text: str) -> dict[str, str]:
    inputs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text)
    return {name: unescape(value) for name, value in inputs}


@contextmanager
def any_database(folder: Path) -> Iterator[None]:
    """A folder keeps to the database that it was first served with; here it forgets for a while which one that is."""
    file = folder / IDENTITY_FILE
    kept = file.read_bytes() if file.exists() else None
    file.unlink(missing_ok=True)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        if kept is not None:
            file.write_bytes(kept)


@contextmanager
def visiting(study: StudyFolder, database: str | Path, *, prefix: str = "") -> Iterator[Visit]:
    """Serve a study with these settings, whatever its file says so far."""
    file = study.path / SETTINGS
    if StudySettings.read(file) != study.settings:
        file.write_text(study.settings.toml(), encoding="utf-8")
    site = Site(study.path, database, prefix)
    with (
        any_database(study.path),
        TestClient(site, base_url="https://study.example", headers={"sec-fetch-site": "same-origin"}) as client,
    ):
        yield Visit(client, prefix)
