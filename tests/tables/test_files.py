from __future__ import annotations

import contextlib
import csv
import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.errors import InputError
from fairwise.tables.files import PeopleFile, label_written, read_table, typed
from fairwise.tables.parsing import read_plain

PEOPLE = "id,age,town,good\n1,30,Aa,yes\n2,40,Be,no\n"


def written(path: Path, content: str | bytes, name: str = "people.csv") -> Path:
    file = path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


BAD = {
    "empty": ("", "the file is empty"),
    "blank": ("\n  \n\n", "the file is empty"),
    "header only": ("id,age\n", "only a header ('id', 'age') and not a single row"),
    "wrong column": ("ID,age\n1,2\n", "no column 'id' (did you mean 'ID'?); found: 'ID', 'age'"),
    "too few cells": (
        "id,age\n1,2\n\n3\n",
        "line 4: 1 cell where the header has 2 (cells are separated by commas): '3'",
    ),
    "too many cells": ("id,age\n1,2,3\n", "line 2: 3 cells where the header has 2"),
    "blanks are a cell": ("id,age\n1,2\n  \n", "line 3: 1 cell"),
    "column twice": ("id,age,age\n1,2,3\n", "line 1: columns given twice: 'age'"),
    "id twice": ("id,age\n1,2\n2,3\n1,4\n1,5\n", "line 4, column id: '1' is also the id at line 2; every id"),
    "no id": ("id,age\n1,2\n,3\n", "line 3, column id: empty where an id must be"),
    "open quote": ('id,age\n1,2\n2,"3\n4,5\n', "line 3: not a CSV row: a quotation mark is left open"),
    "stray quote": ('id,age\n1,"2"3\n', "line 2: not a CSV row"),
    "latin-1": (
        "id,age\n1,é\n".encode("latin-1"),
        "line 2: byte 0xe9 at position 9 is not UTF-8; save the file as UTF-8",
    ),
    "latin-1 after a mark": (b"\xef\xbb\xbfid,age\xe9\n", "line 1: byte 0xe9 at position 9 is not UTF-8"),
    "utf-16": ("id,age\n1,2\n".encode("utf-16"), "encoded as UTF-16; save it as UTF-8"),
    "binary": (bytes(range(256)), "line 1: a binary file"),
    "binary later": (b"id,age\n1,2\n\x00\n", "line 3: a binary file"),
    "a workbook": (b"PK\x03\x04 and so on", "an Excel workbook or a zip archive"),
    "compressed": (b"\x1f\x8b\x08", "compressed with gzip"),
    "a Parquet file": (b"PAR1....PAR1", "a Parquet file; call it .parquet"),
    "old line ends": ("id,age\r1,2\r", "lines end in CR alone"),
    "one enormous line": (b"x" * 3_000_000, "line 1: longer than 1,048,576 bytes"),
    "an enormous line later": (b"id,age\n1," + b"x," * 1_000_000, "line 2: longer than 1,048,576 bytes"),
    "decimal commas": ('id;age\n1;2\n2;"2,5"\n', "line 3, column age: '2,5' is a number with a comma"),
}


