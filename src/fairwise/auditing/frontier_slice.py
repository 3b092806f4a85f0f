"""A frontier as one curve: which of gamma and eta varies, and where the chosen point is on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from fairwise.auditing.frontier import CERTIFIED, PANEL
from fairwise.equal_nan import EqualNan
from fairwise.errors import InputError
from fairwise.judgments.reliability import wilson
from fairwise.learning.problem import NO_BUDGET

if TYPE_CHECKING:
    from fairwise.learning.estimator import PairwiseFairClassifier

_NEEDED = ("judge", "gamma", "eta", "error")
_CONFIDENCE = 0.95
_CLOSE = 1e-6
_CERTIFIED = tuple(name for name in CERTIFIED if name != "kind")
_OPTIONAL = (*_CERTIFIED, "error_low", "error_high")

Knob = Literal["gamma", "eta"]


@dataclass(frozen=True, eq=False)
class ChosenPoint(EqualNan):
    """Where the model stands: the value of the knob that varies, its error, and the interval if one is known."""

    at: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Curve:
    """What the judgments cost as one knob varies.

    At the model's own gamma and eta the numbers are those of the model itself: other mixtures may be as good, and
    differ in everything else.

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
        cls,
        frontier: pd.DataFrame,
        model: PairwiseFairClassifier,
        chosen: tuple[float, float | None] | None,
        n_people: int,
    ) -> Curve:
        rows = _checked(frontier)
        _refuse_impossible(rows[rows["judge"].astype(str) == PANEL], model)
        rows = _insert_own_point(rows, model, n_people)
        own = (float(model.gamma), model.eta)
        gamma, eta = own if chosen is None else chosen
        is_panel = rows["judge"].astype(str) == PANEL
        main = rows[is_panel] if is_panel.any() else rows
        knob: Knob = "gamma" if main["gamma"].nunique() >= main["eta"].nunique() else "eta"
        other: Knob = "eta" if knob == "gamma" else "gamma"
        fixed = {"gamma": gamma, "eta": eta}[other]
        if not _equal(main[other], fixed).any():
            traced = _in_words(_plain(main[other].iloc[0]))
            raise InputError(
                f"frontier: traced at {other} = {traced}, but the point to be marked has {other} = {_in_words(fixed)}; "
                f"trace the curve at {other} = {_in_words(fixed)}, or fit the model with {other} = {traced}"
            )
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
            chosen=_chosen_point(rows[is_panel & _equal(rows[knob], at)], at, (gamma, eta) == own, model),
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


def _chosen_point(
    there: pd.DataFrame, at: float | None, is_own: bool, model: PairwiseFairClassifier
) -> ChosenPoint | None:
    """The model itself if the point is its own, else the curve there; nothing where neither is known."""
    if at is None or not (is_own or len(there)):
        return None
    columns = ("error", "error_low", "error_high")
    error, low, high = (float(there[name].iloc[0]) if len(there) else np.nan for name in columns)
    return ChosenPoint(at, float(model.certificate_.error) if is_own else error, low, high)


def _insert_own_point(rows: pd.DataFrame, model: PairwiseFairClassifier, n_people: int) -> pd.DataFrame:
    """The rows, with the model's own numbers at its own point of the panel's curve."""
    panel = rows["judge"].astype(str) == PANEL
    here = panel & _equal(rows["gamma"], float(model.gamma)) & _equal(rows["eta"], model.eta)
    certificate, moved = model.certificate_, here & ~_equal(rows["error"], model.certificate_.error)
    if rows.loc[moved, "error_low"].notna().any():
        low, high = wilson(certificate.error * n_people, n_people, _CONFIDENCE)
        rows.loc[moved, ["error_low", "error_high"]] = float(low), float(high)
    for name in _CERTIFIED:
        rows.loc[here, name] = getattr(certificate, name)
    return rows


def _refuse_impossible(panel: pd.DataFrame, model: PairwiseFairClassifier) -> None:
    """Refuse a curve that contradicts what is proved of the model: then it is of other people, or weighted otherwise.

    Where gamma and eta are no larger than the model's, no error is below the model's proven least; where they are no
    smaller, no proven least is above the model's error.
    """
    proved = model.certificate_
    if proved.kind != "exact":
        return
    eta = panel["eta"].fillna(NO_BUDGET)
    own = (float(model.gamma), NO_BUDGET if model.eta is None else float(model.eta))
    tighter = (panel["gamma"] <= own[0] + _CLOSE) & (eta <= own[1] + _CLOSE)
    looser = (panel["gamma"] >= own[0] - _CLOSE) & (eta >= own[1] - _CLOSE)
    wrong = tighter & (panel["error"] < proved.lower_bound - _CLOSE)
    if proved.gap > -_CLOSE:
        wrong |= looser & (panel["lower_bound"] > proved.error + _CLOSE)
    for gamma, at, error in panel.loc[wrong, ["gamma", "eta", "error"]].itertuples(index=False, name=None):
        where = f"gamma = {gamma:g}" + ("" if np.isnan(at) else f", eta = {at:g}")
        raise InputError(
            f"frontier: an error of {error:.4f} at {where} cannot be of the people and judgments of this model, whose "
            f"error is {proved.error:.4f}, proved to be at least {proved.lower_bound:.4f}, at gamma = {own[0]:g}, "
            f"eta = {_in_words(model.eta)}; trace the curve again as the model was fitted"
        )


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


def _plain(value: float | None) -> float | None:
    return None if pd.isna(value) else float(value)


def _in_words(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _text_or_number(column: pd.Series) -> pd.Series:
    return column if pd.api.types.is_numeric_dtype(column.dtype) else column.astype(str)
