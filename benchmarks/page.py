"""``docs/benchmarks.md`` and its figures, all of it from what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import rival_figure, rivals
from benchmarks.row import table

if TYPE_CHECKING:
    from benchmarks.runs import Run
    from fairwise.reporting.drawing import Drawing

_DOCS = Path(__file__).parents[1] / "docs"
_OPENING = """# Benchmarks

What must be reached and what was measured, as `make bench-full` wrote it; run it again to replace this page and its
figures. `make bench` measures the shorter rows and writes nothing; `python -m benchmarks NAME` repeats one. The people
are those of COMPAS unless said otherwise, and every panel is simulated: no answers of real people are used. Each row
runs in a process of its own; its peak memory is that of the largest process it took, making the data included.
"""
_RIVALS = """## Side by side with rivals

The same problem solved by both in one run, measured by the same function: medians over a row's problems, ours / theirs.
Error and violation are those of the randomised classifier on the training people, the held-out error is that of the
same settings on people not fitted to, where that was measured. What each rival is, and where it
solves a problem that is not quite ours, is told in its row below.
"""


def write(runs: dict[str, Run], on: str, folder: Path = _DOCS) -> None:
    """The page, and its figures beside it."""
    text, figures = document(runs, on)
    (folder / "figures").mkdir(exist_ok=True)
    for figure in figures:
        (folder / "figures" / f"{figure.name}.svg").write_text(figure.standalone(), encoding="utf-8")
    (folder / "benchmarks.md").write_text(text, encoding="utf-8")


def document(runs: dict[str, Run], on: str) -> tuple[str, list[Drawing]]:
    lines = [
        [f"[{name}](#{name})", run.row.what, run.row.bar, run.row.measured, run.row.verdict, run.gib]
        for name, run in runs.items()
    ]
    parts = [_OPENING.strip(), on, table(["row", "what", "bar", "measured", "reached", "peak memory"], lines)]
    figures = [figure for run in runs.values() for figure in run.row.figures]
    duels = {name: run.row.duels for name, run in runs.items() if run.row.duels}
    if duels:
        together = rival_figure.figure(duels)
        figures.append(together)
        parts += [_RIVALS.strip(), rivals.summary(duels), _shown(together)]
    parts += [_section(name, run) for name, run in runs.items()]
    return "\n\n".join(parts) + "\n", figures


def notes(run: Run) -> str:
    """What a row tells beyond its line in the table."""
    duels = rivals.duel_table(run.row.duels) if run.row.duels else ""
    return "\n\n".join(part for part in (run.row.notes, duels) if part)


def _section(name: str, run: Run) -> str:
    return "\n\n".join([f"## {name}", notes(run), *map(_shown, run.row.figures)])


def _shown(figure: Drawing) -> str:
    return f"![{figure.title}](figures/{figure.name}.svg)\n\n{figure.title}. {figure.description}"
