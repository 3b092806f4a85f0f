"""Ids are the same when their canonical texts are, and nothing is guessed."""

import numpy as np
import pandas as pd
import pytest

from fairwise.errors import TableError, some
from fairwise.tables.ids import PeopleIds, encode, integers_or_texts, text_of


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
