"""The frontier as one curve: which of the two knobs varies, and where the chosen point is on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from fairwise.equal_nan import EqualNan
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.learning.estimator import PairwiseFairClassifier

PANEL = "panel"
_NEEDED = ("judge", "gamma", "eta", "error")
_OPTIONAL = ("max_violation", "mean_violation", "mean_excess", "lower_bound", "error_low", "error_high")

Knob = Literal["gamma", "eta"]


@dataclass(frozen=True, eq=False)
class ChosenPoint(EqualNan):
    """Where the model stands: the value of the knob that varies, its error, and the interval if one is known.

    ``curve_error`` is that of the curve at this place, NaN where it has no point; a heuristic search may differ.
    """

    at: float
    error: float
    curve_error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Curve:
    """What the judgments cost as one knob varies.

    ``panel`` has the rows of the whole panel, ``judges`` those of single judges, each sorted by ``knob``; either may be
    empty. ``fixed`` is the value of the other knob, None where it is off or differs. ``whole`` is the table as given.
    """

    knob: Knob
    fixed: float | None
    panel: pd.DataFrame
    judges: pd.DataFrame
    chosen: ChosenPoint | None
    whole: pd.DataFrame

    @classmethod
    def of(
        cls, frontier: pd.DataFrame, model: PairwiseFairClassifier, chosen: tuple[float, float | None] | None
    ) -> Curve:
        rows = _checked(frontier)
        own = (float(model.gamma), model.eta)
        gamma, eta = own if chosen is None else chosen
        is_panel = rows["judge"].astype(str) == PANEL
        main = rows[is_panel] if is_panel.any() else rows
        knob: Knob = "gamma" if main["gamma"].nunique() >= main["eta"].nunique() else "eta"
        other: Knob = "eta" if knob == "gamma" else "gamma"
        fixed = {"gamma": gamma, "eta": eta}[other]
        if not _equal(main[other], fixed).any():
            fixed = _plain(main[other].iloc[0])
        # Of a grid of both, only the slice through the chosen point is one curve.
        rows = rows[_equal(rows[other], fixed)]
        rows = rows.sort_values(["judge", knob], kind="stable", key=_text_or_number)
        is_panel = rows["judge"].astype(str) == PANEL
        at = gamma if knob == "gamma" else eta
        return cls(
            knob=knob,
            fixed=fixed,
            panel=rows[is_panel].reset_index(drop=True),
            judges=rows[~is_panel].reset_index(drop=True),
            chosen=_chosen(rows[is_panel & _equal(rows[knob], at)], at, (gamma, eta) == own, model),
            whole=frontier,
        )

    @property
    def has_interval(self) -> bool:
        """Whether the panel's curve comes with intervals."""
        return bool(self.panel["error_low"].notna().any())

    @property
    def unbound_error(self) -> float:
        """The least error found where chances may differ by 1, so that no judgment binds; infinite if nowhere."""
        unbound = self.panel.loc[self.panel["gamma"] >= 1, "error"]
        return float(unbound.min()) if len(unbound) else np.inf


def _chosen(there: pd.DataFrame, at: float | None, is_own: bool, model: PairwiseFairClassifier) -> ChosenPoint | None:
    """The model itself if the point is its own, else the curve there; nothing where neither is known."""
    if at is None or not (is_own or len(there)):
        return None
    columns = ("error", "error_low", "error_high")
    on_curve, low, high = (float(there[name].iloc[0]) if len(there) else np.nan for name in columns)
    return ChosenPoint(at, float(model.certificate_.error) if is_own else on_curve, on_curve, low, high)


def _checked(frontier: pd.DataFrame) -> pd.DataFrame:
    missing = [name for name in _NEEDED if name not in frontier.columns]
    if missing:
        raise InputError(f"frontier: missing column {', '.join(missing)}; needed: {', '.join(_NEEDED)}")
    if frontier.empty:
        raise InputError("frontier: no rows")
    rows = frontier.copy()
    for name in (*_NEEDED[1:], *_OPTIONAL):
        rows[name] = pd.to_numeric(rows[name], errors="coerce") if name in rows else np.nan
    return rows


def _equal(column: pd.Series, value: float | None) -> pd.Series[bool]:
    if value is None or np.isnan(value):
        return column.isna()
    return pd.Series(np.isclose(column, value), index=column.index)


def _plain(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _text_or_number(column: pd.Series) -> pd.Series:
    return column if pd.api.types.is_numeric_dtype(column.dtype) else column.astype(str)
