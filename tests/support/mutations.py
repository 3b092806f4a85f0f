"""Valid files and texts made bad, in every way that came to mind; from the same seed always the same way."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

EVIL = (
    *(
        "",
        " ",
        "\t",
        "\r",
        "\n",
        "\r\n",
        "\x00",
        "\x07",
        "\x1b[31m",
        "\x7f",
        "\x85",
        "\u2028",
        "\ufeff",
        "\u202e",
        "\ufffd",
    ),
    *(
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\uff1d1+1",
        "'",
        '"',
        '""',
        "`",
        ";",
        ",",
        "|",
        "\\",
        "%",
        "%00",
        "%ff",
    ),
    *(
        "0",
        "-0",
        "1",
        "2",
        "007",
        "1e999",
        "-1e999",
        "1e-999",
        "NaN",
        "inf",
        "-Infinity",
        "null",
        "None",
        "true",
        "²",
        "٣",
    ),
    *("9" * 9, "9" * 10, "9" * 19, "9" * 30, "9" * 4500, "-" + "9" * 19, "0x7f", "1_000", "2,5", "1.5.2", "1/0"),
    *(
        "../../etc/passwd",
        "..\\..\\x",
        "/etc/passwd",
        "C:\\x",
        "file:///etc/passwd",
        "//evil.example",
        "a/../b",
        ".",
        "..",
    ),
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "javascript:alert(1)", "&lt;", "</textarea>", "]]>"),
    *("{{7*7}}", "{%raw%}", "${7*7}", "%(x)s", "%s%n", "{0}", "{id}", "' OR 1=1 --", "1; DROP TABLE answers", "$(id)"),
    *("x" * 300, "x" * 5000, "é" * 400, "漢" * 400, "👩‍👩‍👧" * 40, "a\u0300" * 200, "\U0010ffff", "ﷺ" * 90, "I\u0307"),
    *("same", "a_at_least_b", "SAME", "p00001", "known-as-1", "2026-02-30", "9999-12-31T23:59:59+99:99", "0000-01-01"),
)
"""Texts that somebody's program stumbled over."""

_TOKENS = (
    b"\x00",
    b"\xff",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\x80",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\r",
    b"\n",
    b"\r\n",
    b'"',
)


def evil(rng: Random) -> str:
    """One of them, or two, or something random."""
    kind = rng.random()
    if kind < 0.7:
        return rng.choice(EVIL)
    if kind < 0.85:
        return rng.choice(EVIL) + rng.choice(EVIL)
    return "".join(
        chr(rng.choice((rng.randrange(1, 128), rng.randrange(128, 0xD800)))) for _ in range(rng.randrange(40))
    )


