"""Examples in docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import fairwise

_HOME = Path(fairwise.__file__).parent
_MODULES = [
    ".".join(("fairwise", *file.relative_to(_HOME).with_suffix("").parts))
    for file in sorted(_HOME.rglob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", _MODULES)
def test_examples_are_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestFinder(exclude_empty=True).find(import_module(name))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for one in found:
        runner.run(one)
    assert runner.failures == 0
    assert runner.tries > 0
