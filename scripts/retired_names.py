"""Say where modules, classes and functions have a name that was retired: ``python scripts/retired_names.py src``.

The names are in ``retired_names.txt`` beside this file, with what to say instead.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_suffix(".txt")


class Retired(NamedTuple):
    kind: str
    name: str
    instead: str

    def is_in(self, kind: str, name: str) -> bool:
        if self.kind == "word":
            return f"_{self.name}_" in f"_{name}_"
        return (self.kind, self.name) == (kind, name)


def read_list(file: Path = LIST) -> list[Retired]:
    """What is retired, and what stays all the same."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [Retired(*line.split(maxsplit=2)) for line in lines]


def find_retired(folder: Path, retired: list[Retired]) -> Iterator[str]:
    """Where such names are in the Python files of a folder, in words."""
    stays = {one.name for one in retired if one.kind == "except"}
    for file in sorted(folder.rglob("*.py")):
        for line, kind, name in names_of(file, folder):
            for one in retired:
                if name not in stays and one.is_in(kind, name):
                    yield f"{file}:{line}: the {kind} {name}: {one.name} is retired; instead: {one.instead}"


def names_of(file: Path, folder: Path) -> Iterator[tuple[int, str, str]]:
    """Lines, kinds and names of a module and of all that it defines; a folder counts where its ``__init__`` is."""
    path = file.relative_to(folder)
    yield 1, "module", path.parent.name if file.stem == "__init__" else file.stem
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            yield node.lineno, "class", node.name
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, "function", node.name


if __name__ == "__main__":
    found = [words for folder in sys.argv[1:] for words in find_retired(Path(folder), read_list())]
    sys.exit("\n".join(found) or 0)