@pytest.mark.parametrize(("content", "part"), BAD.values(), ids=BAD)
def test_bad_files(tmp_path: Path, content: str | bytes, part: str) -> None:
    file = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        PeopleFile.read(file, "id")
    assert str(caught.value).startswith(str(file))
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_huge_file_is_refused_without_reading_it(tmp_path: Path) -> None:
    for name, start in (("line", b"x"), ("zeros", b"id,age\n1,2\n")):
        file = written(tmp_path, start, f"{name}.csv")
        with file.open("r+b") as stream:
            stream.truncate(1 << 30)  # a hole, so that no gigabyte is written
        tracemalloc.start()
        try:
            with pytest.raises(InputError, match=r"binary|longer"):
                PeopleFile.read(file, "id")
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(
    rows=st.lists(st.lists(st.sampled_from(["a", "1", " ", "é", ""]), min_size=2, max_size=2), min_size=1, max_size=5)
)
def test_a_plain_file_is_read_as_carefully(
    tmp_path_factory: pytest.TempPathFactory, end: str, rows: list[list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("plain")
    lines = ["p,q", *(",".join(row) for row in rows)]
    plain, at_plain = read_table(written(folder, end.join(lines)))
    careful, at_careful = read_table(written(folder, end.join(['"p",q', *lines[1:], ""]), "careful.csv"))
    pd.testing.assert_frame_equal(plain, careful)
    np.testing.assert_array_equal(at_plain.lines, at_careful.lines)


def test_plain_files_take_the_fast_way_and_odd_ones_do_not(tmp_path: Path) -> None:
    for content, rows in [
        (b"p,q\n1,2\n", 1),
        (b"p,q\r\n1,2\r\n3,4", 2),
        (b'p,q\n"1",2\n', None),
        (b"p,q\n1,2\n\n3,4\n", None),
        (b"p,q\n1\n", None),
        (b"p,q\n1,\xe9\n", None),
        (b"p,q\n1,2\r3,4\n", None),
        (b"p,q\n1,\0\n", None),
    ]:
        table = read_plain(written(tmp_path, content), ["p", "q"], ",")
        assert (None if table is None else table.num_rows) == rows, content


def test_a_header_that_will_not_do_is_told_before_the_rows_are_read(tmp_path: Path) -> None:
    file = written(tmp_path, "p,q\n" + "1\n" * 9)
    with pytest.raises(InputError, match="no column 'id'"):
        PeopleFile.read(file, "id")
    with pytest.raises(InputError, match="no column 'age'"):
        PeopleFile.read(file, "p", "age")
    with pytest.raises(InputError, match="line 2: 1 cell"):
        PeopleFile.read(file, "p", "q")


def test_files_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name, part in [("none.csv", "no such file"), ("x.xls", "end in .csv"), ("folder.csv", "a folder, not a file")]:
        with pytest.raises(InputError, match=part):
            read_table(tmp_path / name)
    file = written(tmp_path, PEOPLE)

    def forbidden(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(file), "open", forbidden)  # root may read everything, so a mode would test nothing
    with pytest.raises(InputError, match=r"people.csv: cannot be read: Permission denied"):
        read_table(file)


def test_bad_parquet(tmp_path: Path) -> None:
    for content, part in [(b"id,age\n", "not a Parquet file"), (b"PAR1" + b"x" * 50, "a damaged Parquet file")]:
        with pytest.raises(InputError, match=part):
            read_table(written(tmp_path, content, "p.parquet"))
    pd.DataFrame({"id": []}).to_parquet(tmp_path / "p.parquet")
    with pytest.raises(InputError, match="only a header"):
        read_table(tmp_path / "p.parquet")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_ordinary_files(tmp_path: Path, separator: str, encoding: str, line_end: str) -> None:
    text = "id,näme,age\nx,José,3\ny,,4\n".replace(",", separator).replace("\n", line_end)
    table = PeopleFile.read(written(tmp_path, text.encode(encoding)), "id").table
    assert table.index.tolist() == ["x", "y"]
    assert table["age"].tolist() == [3, 4]
    assert table["näme"].tolist()[0] == "José"
    assert table["näme"].isna().tolist() == [False, True]


def test_the_separator_is_the_commonest_of_the_header(tmp_path: Path) -> None:
    file = written(tmp_path, 'id;"age, in years";town\n1;2;Aa\n')
    assert list(PeopleFile.read(file, "id").table.columns) == ["age, in years", "town"]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=5)


@given(
    rows=st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=5), separator=st.sampled_from(",;\t")
)
def test_what_a_csv_writer_wrote_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], separator: str
) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["p", "q", "r"])
    writer.writerows(rows)
    frame, source = read_table(written(tmp_path_factory.mktemp("csv"), buffer.getvalue()))
    assert frame.to_numpy().tolist() == rows
    starts = 2 + np.cumsum([0, *(1 + sum(cell.count("\n") for cell in row) for row in rows)])
    assert source.lines is not None
    assert source.lines.tolist() == starts[:-1].tolist()


@given(st.binary(max_size=80))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    for name in ("p.csv", "p.parquet"):
        with contextlib.suppress(InputError):
            PeopleFile.read(written(folder, content, name), "id")


@pytest.mark.parametrize(
    ("given_cells", "expected", "dtype"),
    [
        (["1", "2"], [1, 2], "int64"),
        (["1", "", "NA"], [1, None, None], "Int64"),
        (["1.5", "2", "null"], [1.5, 2.0, None], "float64"),
        (["1e3", "-.5", "+2."], [1000.0, -0.5, 2.0], "float64"),
        (["01234", "99"], ["01234", "99"], "str"),
        (["NA", "x"], ["NA", "x"], "str"),
        (["", "x"], [None, "x"], "str"),
        (["", ""], [None, None], "str"),
        (["1_000", "2"], ["1_000", "2"], "str"),
        (["inf", "1"], ["inf", "1"], "str"),
        (["true", "false"], ["true", "false"], "str"),
        (["12345678901234567890", "1"], [12345678901234567890.0, 1.0], "float64"),
    ],
)
def test_types(given_cells: list[str], expected: list[Any], dtype: str) -> None:
    column = typed(pd.Series(given_cells))
    assert str(column.dtype) == dtype
    assert [None if pd.isna(value) else value for value in column] == expected


