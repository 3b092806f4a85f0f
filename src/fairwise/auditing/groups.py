"""The group view of an audit, through fairlearn's MetricFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.constraints.pairs import FloatArray


def group_tables(
    scores: FloatArray, groups: pd.DataFrame, outcome: FloatArray | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rates of each group, and the largest difference between two groups, for each column of ``groups``.

    Rates are those of draws with these probabilities ``p`` of label 1, whatever label is favourable: ``selection_rate``
    is the mean of ``p``; with outcomes ``y``, ``error`` is the mean of ``|y - p|``, ``false_positive_rate`` the mean of
    ``p`` where ``y = 0`` and ``true_positive_rate`` where ``y = 1`` (NaN where nobody is).
    """
    from fairlearn.metrics import MetricFrame, count

    chosen: dict[str, Callable[..., float]] = {"people": count, "selection_rate": _selection_rate}
    if outcome is not None:
        chosen |= {
            "base_rate": _base_rate,
            "error": _error,
            "false_positive_rate": _false_positive_rate,
            "true_positive_rate": _true_positive_rate,
        }
    rates, gaps = [], []
    for name in groups.columns:
        frame = MetricFrame(
            metrics=chosen,
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
    return rate_table[["attribute", "group", *chosen]], gap_table


def _selection_rate(y_true: FloatArray, y_pred: FloatArray) -> float:
    del y_true
    return float(np.mean(y_pred))


def _base_rate(y_true: FloatArray, y_pred: FloatArray) -> float:
    del y_pred
    return float(np.mean(y_true))


def _error(y_true: FloatArray, y_pred: FloatArray) -> float:
    return float(np.mean(np.abs(np.asarray(y_true) - np.asarray(y_pred))))


def _false_positive_rate(y_true: FloatArray, y_pred: FloatArray) -> float:
    return _mean_where(np.asarray(y_pred), np.asarray(y_true) == 0)


def _true_positive_rate(y_true: FloatArray, y_pred: FloatArray) -> float:
    return _mean_where(np.asarray(y_pred), np.asarray(y_true) == 1)


def _mean_where(values: FloatArray, chosen: np.ndarray) -> float:
    return float(values[chosen].mean()) if chosen.any() else float("nan")
