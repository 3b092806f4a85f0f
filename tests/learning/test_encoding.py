"""People's tables as matrices."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairwise.errors import InputError
from fairwise.learning import encoding
from fairwise.learning.encoding import LARGEST_EXACT, NumberColumn, TableEncoder
from fairwise.tables.columns import date_text, described, duration_text, to_pandas

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def learned(table: pd.DataFrame, weights: Any = None, *, scaled: bool = True) -> TableEncoder:
    return TableEncoder.learn(table, np.ones(len(table)) if weights is None else weights, scaled=scaled)


@pytest.fixture
def mixed() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [20, 30, 40, 50],
            "income": [1.5, np.nan, 3.0, 2.25],
            "city": ["Ulm", "Bonn", None, "Ulm"],
            "grade": pd.Categorical(["b", "a", "b", "c"]),
            "member": [True, False, True, True],
        },
        index=pd.Index(["p", "q", "r", "s"], name="id"),
    )


def test_numbers_stay_one_column_and_categories_become_one_each(mixed: pd.DataFrame) -> None:
    encoder = learned(mixed, scaled=False)
    assert encoder.outputs == [
        "age", "income", "income is missing", "city = Bonn", "city = Ulm", "city is missing",
        "grade = a", "grade = b", "grade = c", "member",
    ]  # fmt: skip
    mean = (1.5 + 3.0 + 2.25) / 3
    assert encoder.encode(mixed).tolist() == [
        [20, 1.5, 0, 0, 1, 0, 0, 1, 0, 1],
        [30, mean, 1, 1, 0, 0, 1, 0, 0, 0],
        [40, 3.0, 0, 0, 0, 1, 0, 1, 0, 1],
        [50, 2.25, 0, 0, 1, 0, 0, 0, 1, 1],
    ]


def test_scaled_numbers_start_at_zero_and_are_divided_by_a_power_of_two() -> None:
    table = pd.DataFrame({"x": [3.0, 103.0, 203.0, 303.0]})
    values = learned(table).encode(table).ravel()
    unit = 100.0 / (values[1] - values[0])
    assert values[0] == 0.0
    assert np.log2(unit) == round(np.log2(unit))
    assert values == pytest.approx((table["x"] - 3.0) / unit)
    assert 0.5 <= values.std() <= 2.0


def test_scaling_minds_the_weights() -> None:
    table = pd.DataFrame({"x": [0.0, 1.0, 1000.0]})
    even, tilted = learned(table), learned(table, np.array([1.0, 1.0, 1e-9]))
    assert even.encode(table)[1, 0] < tilted.encode(table)[1, 0]


@pytest.mark.parametrize("dtype", ["int64", "float32", "Int64", "Float64", "boolean", "bool", "uint8"])
def test_every_kind_of_number_is_a_number(dtype: Any) -> None:
    table = pd.DataFrame({"x": pd.Series([0, 1, 1, 0]).astype(dtype)})
    assert learned(table, scaled=False).encode(table).ravel().tolist() == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "float64"])
def test_missing_numbers_get_the_mean_and_a_mark(dtype: Any) -> None:
    table = pd.DataFrame({"x": pd.Series([0, 1, None, 1]).astype(dtype)})
    assert learned(table, scaled=False).encode(table)[:, 1].tolist() == [0, 0, 1, 0]
    assert learned(table, scaled=False).encode(table)[2, 0] == pytest.approx(2 / 3)


def test_a_column_with_nothing_in_it_says_nothing() -> None:
    table = pd.DataFrame({"x": [np.nan, np.nan], "z": [1.0, 2.0]})
    assert learned(table).encode(table)[:, :2].tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_a_column_of_one_value_is_no_trouble() -> None:
    table = pd.DataFrame({"x": [7.0, 7.0]})
    assert learned(table).encode(table).tolist() == [[0.0], [0.0]]


def test_a_number_missing_only_later_counts_as_average() -> None:
    encoder = learned(pd.DataFrame({"x": [1.0, 3.0]}), scaled=False)
    assert encoder.encode(pd.DataFrame({"x": [np.nan]})).tolist() == [[2.0]]


def test_an_unseen_category_counts_as_none_of_the_known_ones_with_a_warning(mixed: pd.DataFrame) -> None:
    encoder = learned(mixed[["city"]])
    later = pd.DataFrame({"city": ["Ulm", "Rome", "Rome"]})
    with pytest.warns(UserWarning, match=r"Column 'city': 'Rome' was never seen in training \(2 rows\)"):
        matrix = encoder.encode(later)
    assert matrix.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_a_missing_category_that_training_never_had_is_unseen_too() -> None:
    encoder = learned(pd.DataFrame({"city": ["Ulm", "Bonn"]}))
    later = pd.DataFrame({"city": [None]}, index=["z"], dtype=object)
    with pytest.warns(UserWarning, match="a missing value was never seen"):
        assert encoder.encode(later).tolist() == [[0.0, 0.0]]


def test_the_text_nan_is_not_a_missing_value() -> None:
    table = pd.DataFrame({"x": ["nan", None, "b"]})
    assert learned(table).encode(table).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


_START = np.datetime64("1970-01-01", "us")


def _as_dates(rng: np.random.Generator, whole: NDArray[np.int64]) -> pd.Series[Any]:
    """Microseconds since 1970 as a column of dates of any make; whole days where the make has no time of day."""
    instants = _START + whole.astype("m8[us]")
    makes: list[Callable[[], Any]] = [
        lambda: pd.Series(instants),
        lambda: pd.Series(instants).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        lambda: pd.Series(instants.tolist(), dtype=object),
        lambda: pd.Series(instants).astype(pd.ArrowDtype(pa.timestamp("us"))),
        lambda: to_pandas(pl.Series(instants)),
        lambda: to_pandas(pa.chunked_array([pa.array(instants)])),
        lambda: pd.Series(instants.astype("M8[s]")),
        lambda: pd.Series(instants.astype("M8[ms]")),
        lambda: pd.Series(instants.astype("M8[D]").tolist(), dtype=object),
        lambda: pd.Series(instants.astype("M8[D]").tolist(), dtype=pd.ArrowDtype(pa.date32())),
        lambda: pd.Series(pd.PeriodIndex(pd.DatetimeIndex(instants), freq="D")),
        lambda: to_pandas(pl.Series(instants.astype("M8[D]"))),
    ]
    return makes[rng.integers(len(makes))]()  # type: ignore[no-any-return]


def test_dates_of_any_make_are_the_same_numbers() -> None:
    rng = np.random.default_rng(0)
    day = 86_400_000_000
    for _ in range(240):
        whole = rng.integers(-20_000, 40_000, size=6) * day
        series, again = _as_dates(rng, whole), _as_dates(rng, whole)
        encoder = learned(pd.DataFrame({"born": series}), scaled=False)
        assert encoder.encode(pd.DataFrame({"born": again})).ravel().tolist() == whole.tolist()
        assert TableEncoder.from_state(encoder.state()) == encoder
        column = encoder.columns[0]
        assert isinstance(column, NumberColumn)
        assert column.kind == "date"


def _as_column(rng: np.random.Generator, values: list[Any], arrow: pa.DataType) -> pd.Series[Any]:
    """The same values, some of them perhaps None, as a column of any make that can hold them."""
    makes: list[Callable[[], Any]] = [
        lambda: pd.Series(values, dtype=object),
        lambda: pd.Series(values, dtype=pd.ArrowDtype(arrow)),
        lambda: to_pandas(pl.Series(values, strict=False)),
        lambda: to_pandas(pa.chunked_array([pa.array(values, arrow)])),
    ]
    if pa.types.is_integer(arrow):
        makes += [
            lambda: pd.Series(values, dtype="Int64"),
            lambda: pd.Series([None if value is None else Decimal(value) for value in values], dtype=object),
            lambda: pd.Series(values, dtype=pd.ArrowDtype(pa.decimal128(38, 0))),
        ]
    elif pa.types.is_boolean(arrow):
        makes += [lambda: pd.Series(values, dtype="boolean")]
    return makes[rng.integers(len(makes))]()  # type: ignore[no-any-return]


def test_columns_of_any_make_are_the_same_numbers_or_refused() -> None:
    rng = np.random.default_rng(3)
    for case in range(300):
        whole = [int(k) for k in rng.integers(-5, 6, size=6)]
        whole = whole if case % 2 else [2**53 + k for k in whole]
        kind: str = ("number", "number", "truth", "duration")[case % 4]
        made: dict[str, list[Any]] = {
            "number": whole,
            "truth": [k % 2 == 1 for k in whole],
            "duration": [dt.timedelta(days=k % 11) for k in whole],
        }
        values = made[kind]
        numbers = [v / dt.timedelta(microseconds=1) if kind == "duration" else float(v) for v in values]
        if rng.random() < 0.5:
            values[2], numbers[2] = None, float(np.mean([numbers[k] for k in (0, 1, 3, 4, 5)]))
        arrow = {"number": pa.int64(), "truth": pa.bool_(), "duration": pa.duration("us")}[kind]
        columns = [pd.DataFrame({"x": _as_column(rng, values, arrow)}) for _ in range(2)]
        merged = [v for v in values if v is not None and kind == "number" and int(float(v)) != v]
        if merged:
            with pytest.raises(InputError, match=rf"Column 'x' is {merged[0]} for person .* cannot be told apart"):
                learned(columns[0], scaled=False)
            continue
        encoder = learned(columns[0], scaled=False)
        assert encoder.described()["kind"].tolist() == ["duration" if kind == "duration" else "number"]
        encoded = encoder.encode(columns[1])
        assert np.delete(encoded[:, 0], 2).tolist() == np.delete(np.array(numbers, dtype=float), 2).tolist()
        assert encoded[2, 0] == pytest.approx(numbers[2], rel=1e-12, abs=1e-9)


def test_times_are_told_apart_exactly_or_refused() -> None:
    rng = np.random.default_rng(1)
    for _ in range(240):
        first = int(rng.integers(-(2**55), 2**55))
        instants = _START + np.array([first, first + 1]).astype("m8[us]")
        for times in (pd.Series(instants), pd.Series(instants - _START)):
            table = pd.DataFrame({"at": times})
            if abs(first) < LARGEST_EXACT - 1:
                assert learned(table, scaled=False).encode(table).ravel().tolist() == [first, first + 1]
            else:
                with pytest.raises(InputError, match=r"Column 'at' is .* for person .*: times are told apart"):
                    learned(table)
    with pytest.raises(InputError, match="whole microseconds"):
        learned(pd.DataFrame({"at": pd.Series(np.array([1, 2000], dtype="M8[ns]"))}))


def test_a_date_is_written_so_that_its_microseconds_can_be_read_back() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        unit = int(rng.choice([1, 10**6, 86_400_000_000]))
        value = int(rng.integers(-(2**52), 2**52)) // unit * unit
        assert np.datetime64(date_text(float(value)), "us").astype(int) == value
        assert pd.Timedelta(duration_text(float(abs(value)))) == pd.Timedelta(abs(value), unit="us")


def test_numbers_where_training_had_dates_are_refused() -> None:
    encoder = learned(pd.DataFrame({"born": pd.to_datetime(["2020-01-01", "2021-01-01"])}))
    for column, words in (([1, 2], "numbers"), (["a", "b"], "text")):
        with pytest.raises(InputError, match=f"Column 'born' was dates in training, but now holds {words}"):
            encoder.encode(pd.DataFrame({"born": column}))
    assert np.isfinite(encoder.encode(pd.DataFrame({"born": [None, None]}))).all()


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="Column 'z' holds complex numbers"):
        learned(pd.DataFrame({"z": [1 + 2j, 3j]}))


def test_infinity_is_refused_with_its_place() -> None:
    table = pd.DataFrame({"x": [1.0, np.inf]}, index=["ann", "bea"])
    with pytest.raises(InputError, match="Column 'x' is infinity for person 'bea'"):
        learned(table)


def test_free_text_is_refused() -> None:
    table = pd.DataFrame({"name": [f"person {number}" for number in range(1001)]})
    with pytest.raises(InputError, match="Column 'name' has 1001 different values in 1001 rows"):
        learned(table)
    assert len(learned(table[:1000]).outputs) == 1000


def test_text_where_training_had_numbers_is_refused() -> None:
    encoder = learned(pd.DataFrame({"x": [1.0, 2.0]}))
    with pytest.raises(InputError, match="Column 'x' was numbers in training, but now holds text"):
        encoder.encode(pd.DataFrame({"x": ["many"]}))


def test_rows_are_encoded_the_same_in_any_batch(mixed: pd.DataFrame) -> None:
    encoder = learned(mixed)
    whole = encoder.encode(mixed)
    assert np.array_equal(np.vstack([encoder.encode(mixed.iloc[[row]]) for row in range(4)]), whole)
    assert np.array_equal(encoder.encode(mixed.iloc[[2, 0, 3, 1]]), whole[[2, 0, 3, 1]])
    assert encoder.encode(mixed.iloc[:0]).shape == (0, 10)


def test_categories_do_not_depend_on_their_dtype(mixed: pd.DataFrame) -> None:
    encoder = learned(mixed[["grade"]])
    for dtype in (object, "str", "category"):
        assert np.array_equal(encoder.encode(mixed[["grade"]].astype(dtype)), encoder.encode(mixed[["grade"]]))


@pytest.mark.parametrize("scaled", [True, False])
def test_the_order_of_people_changes_nothing(scaled: bool) -> None:
    """Bit for bit: draws are keyed on the encoded row."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        table = pd.DataFrame(
            {"x": rng.normal(size=12), "n": rng.integers(9, size=12), "g": rng.choice(["a", "b", "c"], size=12)}
        )
        order = rng.permutation(12)
        straight, shuffled = learned(table, scaled=scaled), learned(table.iloc[order], scaled=scaled)
        assert np.array_equal(straight.encode(table), shuffled.encode(table))


