"""An audit's tables: one line per judge, per pair, per value of a judge attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.auditing.estimates import AVERAGES, ratio
from fairwise.constraints.violations import excess
from fairwise.judgments.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fairwise.auditing.estimates import Averages
    from fairwise.auditing.intervals import Interval
    from fairwise.auditing.violations import Measured
    from fairwise.constraints.pairs import FloatArray, IntArray

    Intervals = Callable[[Averages], Interval]


def judge_table(measured: Measured, averages: Averages, judges: list[object]) -> pd.DataFrame:
    """One line per judge, also those of whose answers none counts.

    ``mean_excess`` is what a judge's own budget bounds: the excess over the ordered pairs they put in force, divided by
    twice the pairs shown to them, all counted once.
    """
    table, rows = measured.table, measured.rows
    judge = pd.Index(judges).get_indexer(pd.Index(table["judge"])).astype(np.intp)
    n = len(judges)
    shown = _distinct(judge, measured.pair, n)
    own = pd.unique(judge[rows.entry_answer] * max(len(rows), 1) + rows.entry_row)
    total_excess = np.bincount(own // max(len(rows), 1), measured.row_excess[own % max(len(rows), 1)], minlength=n)
    means = ratio(_by(averages.numerator, judge, n), _by(averages.denominator, judge, n))
    return pd.DataFrame(
        {
            "judge": judges,
            "answers": np.bincount(judge, minlength=n),
            "pairs": shown,
            "in_force": np.bincount(judge[measured.asks], minlength=n),
            "honoured": np.bincount(judge[measured.honoured], minlength=n),
            "given_up": np.bincount(judge[measured.asks & ~measured.honoured], minlength=n),
            "max_violation": _largest(table["violation"].to_numpy(dtype=float), judge, n),
            "mean_violation": np.nan_to_num(means[:, AVERAGES.index("mean_violation")]),
            "mean_excess": np.nan_to_num(ratio(total_excess.astype(float), 2.0 * shown.astype(float))),
            "share_kept": means[:, AVERAGES.index("share_kept")],
        }
    )


def pair_table(measured: Measured) -> pd.DataFrame:
    """One line per unordered pair, the worst first; a and b as in the first answer about them."""
    table, pair = measured.table, measured.pair
    n = int(pair.max(initial=-1)) + 1
    first = np.empty(n, dtype=np.intp)
    first[pair[::-1]] = np.arange(len(pair))[::-1]
    shown_a = table["a"].to_numpy()
    turned = shown_a != shown_a[first][pair]
    answer = table["answer"].to_numpy(dtype=object)
    lines = table.loc[first, ["a", "b", "favorable_a", "favorable_b"]].reset_index(drop=True)
    for kind in Answer:
        said = np.where(turned, answer == kind.swapped(), answer == kind)
        lines[str(kind)] = np.bincount(pair[said], minlength=n)
    lines["judges"] = _distinct(pair, measured.judge, n)
    lines["weight"] = np.bincount(pair, table["weight"], minlength=n)
    lines["violation"] = _largest(table["violation"].to_numpy(dtype=float), pair, n)
    lines["excess"] = excess(lines["violation"], measured.gamma)
    return lines.sort_values("violation", ascending=False, kind="stable", ignore_index=True)


def attribute_table(
    measured: Measured, averages: Averages, attributes: pd.DataFrame, interval: Intervals
) -> pd.DataFrame:
    """One line per value of each judge attribute: the audit of those judges alone. A missing value is one too."""
    lines = []
    judge_row = attributes.index.get_indexer(pd.Index(measured.table["judge"]))
    for attribute in attributes.columns:
        codes, values = pd.factorize(attributes[attribute])
        for code in [*range(len(values)), *([-1] if (codes < 0).any() else [])]:
            mine = (codes == code)[judge_row]
            value = values[code] if code >= 0 else None
            lines.append({"attribute": attribute, "value": value} | _part(measured, averages, mine, interval))
    return pd.DataFrame(lines, columns=pd.Index(["attribute", "value", *_PART]))


_PART = [
    *("judges", "answers", "in_force", "max_violation"),
    *(f"{name}{end}" for name in AVERAGES for end in ("", "_low", "_high", "_covered")),
]


def _part(
    measured: Measured, averages: Averages, chosen: NDArray[np.bool_], interval: Intervals
) -> dict[str, float | int]:
    part = averages.where(chosen)
    line: dict[str, float | int] = {
        "judges": part.n_judges,
        "answers": int(chosen.sum()),
        "in_force": int((chosen & measured.asks).sum()),
        "max_violation": float(measured.table["violation"].to_numpy(dtype=float)[chosen].max(initial=0.0)),
    }
    ends = interval(part)
    for (name, value), low, high, covered in zip(
        part.reported().items(), ends.low, ends.high, ends.covered, strict=True
    ):
        line |= {name: value, f"{name}_low": float(low), f"{name}_high": float(high), f"{name}_covered": bool(covered)}
    return line


def _by(values: FloatArray, unit: IntArray, n: int) -> FloatArray:
    return np.stack([np.bincount(unit, column, minlength=n) for column in values.T], axis=1)


def _largest(values: FloatArray, unit: IntArray, n: int) -> FloatArray:
    largest = np.zeros(n)
    np.maximum.at(largest, unit, values)
    return largest


def _distinct(unit: IntArray, other: IntArray, n: int) -> IntArray:
    """How many different ``other`` each unit meets."""
    width = int(other.max(initial=0)) + 1
    return np.bincount(pd.unique(unit * width + other) // width, minlength=n).astype(np.intp)
