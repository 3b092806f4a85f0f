"""schemathesis on every route of both apps, as nobody, as a viewer and as an owner."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.security.openapi import document
from tests.security.test_fuzz_requests import harmless
from tests.support.attacked import copied, good_visit, prepared
from tests.support.raw_asgi import Asked, send
from tests.support.tried import Tried, how_many

from fairwise.web.app import create_console, participant_app

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.attacked import Attacked

    from fairwise.study.folder import StudyFolder
    from fairwise.web.app import Site

WHO = ("nobody", "viewer", "owner")


@pytest.fixture(scope="module")
def ready(
    make_study: Callable[..., StudyFolder], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, Attacked]:
    study, database = make_study(ask_why=True), tmp_path_factory.mktemp("api") / "study.sqlite"
    return study.path, database, prepared(study, database)


@pytest.mark.slow
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("app", ["study", "console"])
def test_the_whole_api(tried: Tried, ready: Any, tmp_path: Path, app: str, who: str) -> None:
    study, database, attacked = ready
    cookies = _cookies(attacked)
    with copied(study, database, tmp_path / "copy") as site, asyncio.Runner() as loop:
        pages = participant_app(site.services) if app == "study" else create_console(site.host)
        described: Any = document(pages, attacked)
        operations = [found.ok() for found in schemathesis.openapi.from_dict(described).get_all_operations()]  # type: ignore[union-attr]
        assert len(operations) >= (30 if app == "study" else 50)
        for operation in operations:
            _try(tried, site, loop, operation, cookies[who])
        assert loop.run(send(site, Asked("GET", "/health", ()))).status == 200
    with copied(study, database, tmp_path / "copy") as site:
        asyncio.run(good_visit(site))


def _try(tried: Tried, site: Site, loop: asyncio.Runner, operation: Any, cookie: bytes) -> None:
    @seed(0)
    @settings(max_examples=how_many(2), phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        asked = _asked(case, cookie)
        if tried.is_new(asked.bytes):
            reply = loop.run(send(site, asked))
            harmless(asked, reply)
            tried.taken += reply.status < 400

    ask()


def _asked(case: Any, cookie: bytes) -> Asked:
    path = case.path
    for name, value in (case.path_parameters or {}).items():
        path = path.replace(f"{{{name}}}", quote(str(value), safe="", errors="replace"))
    query = urlencode(case.query or {}, doseq=True, errors="replace")
    kind = case.media_type or ""
    fields = case.body if isinstance(case.body, dict) else {}
    headers = [(b"host", b"study.example"), (b"sec-fetch-site", b"same-origin")]
    headers += [(b"content-type", kind.encode() + b"; boundary=x")] * bool(kind) + [(b"cookie", cookie)] * bool(cookie)
    body = _parts(fields) if kind.startswith("multipart") else urlencode(fields, errors="replace").encode()
    return Asked(case.method, f"{path}?{query}", tuple(headers), body)


def _parts(fields: dict[str, Any]) -> bytes:
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
    ]
    return ("".join(parts) + "--x--\r\n").encode(errors="replace")


def _cookies(attacked: Attacked) -> dict[str, bytes]:
    found = [dict(asked.headers).get(b"cookie", b"") for asked in attacked.good]
    owner, viewer = list(dict.fromkeys(cookie for cookie in found if cookie))
    return {"nobody": b"", "viewer": viewer, "owner": owner}
