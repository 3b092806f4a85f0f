"""The count of ``make check``: what it counts, and that a limit ends it with 1."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path("scripts", "house.py")


def run(*options: str | Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").write_text("from package.one import Record\n", encoding="utf-8")
    (folder / "one.py").write_text(
        '"""Whoever reads this."""\n\n\nclass Record:\n    """A record.\n\n    It has two lines.\n    """\n\n\n'
        "def helper(known_people, people):\n    # a comment\n    return [known_people,\n            people]\n",
        encoding="utf-8",
    )
    (folder / "two.py").write_text(
        "import os\nfrom package.one import helper\n\n\nclass Record:\n    found = helper(os, 1)\n", encoding="utf-8"
    )
    return folder


def test_every_measure_counts_what_it_says(package: Path) -> None:
    text = run("--package", package)[1]
    counts = {line.split()[0]: int(line.split()[1].replace(",", "")) for line in text.splitlines() if "at most" in line}
    assert counts.pop("syntax_nodes") > 30
    assert counts.pop("lines_of_python_outside_src") > 10_000
    assert counts == {
        "lines": 21,
        "code_lines": 6,  # the class, the function and what it returns on two lines, the class and its value
        "modules": 3,
        "longest_module": 14,
        "functions": 1,
        "classes": 2,
        "class_names_with_two_meanings": 1,
        "modules_with_one_importer": 1,  # one.py by two.py; the package only offers it again
        "short_functions_used_once": 1,
        "docstrings_that_open_with_a_fragment": 1,
        "vague_names": 2,
        "percent_of_public_names_without_docstring": 67,
    }


@pytest.mark.parametrize(
    ("measure", "place"),
    [
        ("vague_names", "package/one.py:11: known_people"),
        ("docstrings_that_open_with_a_fragment", "package/one.py:1: Whoever reads this."),
        ("class_names_with_two_meanings", "package/two.py:5: Record"),
    ],
)
def test_places_are_listed(package: Path, measure: str, place: str) -> None:
    assert f"  {place}" in run(measure, "--package", package)[1].splitlines()


def test_a_module_that_is_too_long_ends_it_with_1(package: Path) -> None:
    (package / "long.py").write_text("\n" * 501, encoding="utf-8")
    code, text = run("--package", package)
    assert code == 1
    assert "longest_module" in [line.split()[0] for line in text.splitlines() if line.endswith("EXCEEDED")]
