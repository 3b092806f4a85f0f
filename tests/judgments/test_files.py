import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwise.errors import JudgmentsError
from fairwise.judgments import Answer, Judgments

HEADER = "judge,a,b,answer\n"


def refused(path: Path, content: str | bytes, *parts: str, **options: Any) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(JudgmentsError) as caught:
        Judgments.read(path, **options)
    for part in (str(path), *parts):
        assert part in str(caught.value)


def people(index: pd.Index) -> pd.DataFrame:
    return pd.DataFrame({"age": range(len(index))}, index=index)


text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip)
ids = st.one_of(st.integers(-(10**20), 10**20), text)
times = st.none() | st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    names = draw(st.lists(ids, min_size=2, max_size=5, unique_by=str))
    who = draw(st.lists(ids, min_size=1, max_size=3, unique_by=str))
    pairs = st.permutations(names).map(lambda order: order[:2])
    key = st.tuples(st.sampled_from(who), pairs, st.integers(1, 99), st.sampled_from(["uniform", "repeat", "ünsure"]))
    keys = draw(st.lists(key, max_size=6, unique_by=lambda k: (str(k[0]), frozenset(map(str, k[1])), k[2], k[3])))
    optional = {
        "weight": st.just(0.0) | st.floats(1e-100, 1e100),
        "seconds": st.none() | st.floats(0, 1e6),
        "answered_at": times,
        "selection_probability": st.none() | st.floats(0, 1, exclude_min=True),
        "comment": st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    }
    used = draw(st.sets(st.sampled_from(sorted(optional))))
    table = pd.DataFrame(
        [
            {
                "judge": judge,
                "a": a,
                "b": b,
                "answer": draw(st.sampled_from(Answer)),
                "round": n,
                "design": design,
            }
            | {name: draw(optional[name]) for name in sorted(used)}
            for judge, (a, b), n, design in keys
        ],
        columns=["judge", "a", "b", "answer", "round", "design", *sorted(used)],
    )
    return table.astype({"comment": str}) if "comment" in used else table


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@settings(deadline=None)
@given(table=tables())
def test_what_was_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, table: pd.DataFrame
) -> None:
    path = tmp_path_factory.mktemp("files") / f"judgments.{suffix}"
    written = Judgments(table)
    written.write(path)
    read = Judgments.read(path)
    pd.testing.assert_frame_equal(read.frame, written.frame, check_exact=True)
    pd.testing.assert_frame_equal(read.counted(), written.counted(), check_exact=True)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    "index",
    [
        pd.Index([1, 2, 3]),
        pd.Index([1, 2, 3], dtype="int8"),
        pd.Index([1, 2, 3], dtype="Int64"),
        pd.Index([10**18, 2, -1]),
        pd.Index(["1", "2", "3"]),
        pd.Index(["001", "1", "x"]),
        pd.Index([1, "x", "001"], dtype=object),
        pd.Index([0.5, 1.0, 2.0]),
        pd.date_range("2025-01-01", periods=3),
        pd.CategoricalIndex(["u", "v", "w"]),
    ],
    ids=str,
)
def test_ids_come_back_as_the_people_have_them(tmp_path: Path, suffix: str, index: pd.Index) -> None:
    frame = pd.DataFrame({"judge": "ann", "a": index[[0, 2]], "b": index[[1, 0]], "answer": "same"})
    written = Judgments(frame, people=people(index))
    written.write(tmp_path / f"j.{suffix}")
    read = Judgments.read(tmp_path / f"j.{suffix}", people=people(index))
    assert read.person_ids().tolist() == index.tolist()
    pd.testing.assert_frame_equal(read.frame, written.frame)


@pytest.mark.parametrize(
    ("cells", "index", "expected"),
    [
        ("12,7", [12, 7], [12, 7]),
        ("12,7", ["12", "7"], ["12", "7"]),
        ("00012,7", ["00012", "12", "7"], ["00012", "7"]),
        ("12,7", [12.0, 7.0], [12.0, 7.0]),
    ],
)
def test_text_in_a_file_finds_ids_of_any_type(
    tmp_path: Path, cells: str, index: list[Any], expected: list[Any]
) -> None:
    path = tmp_path / "j.csv"
    path.write_text(f"{HEADER}ann,{cells},same\n")
    assert Judgments.read(path, people=people(pd.Index(index))).person_ids().tolist() == expected


