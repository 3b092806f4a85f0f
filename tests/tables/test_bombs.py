"""Whatever small file somebody sends: it is read within the limits, or refused in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.bombs import BOMBS, HEADER, ROW, workbook

from fairwise.errors import InputError, TableError
from fairwise.tables import guarded
from fairwise.tables.files import check_parquet, read_parquet, read_table
from fairwise.tables.guarded import GuardedWork, guarding
from fairwise.tables.parsing import send_file

if TYPE_CHECKING:
    from pathlib import Path

_MOST = 2 << 20
"""Bytes that may be unpacked here, so that the tests are quick."""

_READ = ("blank rows.csv", "blank cells.csv", "wide.csv", "quotes.csv")
"""As large as they look, so some of them are taken."""


@pytest.mark.parametrize("name", [name for name in BOMBS if name not in _READ])
def test_bombs_are_refused_by_what_is_counted(name: str, tmp_path: Path) -> None:
    """Also without a process: whatever is unpacked, repeated or padded is counted while it is read."""
    file = tmp_path / name.replace(" ", "_")
    file.write_bytes(BOMBS[name]())
    assert file.stat().st_size <= 1_050_000
    with pytest.raises(
        InputError, match=r"when unpacked|at most|than can be read|another way|document type|comes after|not read"
    ):
        read_table(file, most=_MOST)


def test_blank_cells_count(tmp_path: Path) -> None:
    """They take a few bytes in a file, but time, and memory as others do."""
    (tmp_path / "t.xlsx").write_bytes(workbook(HEADER + f"<row>{'<c/>' * 15_000}</row>" * 4))
    with pytest.raises(InputError, match="when unpacked"):
        read_table(tmp_path / "t.xlsx", most=1 << 20)


def test_text_is_as_large_as_it_becomes(tmp_path: Path) -> None:
    """A study's own reader counts in the same way, and what is small enough is as it was written."""
    file = tmp_path / "people.parquet"
    for texts in (pa.array(["x" * 1000, None, "y"] * 1000), pa.array([b"x", None] * 9, pa.large_binary())):
        table = pa.table({"text": texts, "kind": pa.array(["a", "b"] * (len(texts) // 2)).dictionary_encode()})
        pq.write_table(table, file)
        assert read_parquet(file).equals(table)
    file.write_bytes(BOMBS["one text often.parquet"]())
    with pytest.raises(InputError, match="when unpacked"):
        read_parquet(file)
    with guarding(), pytest.raises(InputError, match="when unpacked"):
        check_parquet(file)


def test_a_file_that_takes_for_ever_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRWISE_READ_SECONDS", "1")
    with pytest.raises(InputError, match=r"f\.csv: cannot be read within 1 seconds and 512 MB"):
        GuardedWork("f.csv", 0, time.sleep, (20,)).run()
    monkeypatch.setenv("FAIRWISE_READ_SECONDS", "0")
    with pytest.raises(InputError, match="FAIRWISE_READ_SECONDS is '0'; allowed"):
        GuardedWork("f.csv", 0, send_file, (str(tmp_path), str(tmp_path), None)).run()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no limit for memory elsewhere")
def test_a_file_that_fills_the_memory_is_given_up() -> None:
    assert GuardedWork("f.csv", 0, len, ("x" * 1000,)).run() == 1000
    with pytest.raises(InputError, match=r"f\.csv: cannot be read within .* MB of memory"):
        GuardedWork("f.csv", 0, bytearray, (600 << 20,)).run()


def test_the_process_says_what_is_wrong_and_ends_by_itself() -> None:
    work = GuardedWork("f.csv", 0, send_file, ("no such file.csv", "", None))
    with pytest.raises(RuntimeError, match="FileNotFoundError"):  # a bug: read_table looks before
        work.run()
    with pytest.raises(TableError, match="row 7"):
        work.result(0, json.dumps({"error": "TableError", "message": "row 7"}).encode())
    with pytest.raises(InputError, match="cannot be read within"):
        work.result(-9, b"")
    question = json.loads(work.question) | {"seconds": 0.2, "work": ["time", "sleep", 3600]}
    done = subprocess.run(work.command, input=json.dumps(question).encode(), timeout=60, check=False)
    assert done.returncode < 0, "nobody has to end it"


def test_lists_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    """How large lists become is known only then, also where no process guards the memory."""
    (tmp_path / "t.parquet").write_bytes(BOMBS["lists.parquet"]())
    with pytest.raises(InputError, match="column x: lists and records are not read; take the column out"):
        read_table(tmp_path / "t.parquet")


def test_guarded_files_are_read_as_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same table, rows and errors; and on systems without processes the same without one."""
    files = {
        "t.xlsx": workbook(HEADER + "<row/>" + ROW),
        "t.csv": b'id,x\n1,2\n\n3,"4\n"\n',
        "bad.csv": b"id,x\n1,2\n3\n",
        "bad.xlsx": workbook(HEADER + "<row><c><v>1</v></c><c/><c><v>1</v></c></row>"),
        "empty.csv": b"id,x\n",
        "twice.csv": b"id,id\n1,2\n",
    }
    made = pa.table({"id": ["a", "b"], "x": pa.array([1, None]), "kind": pa.array(["u", "v"]).dictionary_encode()})
    pq.write_table(made, tmp_path / "t.parquet")
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr("fairwise.tables.files._SMALL_TEXT", 0)

    def read(name: str) -> str:
        try:
            table, source = read_table(tmp_path / name)
        except InputError as error:
            return str(error)
        return f"{table.to_dict('list')} {table.dtypes.to_dict()} {source.place(len(table) - 1)}"

    here = {name: read(name) for name in (*files, "t.parquet")}
    with guarding():
        assert {name: read(name) for name in here} == here
        monkeypatch.setattr(guarded, "HAS_PROCESSES", False)
        assert {name: read(name) for name in here} == here
    assert "line 4" in here["t.csv"]
    assert "row 3" in here["t.xlsx"]
