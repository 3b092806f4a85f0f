"""The paper's numbers beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.replication import measures
from fairwise.replication.study import METHODS, PANEL_METHODS

if TYPE_CHECKING:
    from fairwise.replication.measures import Correlation
    from fairwise.replication.study import Study

_NONE = "—"


@dataclass(frozen=True)
class Number:
    """Something the paper reports (in its words, on its students' answers, which were never published)."""

    key: str
    words: str
    reported: str


NUMBERS = (
    Number("unconstrained", "error without any judgment (the plain model)", "0.32"),
    Number("lowest", "lowest error found along any curve", _NONE),
    Number("constraints", "constraints of all subjects together", "1432"),
    Number("by_count", "correlation of the number of constraints with error at γ = 0.3", "0.69"),
    Number("by_opposing", "correlation of the number of opposing constraints with error at γ = 0.3", "0.489"),
    Number("spread", "range of error among subjects with 14 to 18 constraints", "nearly 0.08 (about 16)"),
    Number("worst", "largest error of a subject at γ = 0", "0.5 is called the worst"),
    Number("difficulty", "mean difficulty (0: costs nothing, 1: the worst-case line)", "“both extremes”"),
    Number(
        "panel",
        "panel: mean violation of its pairs where error comes down to that of the paper's heuristic without judgments",
        "about 0.25",
    ),
    Number("saved", "mean error saved against the paper's algorithm, at its realised violation", _NONE),
    Number("at_or_below", "points at or below the paper's algorithm, at its realised violation", _NONE),
)


def compare(study: Study) -> pd.DataFrame:
    """One row per number: ``number``, ``reported`` by the paper, and a column of texts for each method."""
    table = pd.DataFrame(
        {"number": [number.words for number in NUMBERS], "reported": [number.reported for number in NUMBERS]}
    )
    for method in METHODS:
        ours = _ours(study, method)
        table[method] = [ours.get(number.key, _NONE) for number in NUMBERS]
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


def _correlation(found: Correlation) -> str:
    return _NONE if np.isnan(found.r) else f"{found.r:.2f} ({found.low:.2f} to {found.high:.2f})"
