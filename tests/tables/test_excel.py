"""A workbook is read as the CSV file that could be saved from it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from fairwise.errors import InputError
from fairwise.tables.files import PeopleFile, read_table


def written(file: Path, rows: list[list[Any]]) -> Path:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.create_sheet("notes").append(["not", "read"])
    book.save(file)
    return file


# No control characters, which XML does not have, and no sign that begins a formula.
words = st.text(st.characters(categories=["L", "N"], max_codepoint=0x2000), min_size=1, max_size=8)


@given(
    st.lists(
        st.tuples(st.integers(-(10**9), 10**9), st.none() | st.floats(-1e9, 1e9), st.none() | words),
        min_size=1,
        max_size=5,
        unique_by=lambda row: row[0],
    )
)
def test_numbers_and_words_arrive_exactly(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]]
) -> None:
    file = written(tmp_path_factory.mktemp("excel") / "people.xlsx", [["id", "x", "word"], *map(list, rows)])
    table, source = read_table(file)
    assert [int(text) for text in table["id"]] == [row[0] for row in rows]
    # Workbooks are written with 16 digits.
    assert [float(text or "nan") for text in table["x"]] == pytest.approx(
        [np.nan if row[1] is None else row[1] for row in rows], rel=1e-15, nan_ok=True
    )
    assert [text or None for text in table["word"]] == [row[2] for row in rows]
    assert source.place(0) == "row 2"


def test_people_are_those_of_the_csv_file(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["id", "age", "code", "city"],
        [1, 31, "007", "Ulm"],
        [],
        [2, None, "012", None],
        [10.0, 40.5, "1", "Bonn"],
    ]
    file = written(tmp_path / "people.xlsx", rows)
    (tmp_path / "people.csv").write_text("id,age,code,city\n1,31,007,Ulm\n\n2,,012,\n10,40.5,1,Bonn\n")
    ours, csv = (PeopleFile.read(tmp_path / name, "id") for name in ("people.xlsx", "people.csv"))
    pd.testing.assert_frame_equal(ours.table, csv.table)
    np.testing.assert_array_equal(ours.source.lines, csv.source.lines)
    with pytest.raises(InputError, match=rf"{file}, row 4, column city: empty where an outcome"):
        ours.outcome("city")


def test_a_date_is_written_as_iso(tmp_path: Path) -> None:
    table, _ = read_table(written(tmp_path / "t.xlsx", [["at"], [datetime(2025, 1, 31, 12, 0)]]))  # noqa: DTZ001
    assert table["at"].tolist() == ["2025-01-31T12:00:00"]


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ([], "the first sheet is empty"),
        ([["id", "x"]], "only a header"),
        ([["id", "id"], [1, 2]], "columns given twice: 'id'"),
        ([["id"], [1, 2]], "row 2: 2 cells where the header has 1"),
        (
            [["Applicants 2026"], [None], ["id", "age"], [1, 2]],
            "row 1 was read as the header: delete whatever stands above",
        ),
        ([["id", "x"], [1, "#N/A"]], "row 2: #N/A is an error of the workbook"),
    ],
)
def test_sheets_that_are_no_table(tmp_path: Path, rows: list[list[Any]], part: str) -> None:
    file = written(tmp_path / "t.xlsx", rows)
    with pytest.raises(InputError) as caught:
        read_table(file)
    assert str(caught.value).startswith(str(file))
    assert part in str(caught.value)


def test_files_that_are_no_workbook(tmp_path: Path) -> None:
    file = tmp_path / "t.xlsx"
    whole = written(file, [["id"], [1]]).read_bytes()
    for content in (b"id,age\n1,2\n", b"PK\x03\x04", whole[: len(whole) // 2], b""):
        file.write_bytes(content)
        with pytest.raises(InputError, match="not an Excel workbook"):
            read_table(file)
    file.write_bytes(whole)
    with pytest.raises(InputError, match="when unpacked"):
        read_table(file, most=100)


def test_another_separator(tmp_path: Path) -> None:
    for name, cells in (("plain", "a|b;c\n1|2;3\n"), ("careful", 'a|"b;c"\n1|"2;3"\n')):
        file = tmp_path / f"{name}.csv"
        file.write_text(cells)
        table, _ = read_table(file, separator="|")
        assert table.to_dict("list") == {"a": ["1"], "b;c": ["2;3"]}
    file.write_text('a|"b"\n1\n')
    with pytest.raises(InputError, match=r"line 2: 1 cell where the header has 2 \(cells are separated by '\|'\)"):
        read_table(file, separator="|")
    for bad in ("", "||", '"', "\n", "é"):
        with pytest.raises(InputError, match="give one character"):
            read_table(file, separator=bad)
    with pytest.raises(InputError, match="is for text"):
        read_table(tmp_path / "t.parquet", separator=";")
