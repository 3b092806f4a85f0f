"""The study as files: one page, its figures, its numbers."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from fairwise.errors import InputError
from fairwise.replication import measures
from fairwise.replication.comparison import compare
from fairwise.replication.figures import draw_all
from fairwise.reporting.page import render_page

if TYPE_CHECKING:
    from os import PathLike

    from fairwise.replication.study import Study

SECTIONS = (
    ("numbers", "The numbers, side by side"),
    ("trajectories", "(a) How the paper’s algorithm gets there"),
    ("curves", "(b) What each subject’s judgments cost"),
    ("subjects", "(c), (d) Who is hard to respect"),
    ("rates", "(e) Gaps between groups"),
    ("panel", "The panel as a whole"),
    ("again", "How to repeat this"),
)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy")


def write_study(study: Study, folder: str | PathLike[str], *, command: str, seconds: float, seed: int) -> list[Path]:
    """Write ``section5.html``, every figure (SVG) and every number (CSV) to a folder; returns the files."""
    target = Path(folder)
    figures, comparison = draw_all(study), compare(study)
    page = render_page(
        "section5.html",
        "section5",
        SECTIONS,
        simulated=study.simulated,
        package="fairwise.replication",
        study=study,
        figures=figures,
        comparison=comparison,
        few=measures.FEW,
        saved=float(measures.excess_over_default(study)["excess"].mean()),
        command=command,
        seconds=seconds,
        seed=seed,
        versions={"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
    )
    tables = {
        "comparison": comparison,
        "curves": study.curves,
        "panel": study.panel,
        "trajectories": study.trajectories,
        "subjects": measures.subjects(study),
        "against_the_paper": measures.excess_over_default(study),
    }
    if study.groups is not None:
        for method in study.unconstrained:
            tables[f"group_rates_{method}"] = measures.rate_correlations(study, method)
    contents = {target / "section5.html": page}
    contents |= {target / f"{name}.svg": drawing.standalone() for name, drawing in figures.items()}
    contents |= {
        target / f"{name}.csv": table.to_csv(index=False, lineterminator="\n") for name, table in tables.items()
    }
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, text in contents.items():
            path.write_bytes(text.encode())
    except OSError as error:
        raise InputError(f"{error.filename or target}: cannot be written: {error.strerror or error}") from None
    return list(contents)
