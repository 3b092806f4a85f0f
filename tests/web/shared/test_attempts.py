"""Counting attempts to log in, in a file that may be damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from fairwise.store.errors import StoreUnavailable
from fairwise.study.recruitment import Keys
from fairwise.web.shared.security import FILE, OF_ONE_NAME, Attempts, login_limits

if TYPE_CHECKING:
    from pathlib import Path

KEYS = Keys(b"k" * 32)
LIMITS = login_limits("Ada", "10.0.0.1", None)


def damage(file: Path) -> None:
    """Leave the head and the table of contents, and spoil the page with the rows."""
    content = bytearray(file.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    file.write_bytes(content)


@pytest.mark.parametrize("how", ["not a database", "empty", "a damaged page"])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, how: str) -> None:
    attempts, file = Attempts(tmp_path, KEYS), tmp_path / FILE
    assert attempts.begin(*LIMITS)
    if how == "a damaged page":
        damage(file)
    else:
        file.write_bytes(b"" if how == "empty" else b"no database" * 1000)
    for _ in range(OF_ONE_NAME):
        assert attempts.begin(*LIMITS)
    assert not attempts.begin(*LIMITS)  # and counts as before
    attempts.forgive(*LIMITS)
    assert attempts.begin(*LIMITS)


def test_a_file_that_somebody_holds_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairwise.web.shared.security._BUSY_SECONDS", 0)
    attempts = Attempts(tmp_path, KEYS)
    for _ in range(OF_ONE_NAME):
        attempts.begin(*LIMITS)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailable, match="locked"):
            attempts.begin(*LIMITS)
    assert not attempts.begin(*LIMITS)
