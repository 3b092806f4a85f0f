"""``python -m benchmarks [NAME ...]``: all rows, written to ``docs/benchmarks.md``; or some, only printed."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks import machine
from benchmarks.row import table

if TYPE_CHECKING:
    from benchmarks.row import Row

NAMES = (
    "dynamics-speed",
    "panel-speed",
    "numpy-loop",
    "against-dynamics",
    "linear-curve",
    "linear-frontier",
    "exact-trees",
    "scaling",
    "growth",
    "large-table",
    "dask-workers",
    "startup",
    "oracle-regret",
    "group-constraints",
    "panel-curve",
    "audit-million",
    "large-panel",
    "pair-page",
    "answers-sqlite",
    "answers-postgresql",
    "answers-while-fitting",
    "starters",
    "active-design",
    "active-pages",
    "bundle",
    "console-pages",
)
_DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
_OPENING = """# Benchmarks

What the learner must reach and what was measured, as `make bench` wrote it; run it again to replace this page. The
people are those of COMPAS unless said otherwise, and every panel is simulated: no answers of real people are used.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}; default: all")
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(NAMES))
        return
    unknown = [name for name in arguments.names if name not in NAMES]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are {', '.join(NAMES)}")
    on = machine.description()
    rows = {name: measure(name) for name in arguments.names or NAMES}
    if not arguments.names:
        _DOCUMENT.write_text(document(rows, on), encoding="utf-8")
        print(f"wrote {_DOCUMENT.relative_to(Path.cwd())}" if _DOCUMENT.is_relative_to(Path.cwd()) else "written")


def measure(name: str) -> Row:
    start = perf_counter()
    row: Row = import_module(f"benchmarks.{name.replace('-', '_')}").run()
    print(f"{name} ({perf_counter() - start:.0f} s)\n  bar       {row.bar}\n  measured  {row.measured}")
    print(f"  reached   {row.verdict}\n\n{row.notes}\n", flush=True)
    return row


def document(rows: dict[str, Row], on: str) -> str:
    lines = [[row.what, row.bar, row.measured, row.verdict] for row in rows.values()]
    notes = "\n\n".join(f"## {name}\n\n{row.notes}" for name, row in rows.items())
    return f"{_OPENING}\n{on}\n\n{table(['what', 'bar', 'measured', 'reached'], lines)}\n\n{notes}\n"


if __name__ == "__main__":
    main()
