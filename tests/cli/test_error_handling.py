"""How commands end: exit codes, tracebacks only on request, Ctrl-C, and what real processes print."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairwise.auditing
from fairwise.cli.app import app
from fairwise.cli.terminal import write_output
from fairwise.errors import InputError
from fairwise.tables.output import jsonable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result

FAIRWISE = [sys.executable, "-c", "from fairwise.cli import main; main()"]
FITTING = "now it fits"
TELLS_WHEN_IT_FITS = f"""
import signal, sys
from fairwise import PairwiseFairClassifier
from fairwise.cli import main

fit = PairwiseFairClassifier.fit

def told(*arguments, **named):
    print({FITTING!r}, file=sys.stderr, flush=True)
    return fit(*arguments, **named)

PairwiseFairClassifier.fit = told
signal.signal(signal.SIGINT, signal.default_int_handler)  # what began in the background ignores Ctrl-C
main()
"""


def process(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FAIRWISE, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    "error", [RuntimeError("wires\ncrossed"), KeyError("x"), MemoryError("too much"), KeyboardInterrupt()]
)
def test_what_nobody_expected_is_one_line(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(fairwise.auditing, "plan", broken)
    interrupted = isinstance(error, KeyboardInterrupt)
    said = run("plan", code=130 if interrupted else 1).stderr
    assert len(said.splitlines()) == 1
    if interrupted:
        assert said == "fairwise: interrupted\n"
    elif isinstance(error, MemoryError):
        assert said == "fairwise: not enough memory: too much\n"
    else:
        assert "this is a bug; run with --debug" in said
        assert type(error).__name__ in said


def test_debug_shows_where(study: Study) -> None:
    study.judgments.write_text("judge,a,b,answer\n", encoding="utf-8")
    for words in (["check", *study.files, "--debug"], ["--debug", "check", *study.files]):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 1
        assert "Traceback" in result.stderr
        assert "tables/files.py" in result.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["fit"], "Missing option '--people'. Try: fairwise fit --help"),
        (["--nonsense"], "No such option: --nonsense. Try: fairwise --help"),
        (["chek"], "No such command 'chek'. Did you mean 'check'? Try: fairwise --help"),
        (["plan", "extra"], "extra"),
    ],
)
def test_wrong_usage_is_one_line_and_2(run: Callable[..., Result], words: list[str], part: str) -> None:
    said = run(*words, code=2).stderr
    assert len(said.splitlines()) == 1
    assert part in said


def test_no_words_at_all_show_the_help(run: Callable[..., Result]) -> None:
    result = run(code=2)
    assert "Usage: fairwise" in result.stdout + result.stderr


@pytest.mark.slow
def test_real_processes(study: Study) -> None:
    good = process("check", *study.files, "--json")
    assert good.returncode == 0
    assert json.loads(good.stdout)["people"] == 60
    assert good.stderr == ""
    study.judgments.write_bytes(b"\x00")
    bad = process("check", *study.files)
    assert bad.returncode == 1
    assert bad.stdout == ""
    assert bad.stderr == f"fairwise: {study.judgments}, line 1: a binary file, not CSV text\n"
    assert "Traceback" in process("check", *study.files, "--debug").stderr
    assert process("check").returncode == 2


@pytest.mark.slow
def test_ctrl_c_ends_with_one_line(study: Study) -> None:
    options = [*study.files, "--favorable-label", "1", "--solver", "no-regret", "--rounds", "900000", "--no-held-out"]
    command = [sys.executable, "-c", TELLS_WHEN_IT_FITS, "fit", *options, "--out", str(study.folder / "m.skops")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        while FITTING not in (line := running.stderr.readline()):
            assert line, "it ended before"
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=300)
    assert running.returncode == 130
    assert stdout == ""
    assert stderr.strip().splitlines()[-1] == "fairwise: interrupted"
    assert "Traceback" not in stderr
    assert sorted(path.name for path in study.folder.iterdir()) == ["judgments.csv", "people.csv"]


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from fairwise.cli.app import app; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pandas", "sklearn", "scipy", "pyarrow", "matplotlib", "fairlearn", "rich.progress"} & {
        *loaded
    }


def test_completion_knows_commands_and_options() -> None:
    for shell in ("bash", "zsh", "fish"):
        script = process("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
        assert script.returncode == 0
        assert "fairwise" in script.stdout or "COMPLETE" in script.stdout


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "t.csv"
    target.write_text("precious", encoding="utf-8")

    def half(draft: Path) -> None:
        draft.write_text("ha", encoding="utf-8")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"t.csv: cannot be written: No space left on device"):
        write_output(target, half)
    assert target.read_text(encoding="utf-8") == "precious"
    assert list(tmp_path.iterdir()) == [target]


def test_plain_values() -> None:
    value = {"n": np.int64(3), "x": float("nan"), "t": pd.DataFrame({"a": [1.0, np.inf]}), "l": (True, None)}
    assert jsonable(value) == {"n": 3, "x": None, "t": [{"a": 1.0}, {"a": None}], "l": [True, None]}
