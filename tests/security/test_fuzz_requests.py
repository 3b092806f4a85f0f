"""Requests made bad from good ones, of everyone: never an error of ours, never a word of a traceback, never a hang."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import psycopg
import pytest
from sqlalchemy.engine import make_url
from tests.support.attacked import FORM, GAPS, HEADERS, copied, good_visit, prepared
from tests.support.mutations import EVIL, damaged, damaged_table, evil
from tests.support.operating import operating
from tests.support.raw_asgi import Asked, send
from tests.support.tried import Tried, how_many, rng_of

from fairwise.store.study_state import set_state
from fairwise.web.app import Site
from fairwise.web.console.base import COOKIE as OPERATOR

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

    from tests.support.attacked import Attacked
    from tests.support.raw_asgi import Reply

    from fairwise.study.folder import StudyFolder

pytestmark = pytest.mark.slow

ROUND = 250
METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get", "PROPFIND", "X")
NAMES = (
    *(
        "host",
        "origin",
        "cookie",
        "content-type",
        "content-length",
        "accept-language",
        "sec-fetch-site",
        "referer",
        "range",
    ),
    *(
        "transfer-encoding",
        "if-none-match",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "accept",
        "expect",
    ),
    *("authorization", "upgrade", "connection", "content-encoding", "user-agent", "x-http-method-override"),
)
VALUES = (
    *(
        b"",
        b"null",
        b"*",
        b"http://[",
        b"https://evil.example",
        b"multipart/form-data",
        b"multipart/form-data; boundary=x",
    ),
    *(
        b"application/json",
        b"application/x-www-form-urlencoded; charset=utf-16",
        b"-1",
        b"99999999999999999999",
        b"\xb2",
    ),
    *(
        b"bytes=0-0,5-",
        b"fairwise_operator=x",
        b"fairwise_participant=\xff; fairwise_language=de",
        b"gzip",
        b"q=nan;q=,;",
    ),
    *(b"en;q=1e999, de;q=-1, x" * 50, b"multipart/form-data; boundary=" + b"y" * 3000, b"text/plain; charset=nonsense"),
)


def changed(attacked: Attacked, rng: Random) -> Asked:
    """A good request with one thing wrong with it that is read late, or with several of any kind."""
    asked = rng.choice(attacked.good)
    if rng.random() < 0.5:
        return _precisely(asked, rng)
    for _ in range(rng.choice((1, 1, 2, 3))):
        asked = rng.choice((_path, _path, _query, _header, _fields, _fields, _fields, _body, _method))(
            asked, attacked, rng
        )
    return asked


def _precisely(asked: Asked, rng: Random) -> Asked:
    """One gap of the path, or one field but for the form's token, and all else as it should be."""
    new = quote(rng.choice(EVIL), safe="")
    parts, fields = asked.path.split("/"), [part.split("=", 1) for part in asked.body.decode().split("&") if part]
    gaps = [at for at, part in enumerate(parts) if part in GAPS]
    kept = [at for at, field in enumerate(fields) if field[0] != "csrf"]
    if gaps and (not kept or rng.random() < 0.5):
        parts[rng.choice(gaps)] = new
    elif kept:
        fields[rng.choice(kept)][1] = new
    else:
        parts[-1] = new
    return Asked(asked.method, "/".join(parts), asked.headers, "&".join(map("=".join, fields)).encode())


def _path(asked: Asked, _attacked: Attacked, rng: Random) -> Asked:
    parts = asked.path.split("/")
    at, new = rng.randrange(len(parts)), quote(evil(rng), safe=rng.choice(("", "/", "%", "./%")))[:5000]
    parts[at : at + rng.choice((0, 1, 1, 1))] = [new]
    return Asked(asked.method, "/".join(parts), asked.headers, asked.body)


def _query(asked: Asked, attacked: Attacked, rng: Random) -> Asked:
    pairs = [(rng.choice(attacked.names), evil(rng)) for _ in range(rng.choice((1, 2, 5)))]
    query = rng.choice((urlencode(pairs), urlencode(pairs), quote(evil(rng), safe="&=%;+")))
    return Asked(asked.method, f"{asked.path.partition('?')[0]}?{query}", asked.headers, asked.body)


def _header(asked: Asked, _attacked: Attacked, rng: Random) -> Asked:
    value = rng.choice((rng.choice(VALUES), evil(rng).encode("latin-1", errors="replace")))
    return asked.with_header(rng.choice(NAMES), value.replace(b"\r", b"").replace(b"\n", b"")[:8000])


def _fields(asked: Asked, attacked: Attacked, rng: Random) -> Asked:
    fields = [part.split("=", 1) for part in asked.body.decode(errors="replace").split("&") if "=" in part]
    for _ in range(rng.choice((1, 1, 2, 60))):
        new = [rng.choice(attacked.names), quote(evil(rng), safe="")]
        if fields and rng.random() < 0.8:
            at = rng.randrange(len(fields))
            fields[at] = rng.choice(([fields[at][0], new[1]], new))
            if rng.random() < 0.2:
                del fields[at]
        else:
            fields.append(new)
    body = "&".join("=".join(field) for field in fields).encode()
    return Asked("POST", asked.path, asked.with_header("content-type", FORM).headers, body)