@pytest.mark.parametrize("scaled", [True, False])
def test_the_order_of_people_changes_nothing_about_what_is_missing(scaled: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        table = pd.DataFrame({"x": np.where(rng.random(12) < 0.3, np.nan, rng.normal(size=12))})
        order = rng.permutation(12)
        straight, shuffled = learned(table, scaled=scaled), learned(table.iloc[order], scaled=scaled)
        assert np.array_equal(straight.encode(table), shuffled.encode(table))


def test_state_makes_the_same_encoder_again(mixed: pd.DataFrame) -> None:
    encoder = learned(mixed)
    again = TableEncoder.from_state(encoder.state())
    assert again == encoder
    assert np.array_equal(again.encode(mixed), encoder.encode(mixed))
    assert all(isinstance(value, str | float | bool | list) for column in encoder.state() for value in column.values())


def test_the_limit_on_categories_is_a_setting_of_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MAX_CATEGORIES", 2)
    with pytest.raises(InputError, match="at most 2 can be told apart"):
        learned(pd.DataFrame({"x": list("abc")}))


@pytest.mark.parametrize("missing", [False, True])
def test_a_large_column_is_encoded_like_a_small_one(missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    column = np.where(rng.random(500) < 0.2 * missing, np.nan, rng.normal(7, 3, size=500))
    table = pd.DataFrame({"x": column, "y": rng.integers(0, 9, size=500)})
    encoder = TableEncoder.learn(table, np.ones(500), scaled=True)
    expected = encoder.encode(table)
    monkeypatch.setattr(encoding, "_MANY_ROWS", 1)
    assert np.array_equal(encoder.encode(table), expected)


def test_values_that_are_equal_but_read_differently_are_different_categories() -> None:
    values = [1, True, 1.0, "1.0", "a", None]
    table = pd.DataFrame({"kind": pd.Series(values, dtype=object)})
    encoder, rows = TableEncoder.learn_and_encode(table, np.ones(len(values)), scaled=True)
    assert encoder.outputs == ["kind = 1", "kind = 1.0", "kind = True", "kind = a", "kind is missing"]
    assert rows.argmax(axis=1).tolist() == [0, 2, 1, 1, 3, 4]
    assert (rows == encoder.encode(table)).all()
    assert (rows.sum(axis=1) == 1).all()


@pytest.mark.parametrize("kind", [np.dtype(object), pd.StringDtype(), pd.CategoricalDtype()])
def test_a_table_is_encoded_alike_while_it_is_learned_and_afterwards(kind: Any) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "number": rng.normal(size=50),
            "whole": rng.integers(0, 9, 50),
            "text": pd.Series(rng.choice(["x", "y", "z"], 50)).where(rng.random(50) < 0.8).astype(kind),
        }
    )
    encoder, rows = TableEncoder.learn_and_encode(table, rng.random(50), scaled=True)
    order = rng.permutation(50)
    assert (encoder.encode(table.iloc[order]) == rows[order]).all()


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("many", [4, 2**20])
def test_some_outputs_are_encoded_as_all_are(
    mixed: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, scaled: bool, many: int
) -> None:
    monkeypatch.setattr(encoding, "_MANY_ROWS", many)
    encoder = learned(mixed, scaled=scaled)
    every = encoder.encode(mixed)
    for only in (np.arange(0), np.array([2]), np.array([0, 3, 5, 8]), np.arange(1, 10), np.arange(10)):
        assert np.array_equal(encoder.encode(mixed, order="F", only=only), every[:, only])


