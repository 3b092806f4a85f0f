"""How long each byte takes of whatever can be sent: every field of every form, every header, every kind of file.

``make work-per-byte`` sends each of them ten thousand bytes of the worst there is, then as many as are taken, then a
million, and prints what a byte took of the larger against the smaller: work per byte is linear, so that is 3 at most.
It takes some minutes, and tells how far it came. Words behind ``python -m tests.security.work_per_byte`` measure only
the places that have one of them in their names.
"""

from __future__ import annotations

import asyncio
import io
import random
import re
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

import pandas as pd
from argon2 import PasswordHasher
from tests.support.attacked import FORM, HEADERS, PARAMETERS, copied, get, prepared
from tests.support.operating import PASSWORD, operating
from tests.support.raw_asgi import Asked, send
from tests.support.small_study import study_maker

from fairwise.web.connections import MOST_HEAD_BYTES
from fairwise.web.console import accounts, scoring
from fairwise.web.console.accounts import setup_key
from fairwise.web.console.base import COOKIE as OPERATOR
from fairwise.web.console.study_editor import sections_of
from fairwise.web.shared import security
from fairwise.web.shared.security import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fairwise.web.app import Site

SMALL, LARGE, BAR = 10_000, 1_000_000, 3.0
_FIELDS = re.compile(r'<(?:input|select|textarea)[^>]*?name="([^"]+)"(?:[^>]*?value="([^"]*)")?')
_SPOILS = re.compile("logout|withdraw|erase|remove|state|password|accounts|login")

_SIGNS = " \t\r\n,;:.@<>()[]{}\"'`*_+-=/\\|&%#!?~^$"


