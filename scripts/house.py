"""Measure how large the source is and how plainly it is named, and fail where a limit of ``house.toml`` is exceeded.

python scripts/house.py               # every measure beside its limit
python scripts/house.py vague_names   # also where the names are that count
python scripts/house.py --write       # lower the falling limits to what is measured
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = Path(__file__).with_suffix(".toml")
SHORT_FUNCTION = 8
NOT_CODE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Place(NamedTuple):
    """Something that a measure counts, and where it is."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass
class Names:
    """Every name of the source: where it gets its meaning, and how often it is used."""

    defined: list[Place] = field(default_factory=list)
    functions: list[tuple[Place, ast.FunctionDef | ast.AsyncFunctionDef]] = field(default_factory=list)
    classes: dict[str, list[Place]] = field(default_factory=lambda: defaultdict(list))
    without_docstring: list[Place] = field(default_factory=list)
    uses: Counter[str] = field(default_factory=Counter)

    def collect(self, file: Path, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    self.uses[name] += 1
                case ast.Name(id=name) | ast.arg(arg=name):
                    self.defined.append(Place(file, node.lineno, name))
                case ast.Attribute(attr=name):
                    self.uses[name] += 1
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    place = Place(file, node.lineno, node.name)
                    self.defined.append(place)
                    if isinstance(node, ast.ClassDef):
                        self.classes[node.name].append(place)
                    else:
                        self.functions.append((place, node))
                    if not node.name.startswith("_") and ast.get_docstring(node) is None:
                        self.without_docstring.append(place)


def measure(package: Path, fragments: re.Pattern[str], vague: frozenset[str]) -> dict[str, float | list[Place]]:
    """Return each measure of the package in the folder: a number, or the places that count towards it."""
    names, lines, code, nodes, opening = Names(), [], 0, 0, []
    importers: dict[str, set[str]] = defaultdict(set)
    modules = {module_name(file, package): file for file in sorted(package.rglob("*.py"))}
    for module, file in modules.items():
        short, tree = file.relative_to(package.parent), ast.parse(file.read_text(encoding="utf-8"))
        lines.append(Place(short, 1, f"{len(file.read_text(encoding='utf-8').splitlines())} lines"))
        nodes += sum(1 for _ in ast.walk(tree))
        code += count_code_lines(file, tree)
        names.collect(short, tree)
        opening += [Place(short, line, text) for line, text in docstrings(tree) if fragments.match(text)]
        if file.stem != "__init__":  # a package that offers a name again does not use it
            for imported in imports(tree):
                importers[imported].add(module)
    once = [
        place
        for place, node in names.functions
        if (node.end_lineno or 0) - node.lineno < SHORT_FUNCTION
        and names.uses[node.name] == 1
        and not node.decorator_list
        and not node.name.startswith("__")
    ]
    public = sum(not place.text.startswith("_") for place, _ in names.functions) + sum(
        len(places) for name, places in names.classes.items() if not name.startswith("_")
    )
    return {
        "lines": sum(int(place.text.split()[0]) for place in lines),
        "code_lines": code,
        "syntax_nodes": nodes,
        "modules": len(modules),
        "longest_module": max(int(place.text.split()[0]) for place in lines),
        "functions": len(names.functions),
        "classes": sum(map(len, names.classes.values())),
        "class_names_with_two_meanings": [places[-1] for places in names.classes.values() if len(places) > 1],
        "modules_with_one_importer": [
            Place(file.relative_to(package.parent), 1, module)
            for module, file in modules.items()
            if file.stem != "__init__" and len(importers[module] - {module}) == 1
        ],
        "short_functions_used_once": once,
        "docstrings_that_open_with_a_fragment": opening,
        "vague_names": [place for place in names.defined if vague & set(place.text.lower().strip("_").split("_"))],
        "percent_of_public_names_without_docstring": 100 * len(names.without_docstring) / max(public, 1),
        "lines_of_python_outside_src": sum(
            len(file.read_text(encoding="utf-8").splitlines())
            for folder in ROOT.iterdir()
            if folder.is_dir() and not folder.name.startswith(".") and folder.name != "src"
            for file in folder.rglob("*.py")
            if not {"_build", "gallery"} & set(file.parts)  # made by `make docs`
        ),
    }


def module_name(file: Path, package: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Give the line and the first line of text of each string that stands for itself."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text.strip().partition("\n")[0]


def count_code_lines(file: Path, tree: ast.Module) -> int:
    """Count the lines that hold code: no comment, docstring, import or blank line."""
    code: set[int] = set()
    with tokenize.open(file) as source:
        for token in tokenize.generate_tokens(source.readline):
            if token.type not in NOT_CODE:
                code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def imports(tree: ast.Module) -> Iterator[str]:
    """Give the modules that a module imports, and the names that it takes from them; ours are all absolute."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.ImportFrom(module=str(module), names=aliases):
                yield module
                yield from (f"{module}.{alias.name}" for alias in aliases)


def main() -> int:
    """Print the measures; return 1 where one exceeds its limit."""
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    limits = settings["limits"] | settings["falling"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("show", nargs="?", choices=list(limits), help="a measure whose places are listed")
    parser.add_argument("--write", action="store_true", help="lower the falling limits to what is measured")
    parser.add_argument("--package", type=Path, default=ROOT / "src" / "fairwise")
    options = parser.parse_args()
    fragments = re.compile(rf"(?:{'|'.join(settings['words']['fragments'])})\b")
    measures = measure(options.package.resolve(), fragments, frozenset(settings["words"]["vague"]))
    exceeded = 0
    text = SETTINGS.read_text(encoding="utf-8")
    for name, value in measures.items():
        number = len(value) if isinstance(value, list) else value
        exceeded += number > limits[name]
        print(f"{name:44}{number:10,.0f}  at most {limits[name]:8,}{'  EXCEEDED' if number > limits[name] else ''}")
        if name == options.show and isinstance(value, list):
            print(*(f"  {place}" for place in value), sep="\n")
        if options.write and name in settings["falling"]:
            step = 10 ** max(len(str(int(number))) - 3, 0)  # a little room, or every small change would raise a limit
            text = re.sub(rf"(?m)^{name} = .*$", f"{name} = {min(-(-number // step) * step, limits[name]):.0f}", text)
    if options.write:
        SETTINGS.write_text(text, encoding="utf-8")
    return int(exceeded > 0)


if __name__ == "__main__":
    sys.exit(main())