def test_columns_that_are_not_wanted_are_checked_like_the_others(mixed: pd.DataFrame) -> None:
    encoder = learned(mixed)
    with pytest.raises(InputError, match="infinity for person 'p'"):
        encoder.encode(mixed.assign(income=[np.inf, 1.0, 2.0, 3.0]), only=np.array([0]))
    with pytest.raises(InputError, match="too far from the training people"):
        encoder.encode(mixed.assign(income=[-1.7e308, 1.7e308, 2.0, 3.0]).assign(age=-1.7e308), only=np.array([1]))
    with pytest.warns(UserWarning, match="'Rom' was never seen in training"):
        encoder.encode(mixed.assign(city="Rom"), only=np.array([0]))


def test_numbers_that_encoding_does_not_change_are_not_copied() -> None:
    table = pd.DataFrame(np.arange(12.0).reshape(4, 3))
    encoder = learned(table, scaled=False)
    same = encoder.unchanged(table)
    assert same is not None
    assert np.shares_memory(same, table.to_numpy())
    assert np.array_equal(same, encoder.encode(table))
    assert encoder.unchanged(table.where(table > 0)) is None  # one is missing now
    assert encoder.unchanged(table.astype({1: int})) is None
    assert learned(table, scaled=True).unchanged(table) is None
    apart = pd.DataFrame({name: np.arange(4.0) for name in "ab"})
    assert encoder.unchanged(apart.assign(c=apart["a"] + 1)) is None


