"""The main results as a Markdown page: one template, filled with the same tables and figures as the other page."""

from __future__ import annotations

from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

from fairwise.replication import measures
from fairwise.replication.sensitivity import AT_GAMMA, LONG, PAPER_BOUND
from fairwise.replication.study import GAMMAS, N_ETAS
from fairwise.reporting import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from fairwise.replication.study import Study
    from fairwise.reporting.figures.drawing import Drawing


def render_markdown(
    study: Study,
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, Drawing],
    *,
    path: Path,
    command: str,
) -> str:
    """The page to be written to ``path``; its figures are expected in a folder of its name beside it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fairwise.replication"),
        autoescape=False,  # noqa: S701 - no HTML: numbers and words of our own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"decimal": words.decimal, "counted": words.counted, "cell": _cell}
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
    return "\n\n".join(_wrapped(block) for block in page.split("\n\n"))


def group_rows(table: pd.DataFrame | None) -> Sequence[dict[str, Any]]:
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


def _wrapped(block: str) -> str:
    """A paragraph in lines of even length, whatever was filled in; tables, lists, figures and code stay as they are."""
    plain = block[:1].isalnum() or block.startswith("**")
    return fill(block, 120, break_long_words=False, break_on_hyphens=False) if plain else block


def panel_rows(table: pd.DataFrame) -> Sequence[dict[str, Any]]:
    """A line for each pair of bounds, with the settings by their number of rounds."""
    return [
        {
            "lambda_bound": bound,
            "tau_bound": tau,
            "by_rounds": {row["rounds"]: row for row in rows.to_dict("records")},
        }
        for (bound, tau), rows in table.groupby(["lambda_bound", "tau_bound"])
    ]
