"""Files that are named on the command line are read in a process of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.bombs import BOMBS, HEADER, ROW, workbook
from typer.testing import CliRunner

from fairwise.cli.app import app
from fairwise.tables.guarded import GuardedWork

if TYPE_CHECKING:
    from pathlib import Path


def test_files_of_commands_are_read_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    works = list[str]()
    run = GuardedWork.run

    def noted(work: GuardedWork) -> object:
        works.append(work.file)
        return run(work)

    monkeypatch.setattr(GuardedWork, "run", noted)
    contents = {"good.xlsx": workbook(HEADER + ROW), "bad.parquet": BOMBS["one text often.parquet"]()}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        command = ["check", "--people", str(tmp_path / name), "--id", "id", "--judgments", str(tmp_path / name)]
        reply = CliRunner().invoke(app, command)
        assert reply.exit_code == 1, reply.output
        assert ("MB when unpacked" in reply.output) == (name == "bad.parquet"), reply.output
    assert {file.rpartition("/")[2] for file in works} == set(contents)