def _mixture(size: int) -> str:
    return "".join(random.Random(0).choices(_SIGNS + "a1é", k=size * 9 // 10))  # some take two bytes


WORST: dict[str, tuple[str, Callable[[int], str] | None]] = {
    "marks to be put in order": ("\u0301\u0316", lambda n: "a" + "\u0301" * (n // 4) + "\u0316" * (n // 4)),
    "marks between what is dropped": ("\u0301\x01", lambda n: "a" + ("\u0301\u0316" * 15 + "\x01") * (n // 61)),
    "marks that fall apart": ("\u0f73", None),
    "letters that fall apart": ("\u1e69", None),
    "letters": ("x", None),
    "digits": ("9", None),
    "blanks": (" ", None),
    "ends of lines": ("a\r\n", None),
    "things to fill in": ("[FILL IN:", None),
    "links": ("![[](", None),
    "entities": ("&#x", None),
    "backslashes": ('"\\', lambda n: '"' + "\\" * (n - 2) + '"'),
    "gaps": ("{a", None),
    "parameters": (';a="', None),
    "commas": ("a,", None),
    "commas alone": (",", None),
    "semicolons": (";", None),
    "at signs": ("@", None),
    "addresses": ("a@", None),
    "dots": (".", None),
    "brackets": ("<(", None),
    "dashes and underscores": ("-_", None),
    "blanks and commas": (" ,\t", None),
    "letters and blanks": ("a ", None),
    "percent signs": ("%c3", None),
    "a run of each sign": ("", lambda n: "".join(sign * (n // len(_SIGNS)) for sign in _SIGNS)),
    "a run of each sign and a letter": ("", lambda n: "".join(f"a{sign}" * (n // 2 // len(_SIGNS)) for sign in _SIGNS)),
    "a mixture of signs and letters": ("", _mixture),
}
"""What somebody's program took the square of the time for, to be repeated."""

_OF_TEXTS = ("marks to be put in order", "marks that fall apart", "letters that fall apart", "letters", "digits")
_SEPARATORS = (
    *("blanks", "commas", "commas alone", "semicolons", "at signs", "addresses", "dots", "brackets"),
    *("dashes and underscores", "blanks and commas", "letters and blanks"),
    *("a run of each sign", "a run of each sign and a letter", "a mixture of signs and letters"),
)
IN_FORMS = (*_OF_TEXTS, "ends of lines", "things to fill in", "links", "backslashes", *_SEPARATORS)
ESCAPED = ("marks to be put in order", "letters that fall apart", "letters", "percent signs")
IN_HEADS = ("letters that fall apart", "letters", "backslashes", "parameters", "percent signs", *_SEPARATORS)


@lru_cache(maxsize=64)
def worst(kind: str, size: int) -> str:
    """So many bytes of it, when it is written in UTF-8."""
    unit, make = WORST[kind]
    return make(size) if make is not None else unit * (size // len(unit.encode()))


@dataclass(frozen=True)
class Place:
    """Where something can be sent, and how it gets there."""

    name: str
    ask: Callable[[str], Asked]
    sizes: tuple[int, ...] = (MOST_BYTES - 2000, LARGE)
    """The most bytes that are taken, and what is refused as being more."""

    kinds: tuple[str, ...] = IN_FORMS


def of_form(name: str, asked: Asked) -> list[Place]:
    """Every field of a form, and one that it does not have, as browsers send forms and in parts."""
    fields = parse_qsl(asked.body.decode(), keep_blank_values=True)
    found = []
    for at, (field, _) in enumerate([*fields, ("other", "")]):

        def in_parts(text: str, field: str = field, at: int = at) -> Asked:
            return parts(asked, [*fields[:at], (field, text), *fields[at + 1 :]])

        def escaped(text: str, field: str = field, at: int = at) -> Asked:
            sent = [*fields[:at], *fields[at + 1 :]]
            body = "&".join(f"{quote(name)}={quote(value)}" for name, value in sent).encode()
            body += b"&" + quote(field).encode() + b"=" + _escaped(text)
            return Asked("POST", asked.path, asked.headers, body)

        found += [Place(f"{name} {field}", in_parts), Place(f"{name} {field} (escaped)", escaped, kinds=ESCAPED)]
    found.append(Place(f"{name} the name of a field", lambda text: parts(asked, [*fields, (text[:3000], "x")])))
    return found


@lru_cache(maxsize=64)  # which takes longer than most of what is done with it
def _escaped(text: str) -> bytes:
    """As in a form; a character that is escaped is as long as its escape."""
    return quote(text, safe="\\\"'[]{}(),;!#^|<>~:/?@$* ").replace(" ", "+").encode()[: len(text.encode())]


def parts(asked: Asked, fields: list[tuple[str, str]], kind: bytes = b"multipart/form-data; boundary=x") -> Asked:
    """A form as browsers send it when it may hold a file."""
    body = b"".join(
        b'--x\r\nContent-Disposition: form-data; name="' + name.replace('"', "%22").encode() + b'"\r\n\r\n'
        + text.encode() + b"\r\n"
        for name, text in fields
    )  # fmt: skip
    return Asked("POST", asked.path, asked.with_header("content-type", kind).headers, body + b"--x--\r\n")


def of_head(asked: Asked) -> list[Place]:
    """What stands before the body: headers, parameters, the path."""
    most = (MOST_HEAD_BYTES - 1000,)  # of more the server makes no request, see test_crowds.py
    names = (
        "cookie",
        "accept-language",
        "origin",
        "host",
        "content-type",
        "content-length",
        "referer",
        "authorization",
    )
    path = asked.path.partition("?")[0]

    def header(name: str) -> Callable[[str], Asked]:
        before = {"cookie": "fairwise_language=", "content-type": "multipart/form-data; boundary="}.get(name, "")
        return lambda text: asked.with_header(name, (before + re.sub("[\r\n]", "", text)).encode())

    def parameter(name: str) -> Callable[[str], Asked]:
        return lambda text: Asked(asked.method, f"{path}?{name}={quote(text)[: len(text.encode())]}", asked.headers)

    shown = f"{asked.method} {_pattern(path)}"
    found = [Place(f"{shown} header {name}", header(name), most, IN_HEADS) for name in names]
    if asked.method == "GET":
        found += [Place(f"{shown} ?{name}", parameter(name), most, IN_HEADS) for name in sorted(PARAMETERS)]
    longer = f"{path.rstrip('/')}/"
    ask = lambda text: Asked(asked.method, longer + quote(text)[: len(text.encode())], asked.headers)  # noqa: E731
    return [*found, Place(f"{shown}/…", ask, most, IN_HEADS)]


def of_table(asked: Asked, csrf: str) -> list[Place]:
    """Tables of people, and what they are called."""

    def sent(name: str, content: bytes) -> Asked:
        made = parts(asked, [("csrf", csrf)]).body.removesuffix(b"--x--\r\n")
        called = name.replace('"', "%22").replace("\r", "").replace("\n", "").encode()
        head = b'--x\r\nContent-Disposition: form-data; name="people"; filename="' + called + b'"\r\n\r\n'
        headers = asked.with_header("content-type", b"multipart/form-data; boundary=x").headers
        return Asked("POST", asked.path, headers, made + head + content + b"\r\n--x--\r\n")

    def in_csv(content: Callable[[str], str], kind: str = "csv") -> Callable[[str], Asked]:
        return lambda text: sent(f"people.{kind}", content(text).encode())

    def column(text: str) -> str:
        return f"person,{text}\n1,2\n"

    def cell(text: str) -> str:
        return f"person,age\n1,{text}\n2,3\n"

    def rows(text: str) -> str:
        return "person,age\n" + "".join(f"{at},{text[at : at + 20]}\n" for at in range(0, len(text), 26))

    def wide(text: str) -> str:
        columns = max(min(len(text) // 20, 500), 1)
        line = ",".join(text[:8] for _ in range(columns))
        return ",".join(f"c{at}" for at in range(columns)) + f"\n{line}" * max(len(text) // (9 * columns) - 1, 1)

    def quoted(text: str) -> str:
        return 'person,age\n1,"' + text.replace('"', '""') + '"\n2,"' + text[:10].replace('"', "")

    def parquet(text: str) -> Asked:
        made = io.BytesIO()
        cells = [text[at : at + 50] for at in range(0, len(text), 50)]
        pd.DataFrame({"person": range(len(cells)), "text": cells}).to_parquet(made, compression=None, index=False)
        return sent("people.parquet", made.getvalue())

    shapes = {"a column's name": column, "one cell": cell, "many rows": rows, "many columns": wide, "quotes": quoted}
    found = [Place(f"upload csv, {name}", in_csv(made), (LARGE,), tuple(WORST)) for name, made in shapes.items()]
    found.append(Place("upload tsv, many rows", in_csv(lambda text: rows(text).replace(",", "\t"), "tsv"), (LARGE,)))
    found.append(Place("upload parquet", parquet, (LARGE,)))
    ask = lambda text: sent(f"{text}.csv", b"person,age\n1,2\n")  # noqa: E731
    return [*found, Place("upload name of the file", ask, (LARGE,))]


def _pattern(path: str) -> str:
    return re.sub(r"/p/[\w-]{20,}|/(setup|new)/[\w.-]{16,}", lambda found: f"/{found[1] or 'p'}/…", path)


@contextmanager
def everything(home: Path) -> Iterator[list[tuple[Callable[[], Any], list[Place]]]]:
    """Every place by the site that it is on, which is opened anew where something could be spoilt for the next."""

    class Folders:
        def mktemp(self, name: str) -> Path:
            return Path(tempfile.mkdtemp(prefix=name, dir=home))

    study = study_maker(Folders())(ask_why=True, ask_confidence=True, languages=["en", "de"])  # type: ignore[arg-type]
    database = home / "full.sqlite"
    attacked = prepared(study, database)
    owner = next(header for asked in attacked.good for header in asked.headers if header[0] == b"cookie")
    forms: dict[str, Asked] = {}
    for asked in (one for one in attacked.good if one.method == "POST"):
        name = f"POST {_pattern(asked.path)}"
        if len(asked.body) > len(forms.get(name, Asked("", "")).body):
            forms[name] = asked
    with operating(study.path, database) as console:
        console.log_in("Ada")
        owner = (b"cookie", f"{OPERATOR}={console.client.cookies[OPERATOR]}".encode())
        for part in sections_of(study.path):
            fields = _fields(console.get(f"/study/{part}").text)
            forms[f"POST /admin/study/{part}"] = _post(f"/admin/study/{part}", fields, owner)
            if "text" in fields:
                forms[f"POST /admin/study/{part}/preview"] = _post(f"/admin/study/{part}/preview", fields, owner)
    token = next(asked.path.split("/")[2] for asked in attacked.good if asked.path.startswith("/p/"))
    csrf = dict(parse_qsl(next(a for a in attacked.good if a.path == f"/p/{token}/task" and a.body).body.decode()))
    forms["POST /p/…/withdraw"] = _post(f"/p/{token}/withdraw", {"csrf": csrf["csrf"], "sure": "yes"}, owner)

    def full() -> Any:
        return copied(study.path, database, home / "copy")

    heads = [get("/"), get(f"/p/{token}/pair/1"), get("/metrics"), forms["POST /consent"]]
    heads += [Asked("GET", path, (*HEADERS, owner)) for path in ("/admin/participants", "/admin/coming")]
    ours = {name: asked for name, asked in forms.items() if "/admin/new" not in name}
    kept = [place for name, asked in ours.items() if not _SPOILS.search(name) for place in of_form(name, asked)]
    whole = [(full, kept), *((full, of_form(name, asked)) for name, asked in ours.items() if _SPOILS.search(name))]
    whole += [(full, of_head(asked)) for asked in heads]
    yield [*whole, *_of_an_empty_site(home)]


def _of_an_empty_site(home: Path) -> list[tuple[Callable[[], Any], list[Place]]]:
    """The first account, and making a study from a table."""
    empty, made = home / "empty", home / "made"
    with operating(empty, home / "empty.sqlite") as console:
        path = f"/admin/setup/{setup_key(console.site.host)}"
        account = {**_fields(console.client.get(path).text), "name": "Ada", "password": PASSWORD, "again": PASSWORD}
    first = of_form("POST /admin/setup/…", _post(path, account, (b"cookie", b"x=y")))
    with operating(made, home / "made.sqlite") as console:
        console.set_up()
        owner = (b"cookie", f"{OPERATOR}={console.client.cookies[OPERATOR]}".encode())
        csrf = console.csrf()
        table = "person,age,town,returned\n" + "".join(f"p{k},{20 + k},Aa,{k % 2}\n" for k in range(12))
        sent = console.client.post("/admin/new", data={"csrf": csrf}, files={"people": ("people.csv", table)})
        chosen = _fields(sent.text)
        forms = {"": sent.url.path, "/preview": f"{sent.url.path}/preview", "/discard": f"{sent.url.path}/discard"}
    steps = [of_form(f"POST /admin/new/…{end}", _post(path, chosen, owner)) for end, path in forms.items()]
    upload = of_table(_post("/admin/new", {}, owner), csrf)

    def none() -> Any:
        return copied(empty, home / "empty.sqlite", home / "copy")

    def begun() -> Any:
        return copied(made, home / "made.sqlite", home / "copy")

    return [(none, first), *((begun, places) for places in steps), (begun, upload)]


def _fields(page: str) -> dict[str, str]:
    return {unescape(name): unescape(value) for name, value in _FIELDS.findall(page)}


def _post(path: str, fields: dict[str, str], cookie: tuple[bytes, bytes]) -> Asked:
    body = "&".join(f"{quote(name)}={quote(value)}" for name, value in fields.items()).encode()
    return Asked("POST", path, (*HEADERS, cookie, (b"content-type", FORM)), body)


Measured = tuple[float, float, str, str]
"""Time per byte of the larger against the smaller, the longest time, where, and what."""


def main() -> None:
    words: list[str] = sys.argv[1:]
    rows: list[Measured] = []
    security.OF_ONE_NAME = security.FROM_ONE_ADDRESS = sys.maxsize  # or all but the first would be refused unread
    scoring._run = _without_models(scoring._run)  # processes of their own, which take seconds
    accounts._hasher = PasswordHasher(
        time_cost=1, memory_cost=8, parallelism=1
    )  # or all else would be little beside it
    # Whoever does not want to wait for all of it is told what was measured so far.
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory() as home, everything(Path(home)) as found:
        wanted = [
            (site_of, [place for place in places if not words or any(word in place.name for word in words)])
            for site_of, places in found
        ]
        number = sum(len(places) for _, places in wanted)
        for site_of, places in wanted:
            if places:
                with site_of() as site:
                    asyncio.run(_measure(site, places, rows, number))
    report(rows)


def _without_models(run: Callable[..., Any]) -> Callable[..., Any]:
    async def run_others(command: Sequence[str], *more: Any) -> tuple[int | None, bytes]:
        return (1, b"") if "fairwise.jobs.score" in command else await run(command, *more)

    return run_others


async def _measure(site: Site, places: list[Place], found: list[Measured], number: int) -> None:
    for place in places:
        await _seconds(site, place.ask("x"))
        for kind in place.kinds:
            measured = await _ratio(site, place, kind)
            for _ in range(2):  # which may be chance: something else was going on
                if measured[0] > BAR:
                    measured = min(measured, await _ratio(site, place, kind))
            found.append((*measured, place.name, kind))
        done, over = len(_places(found)), sum(ratio > BAR for ratio, *_ in found)
        print(f"{done} of {number} places, more than {BAR:g}: {over}; {place.name}", file=sys.stderr, flush=True)


def _places(rows: list[Measured]) -> set[str]:
    return {name for _, _, name, _ in rows}


async def _ratio(site: Site, place: Place, kind: str) -> tuple[float, float]:
    """Time per byte of the larger against the smaller, and the longest time."""
    small = await _least(site, place.ask(worst(kind, SMALL))) / SMALL
    taken = [await _least(site, place.ask(worst(kind, size))) for size in place.sizes]
    return max(seconds / size for seconds, size in zip(taken, place.sizes, strict=True)) / small, max(taken)


async def _least(site: Site, asked: Asked) -> float:
    """Of two times, as a site also does things by itself."""
    return min([await _seconds(site, asked) for _ in range(2)])


async def _seconds(site: Site, asked: Asked) -> float:
    """Of the processor's time, which others on this machine disturb less."""
    start = process_time()
    await send(site, asked)
    return process_time() - start


def report(rows: list[Measured]) -> None:
    over = sum(ratio > BAR for ratio, *_ in rows)
    print(f"{len(_places(rows))} places, {len(rows)} kinds of input there; more than {BAR:g}: {over}\n")
    print("| time per byte, large / small | longest, ms | place | what |\n|---|---|---|---|")
    for ratio, longest, name, kind in sorted(rows, reverse=True)[:10]:
        print(f"| {ratio:.2f} | {1000 * longest:.0f} | {name} | {kind} |")
    print("\nThe longest of all:\n")
    for ratio, longest, name, kind in sorted(rows, key=lambda row: -row[1])[:10]:
        print(f"| {ratio:.2f} | {1000 * longest:.0f} | {name} | {kind} |")
    sys.exit(bool(over))


if __name__ == "__main__":
    main()