def test_an_id_is_never_taken_for_a_similar_one(tmp_path: Path) -> None:
    for lookalike in ("00012", "+12", "12.0", " 12", "1_2", "1e1"):
        content = f"{HEADER}ann,{lookalike},7,same\n"
        refused(tmp_path / "j.csv", content, "line 2, column a", lookalike, people=people(pd.Index([12, 7, 10])))


def test_without_people_ids_are_numbers_only_if_all_are(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_text(f"{HEADER}ann,12,7,same\n")
    assert Judgments.read(path).person_ids().tolist() == [12, 7]
    path.write_text(f"{HEADER}ann,12,007,same\n")
    assert Judgments.read(path).person_ids().tolist() == ["12", "007"]
    path.write_text(f"{HEADER}ann,12,{10**30},same\n")
    assert Judgments.read(path).person_ids().tolist() == ["12", str(10**30)]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["the file is empty"]),
        (" \n\n", ["the file is empty"]),
        ("judge,a,answer\nx,1,same\n", ["missing column b"]),
        ("judge|a|b|answer\nx|1|2|same\n", ["missing column"]),
        ("judge,a,b,answer,a\nx,1,2,same,3\n", ["columns given twice: 'a'"]),
        (
            HEADER + "x,1,2,same\n\nx,1,3,sam\n",
            ["line 4, column answer: 'sam' is not", "did you mean 'same'?"],
        ),
        (
            HEADER + '"x\ny",1,2,same\r\n"x\r\rz",1,2,same\r\nx,3,3,same\r\n',
            ["line 5, column b: '3' is also a"],
        ),
        (
            HEADER + "x,1,2,same\nx,1,3\n",
            ["line 3: 3 cells where the header has 4 (cells are separated by commas): 'x', '1', '3'"],
        ),
        (HEADER + "x,1,2,same\nx,1,3,same,9\n", ["line 3: 5 cells"]),
        (HEADER + 'x,1,2,same\n"x,1,3,same\nx,1,4,same\n', ["line 3: not a CSV row"]),
        (HEADER + 'x,1,2,same\nx,1,3,"same\nx,1,4,same\n', ["line 3: not a CSV row"]),
        (HEADER + "x,1,2,same\ny,1,2,same\n\nx,2,1,same\n", ["line 5: judge 'x' already", "at line 2"]),
        (HEADER + ",1,2,same\n", ["line 2, column judge: empty"]),
        (HEADER + "x,,2,same\n", ["line 2, column a: empty"]),
        ((HEADER + "x,1,2,same\nJosé,1,2,same\n").encode("latin-1"), ["line 3: byte 0xe9 at position 31 is not UTF-8"]),
        ((HEADER + "x,1,2,same\n").encode("utf-16"), ["UTF-16; save it as UTF-8"]),
        (b"\x89PNG\x00\x00", ["a binary file"]),
        (b"PAR1....", ["a Parquet file; call it .parquet"]),
        (
            HEADER.replace("\n", ",weight\n") + "x,1,2,same,\n",
            ["line 2, column weight: empty is not a weight"],
        ),
    ],
)
def test_bad_csv(tmp_path: Path, content: str | bytes, parts: list[str]) -> None:
    refused(tmp_path / "j.csv", content, *parts)


cells = st.sampled_from(["x", "1", "2", "", " ", "same", "nan", "inf", "-1", "1e400", "3000-01-01", '"', '"a\nb"', "é"])
columns = ["judge", "a", "b", "answer", "weight", "round", "design", "seconds", "answered_at", "selection_probability"]
scribbles = st.lists(st.lists(cells, min_size=8, max_size=11).map(",".join), max_size=4).map("\n".join)


@settings(deadline=None)
@given(content=scribbles.map(lambda rows: (",".join(columns) + "\n" + rows).encode()) | st.binary(max_size=60))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    for suffix in ("csv", "parquet"):
        path = tmp_path_factory.mktemp("files") / f"j.{suffix}"
        path.write_bytes(content)
        with contextlib.suppress(JudgmentsError):
            Judgments.read(path)


def test_a_late_line_of_a_long_file_is_named(tmp_path: Path) -> None:
    lines = [f"x,{i},{i + 1},same\n" for i in range(120_000)]
    lines[60_000] = f"\n{lines[60_000]}"
    lines[-1] = "x,1,1,same\n"
    refused(tmp_path / "j.csv", HEADER + "".join(lines), "line 120002,")


def test_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_text(f"{HEADER}José,1,2,same\n", encoding="utf-8-sig")
    assert Judgments.read(path).judges == ["José"]


