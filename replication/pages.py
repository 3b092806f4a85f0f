"""The study as files: its numbers beside the paper's, one page, figures and tables; and the same as Markdown."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise import templates
from fairwise.numbers import counted
from fairwise.reporting import words
from fairwise.reporting.drawing import Drawing
from fairwise.reporting.page import csv_text, render_page, write_files
from replication import measures
from replication.figures import draw_figures, draw_main_figures
from replication.study import (
    AT_GAMMA,
    GAMMAS,
    LONG,
    METHODS,
    N_ETAS,
    PANEL_METHODS,
    PAPER_BOUND,
    REGRESSION,
    Study,
)

if TYPE_CHECKING:
    from replication.measures import Correlation


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
        package="replication",
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
        "games": measures.excess_by_game(study),
        "games_other_oracles": pd.DataFrame(study.games[study.games["oracle"] != REGRESSION]),
    }
    return _write(target / "section5.html", page, target, figures, tables)


def write_markdown(study: Study, path: str | PathLike[str], *, command: str) -> list[Path]:
    """Write the main results as a Markdown page, its figures and tables in a folder of its name beside it.

    The same study gives the same bytes.
    """
    target = Path(path)
    folder = target.with_suffix("")
    figures, tables = draw_main_figures(study), summary_tables(study)
    page = render_markdown(study, tables, figures, path=target, command=command)
    return _write(target, page, folder, figures, tables)


def _write(
    path: Path, page: str, folder: Path, figures: Mapping[str, Drawing], tables: Mapping[str, pd.DataFrame]
) -> list[Path]:
    contents = {path: page}
    contents |= {folder / f"{name}.svg": drawing.standalone() for name, drawing in figures.items()}
    contents |= {folder / f"{name}.csv": csv_text(table) for name, table in tables.items()}
    return write_files(contents)


def summary_tables(study: Study) -> dict[str, pd.DataFrame]:
    """What both pages state, by the name of its file."""
    tables = {
        "comparison": compare(study),
        "excess_in_parts": measures.excess_in_parts(study),
        "excess_by_rounds": measures.excess_by_rounds(study),
        "excess_by_oracle": measures.excess_by_oracle(study),
        "panel_by_bounds": measures.panel_by_bounds(study),
    }
    return tables if study.groups is None else tables | {"group_rates": measures.group_rates(study)}


_NONE = "—"


_REPORTED = {
    "unconstrained": ("error without any judgment (the plain model)", "0.32"),
    "lowest": ("lowest error found along any curve", _NONE),
    "constraints": ("constraints of all subjects together", "1432"),
    "by_count": ("correlation of the number of constraints with error at γ = 0.3", "0.69"),
    "by_opposing": ("correlation of the number of opposing constraints with error at γ = 0.3", "0.489"),
    "spread": ("range of error among subjects with 14 to 18 constraints", "nearly 0.08 (about 16)"),
    "worst": ("largest error of a subject at γ = 0", "0.5 is called the worst"),
    "difficulty": ("mean difficulty (0: costs nothing, 1: the worst-case line)", "“both extremes”"),
    "panel": (
        "panel: mean violation of its pairs where error comes down to that of the paper's heuristic without judgments",
        "about 0.25",
    ),
    "saved": ("mean error saved against the paper's algorithm, at its realised violation", _NONE),
    "at_or_below": ("points at or below the paper's algorithm, at its realised violation", _NONE),
}
"""What the paper reports, in words and its own numbers, on its students' answers, which were never published."""


def compare(study: Study) -> pd.DataFrame:
    """One row per number: ``number``, ``reported`` by the paper, and a column of texts for each method."""
    table = pd.DataFrame(_REPORTED.values(), columns=["number", "reported"])
    for method in METHODS:
        ours = _ours(study, method)
        table[method] = [ours.get(key, _NONE) for key in _REPORTED]
    return table


