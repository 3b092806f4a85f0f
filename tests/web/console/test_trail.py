"""The trail: everything is there, found by who, what and when, and taken away."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from fairwise.store.operators import Operator, note
from fairwise.web.console import accounts
from fairwise.web.console.accounts import ACTIONS

if TYPE_CHECKING:
    from tests.support.operating import Operating

NOW = datetime.now(UTC)


@pytest.fixture
def console(plain_console: Operating) -> Operating:
    def add(connection: object) -> None:
        for days, who, action, about in (
            (3, "Ben", "study opened", "=1+1"),
            (2, "Ada", "excluded", "participant 7"),
            (1, "Ben", "excluded", "participant 8"),
        ):
            note(connection, Operator(9, who, "owner"), action, about, NOW - timedelta(days=days))  # type: ignore[arg-type]

    plain_console.site.host.store.change_now(add)
    return plain_console


def rows(console: Operating, query: str = "") -> list[dict[str, str]]:
    answer = console.get(f"/trail.csv{query}")
    assert answer.headers["content-disposition"].startswith('attachment; filename="trail-')
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_filters(console: Operating) -> None:
    assert [row["action"] for row in rows(console)] == ["excluded", "excluded", "study opened", "first account made"]
    assert [row["about"] for row in rows(console, "?operator=Ben")] == ["participant 8", "'=1+1"]
    assert [row["operator"] for row in rows(console, "?action=excluded")] == ["Ben", "Ada"]
    day = (NOW - timedelta(days=2)).date()
    assert [row["about"] for row in rows(console, f"?since={day}&until={day}")] == ["participant 7"]
    for odd in ("?since=yesterday", "?until=0001-01-01x", "?since=9999-12-31x"):
        assert len(rows(console, odd)) == 4
    page = console.get("/trail?action=excluded").text
    assert "2 entries" in page
    assert "Participant excluded" in page
    assert "There is nothing like that" in console.get("/trail?operator=nobody").text


def test_pages(console: Operating, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "PAGE_SIZE", 2)
    assert "Page 1 of 2" in console.get("/trail").text
    assert "First account made" in console.get("/trail?page=2").text.partition("<tbody>")[2]


def test_logins_and_downloads_are_written_down(console: Operating) -> None:
    console.log_in("Ada")
    assert rows(console)[0]["action"] == "logged in"
    assert {row["action"] for row in rows(console)} <= set(ACTIONS)