def damaged(data: bytes, rng: Random) -> bytes:
    """Bytes changed in one to three places, without knowing what they mean."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(_OF_BYTES)(data, rng)
    return data


def _flip(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, rng: Random) -> bytes:
    at, new = rng.randrange(len(data) + 1), rng.randbytes(rng.choice((1, 2, 4, 16)))
    return data[:at] + new + data[at + len(new) :]


def _cut(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _behead(data: bytes, rng: Random) -> bytes:
    return data[rng.randrange(len(data) + 1) :]


def _leave_out(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.choice((1, 2, 7, 100)) :]


def _double(data: bytes, rng: Random) -> bytes:
    at, length = rng.randrange(len(data) + 1), rng.choice((1, 4, 30, 400))
    return data[: at + length] + data[at : at + length] * rng.choice((1, 2, 50)) + data[at + length :]


def _insert(data: bytes, rng: Random) -> bytes:
    at = rng.choice((0, len(data), rng.randrange(len(data) + 1)))
    return data[:at] + rng.choice((rng.choice(_TOKENS), evil(rng).encode(errors="replace"))) + data[at:]


def _extreme_number(data: bytes, rng: Random) -> bytes:
    width = rng.choice((1, 2, 4, 8))
    at = rng.randrange(max(1, len(data) - width))
    value = rng.choice((0, 1, (1 << (8 * width)) - 1, 1 << (8 * width - 1), (1 << (8 * width - 1)) - 1))
    return data[:at] + value.to_bytes(width, rng.choice(("little", "big"))) + data[at + width :]


def _random_bytes(_data: bytes, rng: Random) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 4, 30, 500)))


_OF_BYTES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_flip, _flip, _overwrite, _overwrite, _cut, _behead, _leave_out, _double, _insert, _insert, _extreme_number),
    _random_bytes,
)


def damaged_table(data: bytes, rng: Random, separator: str = ",") -> bytes:
    """Rows of text with a cell, a row, a column or the encoding changed; sometimes only bytes."""
    if rng.random() < 0.35:
        return damaged(data, rng)
    rows = [line.split(separator) for line in data.decode().splitlines()]
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(rows))
        kind = rng.randrange(8)
        if kind <= 2:
            rows[at][rng.randrange(len(rows[at]))] = evil(rng)
        elif kind == 3:
            rows.insert(at, list(rng.choice(rows)))
        elif kind == 4:
            rows[at] = rows[at][: rng.randrange(len(rows[at]) + 1)] or [""]
        elif kind == 5:
            rows[at] = [*rows[at], evil(rng)]
        elif kind == 6:
            rows[0][rng.randrange(len(rows[0]))] = rng.choice((rng.choice(rows[0]), evil(rng)))
        else:
            column, value = rng.randrange(len(rows[0])), evil(rng)
            rows = [[*row[:column], value, *row[column + 1 :]] for row in rows]
    text = rng.choice(("\n", "\n", "\n", "\r\n", "\r")).join(separator.join(row) for row in rows)
    encoding = rng.choice(("utf-8", "utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1", "utf-7"))
    return text.encode(encoding, errors="replace")


def damaged_text(data: bytes, rng: Random) -> bytes:
    """A file of settings or JSON with a word, a line or a bracket changed; sometimes only bytes."""
    if rng.random() < 0.35:
        return damaged(data, rng)
    lines = data.decode().split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0:
            lines[at] = rng.choice(lines)
        elif kind == 1:
            del lines[at]
            lines = lines or [""]
        elif kind == 2:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = evil(rng)
            lines[at] = " ".join(words)
        elif kind == 3:
            name, equals, _ = lines[at].partition(rng.choice((" = ", ": ")))
            value = rng.choice(
                ("0", "-1", "[]", "{}", '""', "null", "true", "1e400", "[[1]]", '"x"', "nan", "2026-01-01")
            )
            lines[at] = f"{name}{equals}{value}"
        elif kind == 4:
            lines[at] = lines[at] + rng.choice(("[" * 2000, "{" * 50, "]", "}", '"', "'''", "#", ","))
        else:
            lines.insert(at, evil(rng))
    return "\n".join(lines).encode(errors="replace")


def damaged_archive(data: bytes, rng: Random) -> bytes:
    """A zip file with an entry changed, added, renamed, taken away or made very large; sometimes only bytes."""
    if rng.random() < 0.3:
        return damaged(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
    at = rng.randrange(len(entries))
    name, content = entries[at]
    kind = rng.randrange(7)
    if kind <= 2:
        entries[at] = (
            name,
            rng.choice((damaged_text, damaged))(content, rng) if _is_text(content) else damaged(content, rng),
        )
    elif kind == 3:
        del entries[at]
    elif kind == 4:
        paths = (
            "../x",
            "/tmp/x",
            "study/../../x",
            "C:\\x",
            "study/secret.key",
            "study/",
            "nested.zip",
            "a\x00b",
            name.upper(),
        )
        entries[at] = (rng.choice((*paths, evil(rng)[:200] or "x")), content)
    elif kind == 5:
        entries.insert(at, ("nested.zip", data))
    else:
        entries[at] = (name, b"\0" * rng.choice((1, 1 << 20, 1 << 23)))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, inside in entries:
            archive.writestr(entry or "x", inside)
    return made.getvalue()


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