def _ours(study: Study, method: str) -> dict[str, str]:
    table = measures.subjects(study)
    table = table[table["method"] == method]
    spread, how_many = measures.spread(table)
    texts = {
        "unconstrained": f"{study.unconstrained[method]:.4f}",
        "lowest": f"{measures.lowest_error(study, method):.4f}",
        "constraints": f"{table['constraints'].sum()}",
        "by_count": _correlation(measures.correlation(table["constraints"], table["error"])),
        "by_opposing": _correlation(measures.correlation(table["opposing"], table["error"])),
        "spread": f"{spread:.3f} ({how_many} subjects)" if how_many > 1 else f"{_NONE} ({how_many} such)",
        "worst": f"{table['error_at_0'].max():.3f} (a constant has {measures.worst_error(study):.3f})",
        "difficulty": f"{table['difficulty'].mean():.2f} "
        f"({table['difficulty'].min():.2f} to {table['difficulty'].max():.2f})",
    }
    if method in PANEL_METHODS:
        texts["panel"] = _panel(study, method)
    if method in ("same_oracle", "default"):
        excess = measures.beside_the_paper(study, method)["excess"]
        texts["saved"] = f"{excess.mean():.3f}"
        texts["at_or_below"] = f"{np.count_nonzero(excess >= -1e-6)} of {len(excess)}"
    return texts


def _panel(study: Study, method: str) -> str:
    curve = measures.panel_curve(study, method)
    at = measures.panel_violation_at(curve, study.unconstrained["paper"])
    where = " with C_λ = C_τ = 1" if method == "paper" else ""
    return f"not reached{where} (lowest error {curve['error'].min():.3f})" if np.isnan(at) else f"{at:.2f}{where}"


def _correlation(r: Correlation) -> str:
    return _NONE if np.isnan(r.r) else f"{r.r:.2f} ({r.low:.2f} to {r.high:.2f})"


def render_markdown(
    study: Study,
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, Drawing],
    *,
    path: Path,
    command: str,
) -> str:
    """The page to be written to ``path``; its figures are expected in a folder of its name beside it."""
    environment = templates.environment("replication", html=False)
    environment.filters |= {"decimal": words.decimal, "counted": counted, "cell": _cell}
    by_rounds = tables["excess_by_rounds"]
    page = environment.get_template("replication.md").render(
        study=study,
        comparison=tables["comparison"].to_dict("records"),
        parts=tables["excess_in_parts"].iloc[0],
        by_rounds=by_rounds.to_dict("records"),
        usual=by_rounds[by_rounds["lambda_bound"] == PAPER_BOUND].sort_values("rounds").to_dict("records"),
        by_oracle=tables["excess_by_oracle"].to_dict("records"),
        panel=panel_rows(tables["panel_by_bounds"]),
        panel_rounds=sorted(tables["panel_by_bounds"]["rounds"].unique()),
        lowest=tables["panel_by_bounds"].sort_values("lowest_error").iloc[0],
        reaching=int(tables["panel_by_bounds"]["violation_at_plain"].notna().sum()),
        n_settings=len(tables["panel_by_bounds"]),
        groups=group_rows(tables.get("group_rates")),
        few=measures.FEW,
        constant=measures.worst_error(study),
        figures=figures,
        at_gamma=AT_GAMMA,
        n_gammas=len(GAMMAS),
        n_etas=N_ETAS,
        long=LONG,
        folder=path.stem,
        link=lambda page: f"[{page}]({page})" if path.with_name(page).exists() else f"the documentation's {page}",
        command=command,
    )
    return "\n\n".join(_wrap(block) for block in page.split("\n\n"))


def group_rows(table: pd.DataFrame | None) -> Sequence[dict[str, object]]:
    """A line for each pair of groups that are large enough, with the correlation by each method."""
    if table is None:
        return []
    return [
        {"group": group, "other": other, **dict(zip(rows["method"], rows["correlation"], strict=True))}
        for (group, other), rows in table[~table["few"]].groupby(["group", "other"], sort=False)
    ]


def _cell(name: object) -> str:
    """Anybody's text inside a table."""
    return escape(words.printable(str(name))).replace("|", "\\|")


def _wrap(block: str) -> str:
    """A paragraph in lines of even length, whatever was filled in; tables, lists, figures and code stay as they are."""
    plain = block[:1].isalnum() or block.startswith("**")
    return fill(block, 120, break_long_words=False, break_on_hyphens=False) if plain else block


def panel_rows(table: pd.DataFrame) -> Sequence[dict[str, object]]:
    """A line for each pair of bounds, with the settings by their number of rounds."""
    return [
        {
            "lambda_bound": bound,
            "tau_bound": tau,
            "by_rounds": {row["rounds"]: row for row in rows.to_dict("records")},
        }
        for (bound, tau), rows in table.groupby(["lambda_bound", "tau_bound"])
    ]
