"""A report as files: the page, and on request its figures and its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fairwise.errors import InputError
from fairwise.reporting.figures import draw_figures
from fairwise.reporting.page import render

if TYPE_CHECKING:
    from os import PathLike

    from fairwise.reporting.findings import Findings


def write_report(
    findings: Findings, path: str | PathLike[str], figures: str | PathLike[str] | None = None
) -> list[Path]:
    """Write the report as one HTML file; with ``figures``, its figures (SVG) and numbers (CSV) to that folder, too.

    The same findings give the same bytes. Returns the files written.
    """
    drawings = draw_figures(findings)
    contents = {Path(path): render(findings, drawings)}
    if figures is not None:
        folder = Path(figures)
        contents |= {folder / f"{name}.svg": drawing.standalone() for name, drawing in drawings.items()}
        contents |= {folder / f"{name}.csv": _csv(table) for name, table in tables(findings).items()}
    try:
        for file, text in contents.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8", errors="replace"))
    except OSError as error:
        raise InputError(f"{error.filename or path}: cannot be written: {error.strerror or error}") from None
    return list(contents)


def tables(findings: Findings) -> dict[str, pd.DataFrame]:
    """Every number of the report, one table a file; those that there are."""
    audit = findings.audit
    spread = {"price": findings.lorenz_price, "excess": findings.lorenz_excess}
    found = {
        "overall": audit.overall.T.rename_axis("measure").reset_index(),
        "judges": audit.by_judge.merge(
            findings.price_by_judge[["price"]], how="left", left_on="judge", right_index=True
        ),
        "judge_attributes": audit.by_attribute,
        "pairs": audit.by_pair,
        "judgments": findings.prices,
        "prices_by_person": findings.price_by_person.reset_index(),
        "lorenz": pd.concat([curve.assign(of=name) for name, curve in spread.items()], ignore_index=True),
        "groups": audit.by_group,
        "group_gaps": audit.group_gaps,
        "frontier": None if findings.curve is None else findings.curve.whole,
    }
    return {name: table for name, table in found.items() if table is not None and len(table)}


def _csv(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, lineterminator="\n")
