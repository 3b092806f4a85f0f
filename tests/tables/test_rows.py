"""Ids are the same when their canonical texts are, nothing is guessed, and hints are short however long names are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.errors import InputError, TableError, some
from fairwise.tables import rows
from fairwise.tables.rows import PeopleIds, did_you_mean, encode, integers_or_texts, require_column, text_of


def test_a_whole_number_has_one_text_and_a_code_with_zeros_another() -> None:
    assert [text_of(value) for value in (12, 12.0, np.float64(12), "12", "00012", 1.5)] == [
        *["12"] * 4,
        "00012",
        "1.5",
    ]


def test_cells_with_one_text_have_one_code_and_empty_ones_none() -> None:
    codes, texts = encode(pd.Series([1, "1", "01", None, "  ", 1.0], dtype=object))
    assert codes.tolist() == [0, 0, 1, -1, -1, 0]
    assert texts.tolist() == ["1", "01"]


@pytest.mark.parametrize(("texts", "ids"), [(["3", "-1"], [3, -1]), (["3", "03"], ["3", "03"])])
def test_texts_are_integers_only_if_all_are(texts: list[str], ids: list[object]) -> None:
    assert integers_or_texts(np.array(texts, dtype=object)).tolist() == ids


@pytest.mark.parametrize("index", [pd.Index([5, 7]), pd.Index(["5", "7"]), pd.Index([5.0, 7.0])])
def test_people_are_found_by_text_whatever_type_their_ids_have(index: pd.Index) -> None:
    found = PeopleIds(index).positions(np.array(["7", "5", "05", "ann", "9" * 30], dtype=object))
    assert found.tolist() == [1, 0, -1, -1, -1]


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (pd.MultiIndex.from_tuples([(1, 2)]), "several levels"),
        (pd.Index(["a", None]), "1 ids in the index are missing"),
        (pd.Index([3, 3]), "repeated: 3"),
        (pd.Index([3, "3"], dtype=object), "differ in type: '3'"),
    ],
)
def test_ids_that_name_nobody_or_two_are_refused(index: pd.Index, words: str) -> None:
    with pytest.raises(TableError, match=words):
        PeopleIds(index)


def test_of_many_values_a_few_are_named_and_all_are_counted() -> None:
    assert some(np.arange(3)) == "0, 1, 2"
    assert some(range(9)) == "0, 1, 2, 3, 4, … (9 in all)"


def test_ids_that_a_float_may_have_merged_are_refused_and_others_are_kept() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        number = int(rng.integers(-(2**55), 2**55))
        for column in (pd.Series([1.0, number]), pd.Series([1.0, float(number)], dtype=object)):
            if abs(number) < 2**53:
                assert encode(column)[1].tolist() == ["1", str(number)]
                continue
            with pytest.raises(TableError, match=r"is a float, and from 2\*\*53 on"):
                encode(column)
            with pytest.raises(TableError, match="Give ids as whole numbers"):
                PeopleIds(pd.Index(column))
        for dtype in ("Int64", "int64[pyarrow]", object):
            whole = pd.Series([number, number + 1], dtype=dtype)
            assert encode(whole)[1].tolist() == [str(number), str(number + 1)]
            assert PeopleIds(pd.Index(whole)).positions(np.array([str(number + 1)], dtype=object)).tolist() == [1]


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

    monkeypatch.setattr(rows, "get_close_matches", compared)
    letters = "".join(map(chr, range(0x4E00, 0x9E00))) * 5
    for name, known in ((letters, [letters[1:]]), ("age", [letters, *(f"c{k}" for k in range(100_000))])):
        with pytest.raises(InputError) as caught:
            require_column(name, known, "people.csv")
        assert len(str(caught.value)) < 500
    assert pairs < 1000


def test_some_values_are_cut() -> None:
    assert some(["x" * 100, 3]) == f"'{'x' * 56}..., 3"