def test_outcomes(tmp_path: Path) -> None:
    file = PeopleFile.read(written(tmp_path, PEOPLE), "id")
    good = file.outcome("good")
    assert label_written("yes", good, file.source, "good") == "yes"
    with pytest.raises(InputError, match=r"column good: 'Yes' is not one of the outcomes no and yes"):
        label_written("Yes", good, file.source, "good")
    assert file.features(outcome="good").columns.tolist() == ["age", "town"]
    for content, part in [
        ("id,y\n1,0\n2,\n3,1\n", "line 3, column y: empty where an outcome must be"),
        ("id,y\n1,0\n2,0\n", r"1 different value \(0\); an outcome has two"),
        ("id,y\n1,0\n2,1\n3,2\n", r"3 different values \(0, 1, 2\)"),
    ]:
        with pytest.raises(InputError, match=part):
            PeopleFile.read(written(tmp_path, content), "id").outcome("y")
    floats = PeopleFile.read(written(tmp_path, "id,y\n1,0.0\n2,1.0\n"), "id").outcome("y")
    assert floats.tolist() == [0, 1]
    assert label_written("1", floats, file.source, "y") == 1


def test_a_column_without_a_name_is_not_learnt_from(tmp_path: Path) -> None:
    file = PeopleFile.read(written(tmp_path, ",id,age,good\n0,1,30,yes\n1,2,40,no\n"), "id")
    assert file.features(only=["age"]).columns.tolist() == ["age"]
    with pytest.raises(InputError, match="a column has no name"):
        file.features(outcome="good")


def test_what_is_no_number_is_named_or_made_missing_as_asked(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for case in range(200):
        n = int(rng.integers(20, 60))
        numbers = rng.integers(0, 1000, size=n) if case % 2 else rng.normal(size=n).round(3)
        cells = numbers.astype(str).astype(object)
        bad = np.sort(rng.choice(n, size=int(rng.integers(1, n // 10 + 1)), replace=False))
        cells[bad] = words = ["?", "unknown", "none of them"][rng.integers(3)]
        file = tmp_path / "people.csv"
        pd.DataFrame({"id": np.arange(n) + 7, "age": cells, "town": "Ulm"}).to_csv(file, index=False)
        plain = PeopleFile.read(file, "id")
        (line,) = plain.warnings(plain.features())
        assert line.startswith("Column 'age' is read as ")
        assert f"{len(bad)} of {n} values" in line
        assert f"The first is {words!r} (line {bad[0] + 2}, id {bad[0] + 7})" in line
        for numeric, na_values in (([], [words]), (["age"], [])):
            people = PeopleFile.read(file, "id", numeric=numeric, na_values=na_values)
            assert np.flatnonzero(people.table["age"].isna()).tolist() == bad.tolist()
            assert np.array_equal(people.table["age"].drop(bad + 7).astype(float), np.delete(numbers, bad))
            assert people.warnings(people.features()) == []
            assert len(people.notes) == len(numeric)
            assert all(f"the first is {words!r} (line {bad[0] + 2})" in note for note in people.notes)


def test_a_column_of_dates_is_learnt_from_as_dates(tmp_path: Path) -> None:
    file = written(
        tmp_path, "id,born,at,day\n1,2020-02-29,2020-01-01T10:30,2020-02-30\n2,,2021-01-01 09:15:01.5,2020-02-01\n"
    )
    people = PeopleFile.read(file, "id")
    assert people.table["born"].iloc[0] == "2020-02-29", "a study shows what the file says"
    features = people.features()
    assert features["born"].tolist() == [pd.Timestamp("2020-02-29"), pd.NaT]
    assert features["at"].tolist() == [pd.Timestamp("2020-01-01 10:30"), pd.Timestamp("2021-01-01 09:15:01.5")]
    assert features["day"].tolist() == ["2020-02-30", "2020-02-01"]
    (line,) = people.warnings(features)
    assert "Column 'day' is read as 2 categories, although all values are dates. Some are in no calendar" in line