@pytest.mark.parametrize(("name", "separator"), [("j.csv", ","), ("j.csv", ";"), ("j.tsv", "\t")])
def test_every_usual_separator_is_read(tmp_path: Path, name: str, separator: str) -> None:
    content = f"{HEADER}ann,1,2,same\n".replace(",", separator)
    (tmp_path / name).write_text(content)
    assert Judgments.read(tmp_path / name).judges == ["ann"]


def test_separators_in_the_names_of_columns_survive(tmp_path: Path) -> None:
    Judgments([{"judge": "x", "a": 1, "b": 2, "answer": "same", ";;;;;;;;\t": "y"}]).write(tmp_path / "j.csv")
    assert Judgments.read(tmp_path / "j.csv").frame[";;;;;;;;\t"].tolist() == ["y"]


def test_only_a_header_is_a_panel_that_has_not_answered(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text(HEADER)
    assert Judgments.read(tmp_path / "j.csv").n_judges == 0


def test_files_that_are_not_there_or_not_ours(tmp_path: Path) -> None:
    for name, part in [("none.csv", "no such file"), ("j.xls", "end in .csv, .tsv, .parquet or .xlsx")]:
        with pytest.raises(JudgmentsError, match=part):
            Judgments.read(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(JudgmentsError, match="a folder, not a file"):
        Judgments.read(tmp_path / "folder.csv")


def test_bad_parquet(tmp_path: Path) -> None:
    path = tmp_path / "j.parquet"
    refused(path, "judge,a,b,answer\n", "not a Parquet file")
    refused(path, b"PAR1" + b"x" * 100, "damaged Parquet file")
    frame = pd.DataFrame({"judge": ["x"], "a": [1], "b": [2], "answer": ["maybe"]})
    frame.to_parquet(path)
    refused(path, path.read_bytes(), "row 0 (counting from 0), column answer: 'maybe'")


def test_a_parquet_table_with_judges_in_its_index(tmp_path: Path) -> None:
    frame = pd.DataFrame({"judge": ["x"], "a": [1], "b": [2], "answer": ["same"]})
    frame.set_index("judge").to_parquet(tmp_path / "j.parquet")
    assert Judgments.read(tmp_path / "j.parquet").judges == ["x"]


@pytest.mark.parametrize(
    "judge", ["x\ry", "x\r\ny", "\n", "x,y", 'x"y', "'", " x ", "\ufeffx", "NA", "nan", "None", "#"]
)
def test_odd_names_survive_a_csv(tmp_path: Path, judge: str) -> None:
    name = judge if judge.strip() else f"x{judge}"
    Judgments([{"judge": name, "a": 1, "b": 2, "answer": "same"}]).write(tmp_path / "j.csv")
    assert Judgments.read(tmp_path / "j.csv").judges == [name]


def test_positions_are_read_as_positions(tmp_path: Path) -> None:
    Judgments([{"judge": 1, "a": 3, "b": 0, "answer": "same"}], by="position").write(tmp_path / "j.csv")
    read = Judgments.read(tmp_path / "j.csv", by="position", people=np.eye(4))
    np.testing.assert_array_equal(read.people_rows([3, 0]), np.eye(4)[[3, 0]])


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_text("precious")
    judgments = Judgments([{"judge": "x\0y", "a": 1, "b": 2, "answer": "same"}])
    with pytest.raises(JudgmentsError, match="cannot be written as csv: a cell contains the NUL character"):
        judgments.write(path)
    with pytest.raises(JudgmentsError, match="cannot be written"):
        judgments.write(tmp_path / "no" / "folder.parquet")
    mixed = pd.DataFrame({"judge": "x", "a": [1], "b": [2], "answer": "same", "extra": [object()]})
    with pytest.raises(JudgmentsError, match="cannot be written as parquet"):
        Judgments(mixed).write(tmp_path / "j.parquet")
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_reading_names_the_call_that_was_meant() -> None:
    frame = pd.DataFrame({"judge": ["ann"], "a": [1], "b": [2], "answer": ["same"]})
    with pytest.raises(JudgmentsError, match=r"name of a file, not DataFrame; for a table: Judgments\(table\)"):
        Judgments.read(frame)  # type: ignore[arg-type]


@pytest.mark.parametrize("argument", ["columns", "answers"])
def test_maps_that_are_lists_are_refused(argument: str, tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text(f"{HEADER}ann,1,2,same\n")
    with pytest.raises(JudgmentsError, match=rf"{argument}: \['rater'\]; allowed: a mapping such as"):
        Judgments.read(tmp_path / "j.csv", **{argument: ["rater"]})  # type: ignore[arg-type]
