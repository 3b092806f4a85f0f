"""An operator's browser without JavaScript, on the console of a site."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from starlette.testclient import TestClient

from fairwise.store.operators import add_operator
from fairwise.web.app import Site
from fairwise.web.console.accounts import hashed, setup_key
from fairwise.web.console.base import COOKIE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx2 import Response

PASSWORD = "correct horse battery"


class Operating:
    """One browser; its pages are under ``/admin``."""

    def __init__(self, client: TestClient, site: Site) -> None:
        self.client, self.site = client, site

    def get(self, path: str, **options: Any) -> Response:
        return self.client.get(f"/admin{path}", **options)

    def post(self, path: str, csrf: str | None = None, **fields: Any) -> Response:
        """Send a form; the token is that of every page of this session."""
        return self.client.post(f"/admin{path}", data={"csrf": self.csrf() if csrf is None else csrf, **fields})

    def csrf(self) -> str:
        return self.site.host.keys.form(f"console {self.client.cookies.get(COOKIE, '')}")

    def set_up(self, name: str = "Ada") -> None:
        """Make the first account, by which one is logged in."""
        page = f"/setup/{setup_key(self.site.host)}"
        assert self.post(page, name=name, password=PASSWORD, again=PASSWORD).status_code == 200

    def add(self, name: str, role: str) -> None:
        """Make another account, without a browser."""
        from datetime import UTC, datetime  # noqa: PLC0415

        kept, now = hashed(PASSWORD), datetime.now(UTC)
        self.site.host.store.change_now(lambda connection: add_operator(connection, name, kept, role, now))

    def log_in(self, name: str, password: str = PASSWORD) -> Response:
        self.client.cookies.clear()
        return self.post("/login", name=name, password=password)


@contextmanager
def operating(path: Path, database: str | Path, *, prefix: str = "") -> Iterator[Operating]:
    """Serve what is in a folder, a study or nothing yet."""
    site = Site(path, database, prefix)
    with TestClient(site, base_url="https://study.example", headers={"sec-fetch-site": "same-origin"}) as client:
        yield Operating(client, site)
