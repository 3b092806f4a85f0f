"""Several studies on one server, and browsers that know them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from starlette.testclient import TestClient
from tests.support.operating import Operating
from tests.support.visits import Visit

from fairwise.web.studies import Studies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from httpx2 import Response

    from fairwise.study.folder import StudyFolder


def folder_of_studies(home: Path, make_study: Callable[..., StudyFolder], *names: str) -> Path:
    """Return a folder with studies of these names, made elsewhere and moved there."""
    home.mkdir(exist_ok=True)
    for name in names:
        make_study(title=f"The study {name}").path.rename(home / name)
    return home


def browser(studies: Studies) -> TestClient:
    """Return a browser of its own, with no cookies yet."""
    return TestClient(studies, base_url="https://study.example", headers={"sec-fetch-site": "same-origin"})


@contextmanager
def serving(home: Path, database: str | None = None, *, prefix: str = "") -> Iterator[tuple[Studies, TestClient]]:
    studies = Studies(home, database, prefix)
    with browser(studies) as client:
        yield studies, client


class OneOfSeveral(Operating):
    """An operator's browser on the console of one of them."""

    def __init__(self, client: TestClient, studies: Studies, name: str) -> None:
        super().__init__(client, studies.site(name))
        self._name = name

    def get(self, path: str, **options: Any) -> Response:
        return self.client.get(f"/{self._name}/admin{path}", **options)

    def post(self, path: str, csrf: str | None = None, **fields: Any) -> Response:
        data = {"csrf": self.csrf() if csrf is None else csrf, **fields}
        return self.client.post(f"/{self._name}/admin{path}", data=data)

    def csrf(self) -> str:
        token = self.client.cookies.get("fairwise_operator", "", path=f"/{self._name}/admin")
        return self.site.host.keys.form(f"console {token}")


class VisitOfOne(Visit):
    """A participant's browser on one of them."""

    def __init__(self, client: TestClient, name: str) -> None:
        super().__init__(client, f"/{name}")

    def get(self, path: str) -> Response:
        return super().get(f"{self.prefix}{path}")

    def post(self, path: str, **fields: Any) -> Response:
        return super().post(f"{self.prefix}{path}", **fields)
