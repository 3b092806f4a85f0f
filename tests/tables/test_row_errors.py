"""Hints about names that there are not, however long these are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import pytest

from fairwise.errors import InputError, some
from fairwise.tables import row_errors
from fairwise.tables.files import require_column
from fairwise.tables.row_errors import did_you_mean


def test_the_nearest_is_named_as_it_is_written() -> None:
    assert did_you_mean("aeg", ["Age", "AGE", "town"]) == " (did you mean 'Age'?)"
    assert did_you_mean("colour", ["Age", "town"]) == ""
    assert did_you_mean("age", []) == ""


def test_long_names_are_neither_compared_nor_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two names of a hundred thousand characters, which a file may have, took minutes to compare."""
    compare, pairs = difflib.get_close_matches, 0

    def compared(word: str, known: Iterable[str], **how: Any) -> list[str]:
        nonlocal pairs
        names = list(known)
        pairs += len(names)
        assert all(len(text) <= 60 for text in (word, *names))
        return compare(word, names, **how)

    monkeypatch.setattr(row_errors, "get_close_matches", compared)
    letters = "".join(map(chr, range(0x4E00, 0x9E00))) * 5
    for name, known in ((letters, [letters[1:]]), ("age", [letters, *(f"c{k}" for k in range(100_000))])):
        with pytest.raises(InputError) as caught:
            require_column(name, known, "people.csv")
        assert len(str(caught.value)) < 500
    assert pairs < 1000


def test_some_values_are_cut() -> None:
    assert some(["x" * 100, 3]) == f"'{'x' * 56}..., 3"
