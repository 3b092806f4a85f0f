"""Files are written whole or not at all, what is private is so from its first byte, and any reader takes the JSON."""

import json
import logging
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairwise.tables.output import create_private, json_text, make_private, write_whole


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.mark.parametrize("lasting", [False, True])
def test_an_error_leaves_what_was_there(tmp_path: Path, lasting: bool) -> None:
    file = tmp_path / "kept"
    write_whole(file, lambda draft: draft.write_text("whole"), lasting=lasting)

    def fail(draft: Path) -> None:
        draft.write_text("half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_whole(file, fail, lasting=lasting)
    assert [other.name for other in tmp_path.iterdir()] == ["kept"]
    assert file.read_text() == "whole"


def test_a_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    modes = []

    def write(draft: Path) -> None:
        modes.append(mode(draft))
        draft.write_text("secret")

    write_whole(tmp_path / "secret", write, private=True)
    assert [*modes, mode(tmp_path / "secret")] == [0o600, 0o600]


def test_a_database_is_made_private_and_one_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "study.sqlite"
    create_private(file)
    assert (mode(file), file.read_bytes()) == (0o600, b"")
    file.write_bytes(b"rows")
    create_private(file)
    assert file.read_bytes() == b"rows"


def test_files_that_others_could_open_are_closed_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    open_, closed, missing = (tmp_path / name for name in ("open", "closed", "missing"))
    for file, rights in ((open_, 0o644), (closed, 0o600)):
        file.touch()
        file.chmod(rights)
    with caplog.at_level(logging.WARNING):
        make_private([open_, closed, missing])
    assert mode(open_) == mode(closed) == 0o600
    assert [record.getMessage() for record in caplog.records] == [
        f"{open_} could be opened by others on this machine; from now on by its owner only"
    ]


def test_what_json_has_no_word_for_becomes_null_text_or_a_list() -> None:
    value = {
        "nothing": np.nan,
        "endless": float("inf"),
        "count": np.int64(3),
        7: (np.float64(0.5), None, True),
        "table": pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
        "day": pd.Timestamp("2026-03-09"),
    }
    assert json.loads(json_text(value)) == {
        "nothing": None,
        "endless": None,
        "count": 3,
        "7": [0.5, None, True],
        "table": [{"a": 1, "b": "x"}, {"a": 2, "b": None}],
        "day": "2026-03-09 00:00:00",
    }


def test_letters_of_any_script_stay_as_they_are() -> None:
    assert json_text("後藤") == '"後藤"'
