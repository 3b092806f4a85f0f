"""Names that were retired do not come back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path("scripts", "retired_names.py")


def check(folder: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_the_code_has_none() -> None:
    assert check(Path("src")) == (0, "")


def test_each_kind_is_found_and_told_what_to_say_instead(tmp_path: Path) -> None:
    (tmp_path / "patience.py").write_text("class GivenUp:\n    def n_given_up(self): ...\n", encoding="utf-8")
    (tmp_path / "folding").mkdir()
    (tmp_path / "folding" / "__init__.py").write_text("async def said(): ...\n", encoding="utf-8")
    code, words = check(tmp_path)
    assert code == 1
    for place in (
        "patience.py:1: the module patience: patience is retired; instead: timeouts",
        "patience.py:1: the class GivenUp: GivenUp is retired; instead: NotFollowed",
        "patience.py:2: the function n_given_up: given_up is retired; instead: not_followed",
        "__init__.py:1: the module folding: folding is retired; instead: deduplication",
        "__init__.py:1: the function said: said is retired; instead: the noun of what was said",
    ):
        assert place in words


def test_names_that_only_look_alike_are_let_pass(tmp_path: Path) -> None:
    """A word is a part of a name between underscores; a retired module may be the name of a function."""
    (tmp_path / "timeouts.py").write_text(
        "def patience(): ...\ndef given_upper(): ...\ndef honoured_by_judge(): ...\n", encoding="utf-8"
    )
    assert check(tmp_path) == (0, "")
