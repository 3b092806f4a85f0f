"""What an operator sends and chooses to make a study in the browser."""

from __future__ import annotations

import io
import re
from html import unescape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.store import places

if TYPE_CHECKING:
    from httpx2 import Response
    from tests.support.operating import Operating

PEOPLE = 30
OUTCOME = np.random.default_rng(0).integers(0, 2, PEOPLE)
TABLE = pd.DataFrame(
    {
        "person": [f"known-as-{k}" for k in range(PEOPLE)],
        "age": np.arange(20, 20 + PEOPLE),
        "town": [f"<b>Town {k % 3}</b> & =1+1" for k in range(PEOPLE)],
        "good": OUTCOME,
        "again": np.where(OUTCOME, "went well", "did not"),
        "same": [7] * PEOPLE,
    }
)
CHOSEN = {
    "id": "0",
    "outcome": "3",
    "show-1": "yes",
    "show-2": "yes",
    "label-1": "Age",
    "unit-1": "years",
    "place-1": "2",
    "label-2": "Town",
    "place-2": "1",
    "treated_well": "to be let in",
    "title": "Who is let in",
    "pairs": "10",
    "design": "mixed",
    "answers": "four",
    "first": "en",
}


def csv(table: pd.DataFrame = TABLE) -> bytes:
    return table.to_csv(index=False).encode()


def send(console: Operating, content: bytes, name: str = "people.csv", **fields: str) -> Response:
    return console.client.post(
        "/admin/new", data={"csrf": console.csrf(), **fields}, files={"file": (name, io.BytesIO(content))}
    )


def uploaded(console: Operating, content: bytes | None = None, name: str = "people.csv") -> str:
    """Send a table; returns the path of the page where one chooses."""
    page = send(console, csv() if content is None else content, name)
    assert page.status_code == 200, problem(page)
    return str(page.url.path).removeprefix("/admin").removesuffix("/file")


def problem(page: Response) -> str:
    found = re.search(r'id="summary">There is a problem</h2>\s*<p>(.*?)</p>', page.text, re.DOTALL)
    return unescape(found[1]) if found else ""


def left(console: Operating) -> set[str]:
    """Files in the study's folder beside the database and its record, those of uploads included."""
    home = console.site.host.path
    files = {str(file.relative_to(home)) for file in home.rglob("*") if file.is_file() and "sqlite" not in file.name}
    return files - {places.IDENTITY_FILE}
