"""That loops are compiled is announced once after each install, by whichever process is first."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fairwise.learning import compiler

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
from types import SimpleNamespace
from fairwise.learning import compiler
def loop(): ...
loop.__module__ = "fairwise.learning.loops"
compiler._Announcement().on_start(SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=loop)}))
"""


@pytest.mark.slow
def test_several_processes_announce_it_once(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    heard = [
        subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [compiler.COMPILING in one.stderr for one in heard] == [True, False]


def test_an_update_is_announced_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiler.numba.config, "CACHE_DIR", str(tmp_path))
    with caplog.at_level(logging.WARNING, logger="fairwise"):
        for number in ["1", "1", "2", "2", "2", "3"]:
            monkeypatch.setattr(compiler, "version", {"fairwise": number}.get)
            compiler._announce.cache_clear()
            compiler._announce()
    assert [record.getMessage() for record in caplog.records] == [compiler.COMPILING] * 3
    assert len(list(tmp_path.iterdir())) == 1
