"""Where single answers of somebody can be found: in every file under a folder, also inside of archives and tables."""

from __future__ import annotations

import io
import re
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pandas as pd
import sqlalchemy as sa

from fairwise.store.export import judge_name
from fairwise.store.schema import answers, appearances, participants

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairwise.store.store import Store


def traces_of(store: Store, number: int) -> list[re.Pattern[bytes]]:
    """What tells that somebody answered: their name as a judge, keys and forms of their pairs, pairs of their own."""
    query = sa.select(participants.c.number, appearances.c.a, appearances.c.b, appearances.c.key, answers.c.nonce)
    rows = store.read_now(lambda c: c.execute(query.join_from(participants, appearances).join(answers)).all())
    others = {frozenset((row.a, row.b)) for row in rows if row.number != number}
    mine = [row for row in rows if row.number == number]
    own = [row for row in mine if frozenset((row.a, row.b)) not in others]
    assert len(own) > 5, "otherwise this shows nothing"
    found = [re.escape(text) for row in mine for text in (row.key, row.nonce)] + [judge_name(number)]
    # Two ids beside each other, with nothing between them that looks like another id or a number.
    found += [rf"\b{a}\b[^k\d]{{0,60}}\b{b}\b" for row in own for a, b in ((row.a, row.b), (row.b, row.a))]
    return [re.compile(pattern.encode()) for pattern in found]


def files_with(traces: list[re.Pattern[bytes]], *places: Path) -> set[str]:
    """Names of the files, and of those inside of them, in which one of these is."""
    found = set()
    for place in places:
        for file in [place] if place.is_file() else sorted(place.rglob("*")):
            if file.is_file():
                for name, content in _contents(file.name, _bytes_of(file)):
                    if any(trace.search(content) for trace in traces):
                        found.add(name)
    return found


def _bytes_of(file: Path) -> bytes:
    """Read by another process: to close a SQLite file would let go of all locks that this one has on it."""
    return subprocess.run(["cat", file], capture_output=True, check=True).stdout


def _contents(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    yield name, content
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for inner in archive.namelist():
                yield from _contents(f"{name}: {inner.rpartition('/')[2]}", archive.read(inner))
    elif content.startswith(b"PAR1"):
        yield name, pd.read_parquet(io.BytesIO(content)).to_csv().encode()
