"""An audit's tables: one line per answer, judge, pair, value of a judge attribute, or group of people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.auditing.intervals import AVERAGES, ratio, sums_by_unit
from fairwise.constraints.violations import ASKS_NOTHING, FOLLOWED, excess, status_of
from fairwise.judgments.answer import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.intervals import AnswerMeans, Interval
    from fairwise.constraints.pairs import FloatArray, IntArray, PairRows

    Intervals = Callable[[AnswerMeans], Interval]


@dataclass(frozen=True, eq=False)
class MeasuredAnswers:
    """The answers that count, each with what the scores do to it.

    Attributes
    ----------
    rows
        The ordered pairs in force.
    table
        One line per answer: judge, a, b, answer, weight, row, favorable_a, favorable_b (probabilities of the
        favourable label), violation, excess, status; where some are predicted, also which.
    favorable
        ``(m,)`` probability of the favourable label of the people in some row.
    pair
        ``(N,)`` number of each answer's unordered pair, from 0.
    judge
        ``(N,)`` number of each answer's judge, from 0.
    same, asks, followed
        ``(N,)`` whether each answer is `same`, whether it asks for anything, and whether what it asks for is done.
    gamma
        Difference allowed on every pair.
    """

    rows: PairRows
    table: pd.DataFrame
    favorable: FloatArray
    pair: IntArray
    judge: IntArray
    same: NDArray[np.bool_]
    asks: NDArray[np.bool_]
    followed: NDArray[np.bool_]
    gamma: float

    @property
    def asked(self) -> NDArray[np.bool_]:
        """``(N,)`` whether somebody was asked and gave the answer; otherwise it was predicted."""
        return ~self.rows.predicted

    @property
    def row_excess(self) -> FloatArray:
        """``(K,)`` excess of every ordered pair in force."""
        return excess(self.rows.violations(self.favorable), self.gamma)


def measure(rows: PairRows, favorable: pd.Series, gamma: float) -> MeasuredAnswers:
    """Confront the answers with ``favorable``, the probability of the favourable label of everyone in them."""
    of_person = favorable.to_numpy(dtype=float)
    in_rows = of_person[favorable.index.get_indexer(rows.people)]
    table = rows.answers[["judge", "a", "b", "answer", "weight", "row"]].reset_index(drop=True)
    answer = table["answer"].to_numpy(dtype=object)
    for side in ("a", "b"):
        table[f"favorable_{side}"] = of_person[favorable.index.get_indexer(pd.Index(table[side]))]
    if rows.predicted.any():
        table["predicted"] = rows.predicted
    violation = rows.answer_violations(in_rows)
    status = status_of(answer, violation, gamma)
    table["violation"] = violation
    table["excess"] = excess(violation, gamma)
    table["status"] = status
    return MeasuredAnswers(
        rows=rows,
        table=table,
        favorable=in_rows,
        pair=pd.factorize(rows.answer_pair)[0].astype(np.intp),
        judge=pd.factorize(table["judge"], sort=True)[0].astype(np.intp),
        same=np.asarray(answer == Answer.SAME, dtype=bool),
        asks=np.asarray(status != ASKS_NOTHING, dtype=bool),
        followed=np.asarray(status == FOLLOWED, dtype=bool),
        gamma=gamma,
    )


def judge_table(measured: MeasuredAnswers, averages: AnswerMeans, judges: list[object]) -> pd.DataFrame:
    """One line per judge, also those of whose answers none counts; counts are of answers that were given.

    ``mean_excess`` is what a judge's own budget bounds: the excess over the ordered pairs they put in force, divided by
    twice the pairs shown to them, all counted once.
    """
    table, rows = measured.table, measured.rows
    judge = pd.Index(judges).get_indexer(pd.Index(table["judge"])).astype(np.intp)
    n, given = len(judges), measured.asked
    n_pairs = _count_distinct(judge, measured.pair, n)
    own = pd.unique(judge[rows.entry_answer] * max(len(rows), 1) + rows.entry_row)
    total_excess = np.bincount(own // max(len(rows), 1), measured.row_excess[own % max(len(rows), 1)], minlength=n)
    means = ratio(sums_by_unit(averages.numerator, judge, n), sums_by_unit(averages.denominator, judge, n))
    return pd.DataFrame(
        {
            "judge": judges,
            "answers": np.bincount(judge[given], minlength=n),
            "pairs": _count_distinct(judge[given], measured.pair[given], n),
            "in_force": np.bincount(judge[given & measured.asks], minlength=n),
            "followed": np.bincount(judge[given & measured.followed], minlength=n),
            "not_followed": np.bincount(judge[given & measured.asks & ~measured.followed], minlength=n),
            "max_violation": _largest_by_unit(table["violation"].to_numpy(dtype=float), judge, n),
            "mean_violation": np.nan_to_num(means[:, AVERAGES.index("mean_violation")]),
            "mean_excess": np.nan_to_num(ratio(total_excess.astype(float), 2.0 * n_pairs.astype(float))),
            "share_followed": means[:, AVERAGES.index("share_followed")],
        }
    )


def pair_table(measured: MeasuredAnswers) -> pd.DataFrame:
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
        is_kind = np.where(turned, answer == kind.swapped(), answer == kind)
        lines[str(kind)] = np.bincount(pair[is_kind], minlength=n)
    lines["judges"] = _count_distinct(pair, measured.judge, n)
    lines["weight"] = np.bincount(pair, table["weight"], minlength=n)
    lines["violation"] = _largest_by_unit(table["violation"].to_numpy(dtype=float), pair, n)
    lines["excess"] = excess(lines["violation"], measured.gamma)
    return lines.sort_values("violation", ascending=False, kind="stable", ignore_index=True)


def attribute_table(
    measured: MeasuredAnswers, averages: AnswerMeans, attributes: pd.DataFrame, interval: Intervals
) -> pd.DataFrame:
    """One line per value of each judge attribute: the audit of those judges alone. A missing value is one too."""
    lines = []
    judge_row = attributes.index.get_indexer(pd.Index(measured.table["judge"]))
    for attribute in attributes.columns:
        codes, values = pd.factorize(attributes[attribute])
        for code in [*range(len(values)), *([-1] if (codes < 0).any() else [])]:
            chosen = (codes == code)[judge_row]
            value = values[code] if code >= 0 else None
            lines.append(
                {"attribute": attribute, "value": value} | _attribute_row(measured, averages, chosen, interval)
            )
    return pd.DataFrame(lines, columns=pd.Index(["attribute", "value", *_PART]))


_PART = [
    *("judges", "answers", "in_force", "max_violation"),
    *(f"{name}{end}" for name in AVERAGES for end in ("", "_low", "_high", "_covered")),
]


def _attribute_row(
    measured: MeasuredAnswers, averages: AnswerMeans, chosen: NDArray[np.bool_], interval: Intervals
) -> dict[str, float | int]:
    part = averages.where(chosen)
    line: dict[str, float | int] = {
        "judges": part.n_judges,
        "answers": int((chosen & measured.asked).sum()),
        "in_force": int((chosen & measured.asked & measured.asks).sum()),
        "max_violation": float(measured.table["violation"].to_numpy(dtype=float)[chosen].max(initial=0.0)),
    }
    ends = interval(part)
    for (name, value), low, high, covered in zip(
        part.reported().items(), ends.low, ends.high, ends.covered, strict=True
    ):
        line |= {name: value, f"{name}_low": float(low), f"{name}_high": float(high), f"{name}_covered": bool(covered)}
    return line


def _largest_by_unit(values: FloatArray, unit: IntArray, n: int) -> FloatArray:
    largest = np.zeros(n)
    np.maximum.at(largest, unit, values)
    return largest


def _count_distinct(unit: IntArray, other: IntArray, n: int) -> IntArray:
    """Return the number of different ``other`` that each unit meets."""
    width = int(other.max(initial=0)) + 1
    return np.bincount(pd.unique(unit * width + other) // width, minlength=n).astype(np.intp)


def group_tables(
    scores: FloatArray, groups: pd.DataFrame, outcome: FloatArray | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rates of each group, and the largest difference between two groups, for each column of ``groups``.

    Rates are those of draws with these probabilities ``p`` of label 1, whatever label is favourable: ``selection_rate``
    is the mean of ``p``; with outcomes ``y``, ``error`` is the mean of ``|y - p|``, ``false_positive_rate`` the mean of
    ``p`` where ``y = 0`` and ``true_positive_rate`` where ``y = 1`` (NaN where nobody is).
    """
    from fairlearn.metrics import MetricFrame, count  # with scikit-learn, a second to load

    rates_of: dict[str, Callable[..., float]] = {"people": count, "selection_rate": lambda _, p: _mean(p)}
    if outcome is not None:
        rates_of |= {
            "base_rate": lambda y, _: _mean(y),
            "error": lambda y, p: _mean(np.abs(np.asarray(y) - np.asarray(p))),
            "false_positive_rate": lambda y, p: _mean(np.asarray(p)[np.asarray(y) == 0]),
            "true_positive_rate": lambda y, p: _mean(np.asarray(p)[np.asarray(y) == 1]),
        }
    rates, gaps = [], []
    for name in groups.columns:
        frame = MetricFrame(
            metrics=rates_of,
            y_true=np.zeros_like(scores) if outcome is None else outcome,
            y_pred=scores,
            sensitive_features=groups[name].astype(str).to_numpy(),
        )
        of_group = frame.by_group.rename_axis("group").reset_index()
        of_group["people"] = of_group["people"].astype(int)
        rates.append(of_group.assign(attribute=name))
        gaps.append(frame.difference().drop("people").rename(name))
    rate_table = pd.concat(rates, ignore_index=True)
    gap_table = pd.DataFrame(gaps).rename_axis("attribute").reset_index()
    return rate_table[["attribute", "group", *rates_of]], gap_table


def _mean(values: FloatArray) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