def _body(asked: Asked, attacked: Attacked, rng: Random) -> Asked:
    if rng.random() < 0.5:
        return Asked("POST", asked.path, asked.headers, damaged(asked.body or b"csrf=x&answer=same", rng))
    part = (
        f'--x\r\nContent-Disposition: form-data; name="{rng.choice(attacked.names)}"'
        f"{rng.choice(('', '; filename=' + chr(34) + '../p.csv' + chr(34)))}\r\n\r\n{evil(rng)}\r\n"
    )
    body = damaged((part * rng.choice((1, 2, 60)) + "--x--\r\n").encode(errors="replace"), rng)
    kind = rng.choice((b"multipart/form-data; boundary=x", b"multipart/form-data; boundary=x; charset=utf-7"))
    return Asked("POST", asked.path, asked.with_header("content-type", kind).headers, body)


def _method(asked: Asked, _attacked: Attacked, rng: Random) -> Asked:
    return Asked(rng.choice(METHODS), asked.path, asked.headers, asked.body)


def harmless(asked: Asked, reply: Reply) -> None:
    """What holds for every reply, whoever asked and whatever they asked."""
    assert 200 <= reply.status < 500, (reply.status, asked)
    assert "Traceback (most recent call last)" not in reply.text, asked
    assert "frame-ancestors" in reply.headers["content-security-policy"], asked
    assert reply.headers["x-content-type-options"] == "nosniff", asked
    location = reply.headers.get("location", "/")
    assert location.startswith("/"), (location, asked)
    assert not location.startswith(("//", "/\\")), (location, asked)


async def attack(site: Site, attacked: Attacked, tried: Tried, numbers: range) -> None:
    for number in numbers:
        asked = changed(attacked, rng_of("request", number))
        if not tried.is_new(asked.bytes):
            continue
        try:
            reply = await send(site, asked)
        except Exception as error:
            raise AssertionError(f"{error!r} of {asked}") from error
        harmless(asked, reply)
        tried.taken += reply.status < 400
    # Whatever was changed by then, and some of it may be: an owner opens the study again, and people come.
    site.host.store.change_now(lambda connection: set_state(connection, "open"))
    site.host.look_again()


def test_requests(
    tried: Tried, make_study: Callable[..., StudyFolder], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study, database = make_study(ask_why=True, ask_confidence=True, languages=["en", "de"]), tmp_path / "study.sqlite"
    attacked = prepared(study, database)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    caplog.set_level(logging.ERROR)
    for begin in range(0, how_many(1000), ROUND):
        with copied(study.path, database, tmp_path / "copy") as site:
            asyncio.run(attack(site, attacked, tried, range(begin, begin + ROUND)))
        with copied(study.path, database, tmp_path / "copy") as site:
            asyncio.run(good_visit(site))


async def zero_bytes_everywhere(site: Site, attacked: Attacked, tried: Tried) -> None:
    """Which PostgreSQL keeps in no text, and takes for an error of whoever asks."""
    for good in attacked.good:
        if good.path == "/admin/logout":  # the others are to be asked by somebody
            continue
        parts = good.path.split("/")
        for at in (at for at, part in enumerate(parts) if part in GAPS or len(part) > 20):
            path = "/".join([*parts[:at], "%00", *parts[at + 1 :]])
            asked = Asked(good.method, path, good.headers, good.body)
            if tried.is_new(asked.bytes):
                harmless(asked, await send(site, asked))


def test_requests_on_postgresql(tried: Tried, make_study: Callable[..., StudyFolder], postgres: str) -> None:
    study = make_study(ask_why=True)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE attacked")
    database = make_url(postgres).set(database="attacked").render_as_string(hide_password=False)
    attacked = prepared(study, database)
    site = Site(study.path, database)
    site.open()
    try:
        asyncio.run(zero_bytes_everywhere(site, attacked, tried))
        asyncio.run(attack(site, attacked, tried, range(10**6, 10**6 + how_many(250))))
    finally:
        site.close()


def test_uploads(tried: Tried, tmp_path: Path) -> None:
    """Tables that an operator uploads, under any name; afterwards a good one makes its way to the next page."""
    table = b"person,age,town,returned\n" + b"".join(b"p%d,%d,Aa,%d\n" % (k, 20 + k, k % 2) for k in range(12))
    with operating(tmp_path / "new", tmp_path / "new.sqlite") as console:
        console.set_up()
        cookie, csrf = f"{OPERATOR}={console.client.cookies[OPERATOR]}".encode(), console.csrf()

        def asked(name: str, content: bytes) -> Asked:
            called = name.replace('"', "%22").replace("\r", "").replace("\n", "").encode(errors="replace")
            token = b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n' + csrf.encode()
            head = b'\r\n--x\r\nContent-Disposition: form-data; name="people"; filename="' + called + b'"\r\n\r\n'
            headers = (*HEADERS, (b"cookie", cookie), (b"content-type", b"multipart/form-data; boundary=x"))
            return Asked("POST", "/admin/new", headers, token + head + content + b"\r\n--x--\r\n")

        async def upload(number: int) -> None:
            rng = rng_of("upload", number)
            name = rng.choice(("people.csv", "people.tsv", "people.parquet", evil(rng), f"{evil(rng)}.csv"))
            sent = asked(name, damaged_table(table, rng))
            if tried.is_new(sent.bytes):
                reply = await send(console.site, sent)
                harmless(sent, reply)
                tried.taken += reply.status == 303

        for number in range(how_many(60)):
            asyncio.run(upload(number))
        good = asyncio.run(send(console.site, asked("people.csv", table)))
        assert (good.status, good.headers["location"].startswith("/admin/new/")) == (303, True)
    assert sorted(file.name for file in tmp_path.iterdir() if "sqlite" not in file.name) == ["new"]
