"""Work per byte is linear: whatever is sent, no part of it is gone through again and again.

How long it takes is measured by ``make work-per-byte``; here work is counted, which is the same on every machine: calls
of functions, and what is given to those that take more than linear time.
"""

from __future__ import annotations

import asyncio
import http.cookies
import sys
import threading
import unicodedata
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.security.work_per_byte import IN_FORMS, Place, everything, worst
from tests.support.operating import operating
from tests.support.raw_asgi import send
from tests.support.visits import visiting

from fairwise.study.texts import left_to_fill_in
from fairwise.web.shared.requests import Form

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.raw_asgi import Asked

SIZE = 50_000
_AT_ALL, _OF_EACH_BYTE = 100_000, 60
"""Calls that a request may take: of a page that is made, and of each byte, as Markdown takes some forty."""

_OF_EACH_CHARACTER = 64


class Work:
    """Calls of functions, Python's own too."""

    def __init__(self) -> None:
        self.calls = 0

    def count(self, _frame: Any, event: str, _given: Any) -> None:
        self.calls += event in ("call", "c_call")


@contextmanager
def no_squares(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse what would take the square of the time: long runs of marks to be put in order, quotes to be taken off."""
    normalize, unquote = unicodedata.normalize, http.cookies._unquote

    def normalized(form: Any, text: str) -> str:
        runs, run = 0, 0
        for character in text:
            run = run + 1 if unicodedata.category(character)[0] == "M" else 0
            runs += run
        assert runs <= _OF_EACH_CHARACTER * len(text), f"marks in a text of {len(text)} characters"
        return normalize(form, text)

    def unquoted(value: str) -> str:
        assert len(value) < 1000, f"a cookie of {len(value)} characters"
        return str(unquote(value))

    with monkeypatch.context() as patched:
        patched.setattr(unicodedata, "normalize", normalized)
        patched.setattr(http.cookies, "_unquote", unquoted)
        yield


async def calls_of(site: Any, asked: Asked) -> int:
    work = Work()
    threading.setprofile(work.count)
    sys.setprofile(work.count)
    try:
        reply = await send(site, asked)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert reply.status < 500, (reply.status, asked)
    return work.calls


@pytest.mark.slow
def test_work_per_byte_is_linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every field of every form, of every header and parameter, of tables and their names."""
    others = ("letters", "ends of lines", "things to fill in", "commas", "backslashes", "marks that fall apart")

    async def try_all(site: Any, places: list[Place], first: int) -> None:
        for number, place in enumerate(places):
            other = others[(first + number) % len(others)]
            for kind in ("marks to be put in order", other) if place.kinds == IN_FORMS else (other,):
                size = min(SIZE, place.sizes[0])
                calls = await calls_of(site, place.ask(worst(kind, size)))
                assert calls <= _AT_ALL + _OF_EACH_BYTE * size, (place.name, kind, calls)

    seen: set[str] = set()
    with everything(tmp_path) as found:
        for number, (site_of, places) in enumerate(found):
            some = [place for place in places if not place.name.endswith("(escaped)")]
            with site_of() as site, no_squares(monkeypatch):
                asyncio.run(try_all(site, some, number))
            seen |= {place.name for place in some}
    for name in (
        "POST /consent start_key",
        "POST /admin/login name",
        "POST /admin/study/consent text",
        "upload parquet",
    ):
        assert name in seen
    assert len(seen) > 300


def test_marks_without_end_are_cut() -> None:
    """As it was found: a form of 400 KB that took the server a minute."""
    text = worst("marks to be put in order", 400_000)
    form = Form({"start_key": text, "text": f"Zoe\u0308 {text} a\u0323\u0302b", "letters": "a\u0301" * 5})
    assert form.text("start_key", 400).startswith("á")
    assert len(form.text("text", 300_000)) < 50
    assert form.text("text", 300_000).startswith("Zoë á")
    assert form.text("letters", 10) == "ááááá"


def test_what_is_not_kept_parts_no_marks() -> None:
    """A control character after every thirtieth mark, which is dropped, made one letter of all of them."""
    text = worst("marks between what is dropped", 9_000)
    assert len(Form({"text": text}).text("text", 10_000)) <= 31


@pytest.mark.parametrize("path", ["/", "/admin/login", "/admin/participants"])
def test_no_cookie_is_unquoted(make_study: Any, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight kilobytes of backslashes, as they pass every proxy, took half a second."""
    text = worst("backslashes", 8000)
    for name in ("anything", "fairwise_participant", "fairwise_operator", "fairwise_language"):
        with operating(make_study(languages=["en", "de"]).path, tmp_path / f"{name}.sqlite") as console:
            with no_squares(monkeypatch):
                reply = console.client.get(path, headers={"cookie": f"{name}={text}; {name}2=x"})
            assert reply.status_code == 200


def test_a_host_without_end_is_refused(make_study: Any, tmp_path: Path) -> None:
    with operating(make_study().path, tmp_path / "study.sqlite") as console:
        console.set_up()
        for path in ("/", "/admin/coming"):
            assert console.client.get(path, headers={"host": f"{'x' * 250}:8000"}).status_code == 200
            assert console.client.get(path, headers={"host": "x" * 4000}).status_code == 400


@pytest.mark.parametrize("charset", ["punycode", "idna", "utf-7", "latin-1", "nonsense"])
def test_forms_are_in_utf_8(make_study: Any, tmp_path: Path, charset: str) -> None:
    """Some encodings that Python knows take the square of the time, and whoever sends a form would choose."""
    with visiting(make_study(), tmp_path / "study.sqlite") as visit:
        for said, status in ((charset, 415), ("UTF-8", 403)):
            kind = {"content-type": f"multipart/form-data; boundary=x; charset={said}"}
            body = b'--x\r\nContent-Disposition: form-data; name="start_key"\r\n\r\n999\r\n--x--\r\n'
            assert visit.client.post("/consent", content=body, headers=kind).status_code == status


def test_what_is_to_be_filled_in_is_looked_for_once() -> None:
    assert left_to_fill_in("[FILL IN: a] b [FILL IN:c]") == ("[FILL IN: a]", "[FILL IN:c]")
    assert left_to_fill_in("[FILL IN: [FILL IN: a]") == ("[FILL IN: a]",)
