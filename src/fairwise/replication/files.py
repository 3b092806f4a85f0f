"""The study as files: one page, its figures, its numbers; and the same as Markdown, for a site or a repository."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fairwise.errors import InputError
from fairwise.replication import excess, measures
from fairwise.replication.comparison import compare
from fairwise.replication.figures import draw_figures, draw_main_figures
from fairwise.replication.markdown import render_markdown
from fairwise.replication.sensitivity import REGRESSION
from fairwise.reporting.page import render_page

if TYPE_CHECKING:
    from os import PathLike

    from fairwise.replication.study import Study

SECTIONS = (
    ("numbers", "The numbers, side by side"),
    ("trajectories", "(a) How the paper’s algorithm gets there"),
    ("dynamics", "Why it ends above the default solver"),
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
    figures, tables = draw_figures(study), summary_tables(study)
    page = render_page(
        "section5.html",
        "section5",
        SECTIONS,
        simulated=study.simulated,
        package="fairwise.replication",
        study=study,
        figures=figures,
        tables=tables,
        few=measures.FEW,
        command=command,
        seconds=seconds,
        seed=seed,
        versions={"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
    )
    tables |= {
        "curves": study.curves,
        "panel": study.panel,
        "panel_games": study.panel_games,
        "trajectories": study.trajectories,
        "subjects": measures.subjects(study),
        "games": excess.excess_by_game(study),
        "games_other_oracles": pd.DataFrame(study.games[study.games["oracle"] != REGRESSION]),
    }
    contents = {target / "section5.html": page}
    contents |= {target / f"{name}.svg": drawing.standalone() for name, drawing in figures.items()}
    contents |= {target / f"{name}.csv": _csv(table) for name, table in tables.items()}
    return _written(contents)


def write_markdown(study: Study, path: str | PathLike[str], *, command: str) -> list[Path]:
    """Write the main results as a Markdown page, its figures and tables in a folder of its name beside it.

    The same study gives the same bytes.
    """
    target = Path(path)
    folder = target.with_suffix("")
    figures, tables = draw_main_figures(study), summary_tables(study)
    page = render_markdown(study, tables, figures, path=target, command=command)
    contents = {target: page}
    contents |= {folder / f"{name}.svg": drawing.standalone() for name, drawing in figures.items()}
    contents |= {folder / f"{name}.csv": _csv(table) for name, table in tables.items()}
    return _written(contents)


def summary_tables(study: Study) -> dict[str, pd.DataFrame]:
    """What both pages state, by the name of its file."""
    tables = {
        "comparison": compare(study),
        "excess_in_parts": excess.excess_in_parts(study),
        "excess_by_rounds": excess.excess_by_rounds(study),
        "excess_by_oracle": excess.excess_by_oracle(study),
        "panel_by_bounds": excess.panel_by_bounds(study),
    }
    return tables if study.groups is None else tables | {"group_rates": measures.group_rates(study)}


def _csv(table: pd.DataFrame) -> str:
    return str(table.to_csv(index=False, lineterminator="\n"))


def _written(contents: dict[Path, str]) -> list[Path]:
    try:
        for path, text in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    except OSError as error:
        where = error.filename or next(iter(contents))
        raise InputError(f"{where}: cannot be written: {error.strerror or error}") from None
    return list(contents)
