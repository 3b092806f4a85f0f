"""What ``pip install fairwise`` brings is enough to learn and to audit; whatever else is missing is named."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from fairwise import loading
from fairwise.errors import MissingExtraError

ROOT = Path(__file__).parents[1]
HIDE = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name in {hidden!r} else found(name)
"""
LEARNING = """
import fairwise, fairwise.auditing, fairwise.datasets, fairwise.displays, fairwise.simulation, fairwise.integrations
from fairwise import *
"""


def without_extras(code: str) -> subprocess.CompletedProcess[str]:
    """Run code where nothing is installed but what the learner needs."""
    # typer brings pydantic and rich brings markdown_it, whoever asks for them
    hidden = {module for modules in loading.EXTRAS.values() for module in modules} - {"pydantic", "markdown_it"}
    program = HIDE.format(hidden=sorted(hidden)) + code
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)


def test_importing_for_learning_and_auditing_needs_no_extra() -> None:
    run = without_extras(f"{LEARNING}from fairwise.cli import main")
    assert run.returncode == 0, run.stderr


@pytest.mark.slow
def test_learning_and_auditing_need_no_extra(tmp_path: Path) -> None:
    table, judgments, model = ROOT / "examples/hiring.csv", ROOT / "examples/hiring_judgments.csv", tmp_path / "m.skops"
    fit = [
        "fit",
        "--people",
        table,
        "--judgments",
        judgments,
        "--outcome",
        "hired_and_stayed",
        "--id",
        "id",
        "--max-depth",
        "1",
        "--favorable-label",
        "1",
        "--out",
        model,
    ]
    run = without_extras(
        f"{LEARNING}from fairwise.cli import main\nsys.argv = ['fairwise', *{[str(word) for word in fit]!r}]\nmain()"
    )
    assert run.returncode == 0, run.stderr
    assert model.exists()


@pytest.mark.parametrize(
    ("words", "extra"),
    [("serve here", "study"), ("bots here", "bots"), ("demo", "bots")],
)
def test_a_command_names_the_extra_that_it_needs(words: str, extra: str) -> None:
    run = without_extras(f"from fairwise.cli import main\nsys.argv = ['fairwise', *{words.split()!r}]\nmain()")
    assert run.returncode == 1
    assert run.stderr.startswith("fairwise: ")
    assert f"pip install 'fairwise[{extra}]'" in run.stderr
    assert run.stderr.count("\n") == 1


def test_what_mlflow_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.delitem(sys.modules, "fairwise.integrations.mlflow", raising=False)
    with pytest.raises(MissingExtraError, match="needs mlflow, which no extra of Fairwise brings: pip install mlflow"):
        import_module("fairwise.integrations.mlflow")


def test_the_message_counts_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "EXTRAS", {"some": ("sys", "no_such_a", "no_such_b", "no_such_c")})
    with pytest.raises(MissingExtraError, match=r"A thing needs the extra some \(no_such_a, no_such_b and 1 more"):
        loading.require("some", "A thing")
    monkeypatch.setattr(loading, "EXTRAS", {"some": ("sys",)})
    loading.require("some", "A thing")


def test_every_extra_is_offered() -> None:
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(loading.EXTRAS) | {"all", "dev"} == set(offered["optional-dependencies"])
    assert len(offered["dependencies"]) <= 15


def test_the_readme_names_every_extra() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(
        re.findall(r"^\| `(\w+)` \|", readme.partition("| extra | adds |")[2].partition("\n\n")[0], re.MULTILINE)
    )
    assert named == set(loading.EXTRAS) | {"all"}