def test_a_column_that_is_nearly_all_numbers_or_dates_is_named_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    for case in range(240):
        n, kind = (
            int(rng.integers(30, 80)),
            ("numbers", "dates", "codes", "words", "all numbers", "few codes")[case % 6],
        )
        if kind == "numbers":
            texts = rng.choice([rng.integers(0, 900, n).astype(str), rng.normal(size=n).round(3).astype(str)])
        elif kind == "dates":
            texts = (np.datetime64("2000-01-01") + rng.integers(0, 9000, n)).astype(str)
        elif kind == "codes":
            texts = np.array([f"{code:05}" for code in rng.integers(0, 99_999, n)])
            texts[0] = "00123"
        elif kind == "all numbers":
            texts = rng.permutation(1000)[:n].astype(str)
        elif kind == "few codes":
            texts = rng.integers(0, 20, n).astype(str)
        else:
            texts = rng.choice(["Ulm", "Bonn", "3", "2000-01-01"], n)
        column = texts.astype(object)
        bad = np.sort(rng.choice(n, size=int(rng.integers(1, n // 10 + 1)), replace=False))
        if kind in ("numbers", "dates", "codes", "words"):
            column[bad] = ["?", "unknown", "n/a", "-"][rng.integers(4)]
        people = pd.Index([f"p{place}" for place in rng.permutation(n)])
        table = pd.DataFrame({"x": column}, index=people)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learned(table)
            learned(table.astype("category"))
        assert len(caught) == (kind in ("numbers", "dates", "all numbers")), kind
        for warning in caught:
            text = str(warning.message)
            if kind == "all numbers":
                assert text.startswith(
                    f"Column 'x' is read as {n} categories, although all values are numbers. To read "
                )
                continue
            assert f"{len(bad)} of {n} values {'is' if len(bad) == 1 else 'are'} no {kind.rstrip('s')}" in text
            assert f"The first is {column[bad[0]]!r}, of person {people[bad[0]]!r}" in text


def test_a_column_without_any_value_is_no_column_of_dates() -> None:
    for missing in (None, np.nan, pd.NA):
        table = pd.DataFrame({"x": pd.Series([missing] * 4, dtype=object), "y": range(4)})
        assert np.isfinite(learned(table).encode(table)).all()  # and warnings are errors


def test_how_columns_are_read_is_told() -> None:
    dates = pd.to_datetime(pd.Series(["2020-01-01", "2021-05-01", None]))
    table = pd.DataFrame({"n": [1, 2, 3], "d": dates, "g": ["a", None, "b"], "t": dates - dates[0]})
    columns = learned(table).described()
    assert columns["kind"].to_dict() == {"n": "number", "d": "date", "g": "category", "t": "duration"}
    assert columns["categories"].dropna().to_dict() == {"g": 2}
    assert columns["missing"].to_dict() == {"n": False, "d": True, "g": True, "t": True}
    pd.testing.assert_frame_equal(columns, described(table), check_names=False)
