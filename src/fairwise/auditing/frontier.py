"""Error against gamma or eta: what respecting the judgments costs, for the panel or for each judge alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import pandas as pd

from fairwise.auditing.error_measure import ErrorMeasure
from fairwise.auditing.provenance import COLUMN, Provenance, default_settings
from fairwise.constraints.pairs import answered_rows
from fairwise.constraints.violations import NOT_FOLLOWED, status_counts
from fairwise.errors import InputError, quote
from fairwise.judgments import Judgments
from fairwise.learning.large.table import large_table
from fairwise.learning.problem import NO_BUDGET
from fairwise.learning.settings import FitSettings, warn_of_unused
from fairwise.numbers import EqualNan
from fairwise.tables.columns import to_pandas

if TYPE_CHECKING:
    from fairwise.auditing.error_measure import Model
    from fairwise.results.certificate import Certificate


PANEL = "panel"
RATE, VALUE, SHARE, AMOUNT = "false_positive_rate ", "value ", "share ", "amount "
CERTIFIED = ("error", "max_violation", "mean_violation", "mean_excess", "lower_bound", "kind")
"""What a line of a frontier has of its certificate."""

Value = TypeVar("Value", float, float | None)
_GAMMAS = tuple(float(gamma) for gamma in np.linspace(0.0, 1.0, 11).round(1))


def frontier(
    people: Any,
    outcome: Any,
    judgments: Judgments,
    *,
    gammas: Sequence[float] | None = None,
    etas: Sequence[float | None] | None = None,
    by: Literal["panel", "judge"] = "panel",
    n_jobs: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    groups: Any = None,
    model: Model | None = None,
    start: Model | None = None,
    n_not_followed: int | None = None,
    client: Any = None,
    **settings: object,
) -> pd.DataFrame:
    """The least error found for every gamma and eta asked for.

    Parameters
    ----------
    gammas, etas
        Values to combine; without them gamma from 0 to 1 in steps of 0.1, and eta = 0. An eta of None leaves the
        panel without a budget.
    by
        ``"panel"``: one curve for everyone together; ``"judge"``: one for each judge alone.
    n_jobs
        How many curves at once. The numbers are the same for any.
    checkpoint
        A file that keeps finished curves, and of the panel's own what was found for each point: called again with it
        and the same arguments, the run goes on where it was cut short. Judges' curves have the same numbers then, the
        panel's the same to ``tol``.
    progress
        Called with the number of points done and in all.
    groups
        A group for each person, in the order of people: adds a column ``false_positive_rate GROUP`` for each. Of more
        than two labels ``value GROUP``, how well it is treated, and ``share LABEL GROUP``, how often it gets each; of
        amounts ``value GROUP`` and ``amount GROUP``, its mean.
    model
        Whose settings to take, all but gamma and eta, instead of naming them; fitted or not. With a
        :class:`~fairwise.PairwiseFairRegressor` outcomes are amounts and errors in units of its loss.
    start
        A model of the same people and settings, with whose classifiers the search for each curve begins.
    n_not_followed
        Adds how many judgments are ``followed`` and ``not_followed`` at each point, and in ``judgments`` so many of the
        latter as records, the most expensive first.
    client
        That of a dask cluster: its workers trace the curves, or share the passes over a table that is read in blocks.
    settings
        Those of :class:`~fairwise.PairwiseFairClassifier`, but gamma and eta.

    Returns
    -------
    DataFrame with judge, gamma, eta, error, max_violation, mean_violation, mean_excess (all as realised), lower_bound
    (NaN without a proof), kind, error_low to error_high, a 95 % interval for the error of this very model on other
    people drawn like these (it knows nothing of how much the fit was fitted to these people), and made_from, by which a
    report sees whether the curve is of its own people, judgments and settings. Of amounts also ``mean_error``, the
    loss of what is predicted, the mean of a mixture, where ``error`` is that of amounts drawn from it. With column
    generation each curve falls and is convex by construction (see
    :func:`~fairwise.learning.solvers.dispatch.solve_curve`).
    """
    # To audit scores needs none of this, and scikit-learn and the compiler take a second to load.
    from fairwise.auditing.curves import solve_large, trace

    checked = _checked_settings(settings, model)
    _check(judgments, by, n_jobs, checked)
    points = _checked_points(gammas, etas, checked)
    judges: list[object] = [None] if by == "panel" else judgments.judges
    in_memory = {
        "checkpoint": checkpoint,
        "sample_weight": sample_weight,
        "groups": groups,
        "sensitive_features": sensitive_features,
        "start": start,
    }
    large = large_table(people, outcome)
    if large is not None:
        if of_amounts(checked):
            raise InputError("amounts need the whole table in memory: a frontier over blocks is of labels.")
        for name in (name for name, value in in_memory.items() if value is not None):
            raise InputError(f"{name}= needs the whole table in memory (groups: LargeTable(..., groups='column')).")
        warn_of_unused(checked, judgments)
        rows = solve_large(large, judgments, points, checked, judges, n_not_followed, client)
        return pd.DataFrame(rows).assign(**{COLUMN: str(Provenance.of(None, None, judgments, checked))})
    if not judges:
        raise InputError("there is no judge to trace a curve for.")
    warn_of_unused(checked, judgments, sensitive_features)
    people = to_pandas(people)
    outcome = to_pandas(outcome, people.index if isinstance(people, pd.DataFrame) else None)
    curves = pd.DataFrame(
        trace(
            *(people, outcome, judgments, checked, points, judges),
            n_jobs=n_jobs,
            progress=progress,
            n_not_followed=n_not_followed,
            client=client,
            **in_memory,
        )
    )
    return curves.assign(**{COLUMN: str(Provenance.of(pd.DataFrame(people), outcome, judgments, checked))})


def certified_row(certificate: Certificate) -> dict[str, object]:
    """What a line of a frontier says of a model's error, violations and bound."""
    eta = np.nan if certificate.eta is None else certificate.eta
    return {"gamma": certificate.gamma, "eta": eta} | {name: getattr(certificate, name) for name in CERTIFIED}


def followed_row(prices: pd.DataFrame, n_not_followed: int) -> dict[str, object]:
    """How many judgments a model follows and how many not; of the latter so many, the most expensive first.

    Predicted ones are not among them: nobody gave them.
    """
    prices = answered_rows(prices)
    counts = status_counts(prices["status"])
    not_followed = prices[prices["status"] == NOT_FOLLOWED]
    first = not_followed.sort_values(["price", "violation"], ascending=False, kind="stable").head(n_not_followed)
    listed = first[["judge", "a", "b", "answer", "violation"]].to_dict("records")
    return {"followed": counts["followed"], "not_followed": counts["not_followed"], "judgments": listed}


def _check(judgments: object, by: str, n_jobs: int, settings: dict[str, object]) -> None:
    if not isinstance(judgments, Judgments):
        raise InputError("judgments must be a Judgments object: wrap the table in Judgments(...).")
    if by not in ("panel", "judge"):
        raise InputError(f"by={quote(by)} is not allowed: use 'panel' or 'judge'.")
    if by == "judge" and settings["judge_budgets"] is not None:
        raise InputError("judge_budgets are about a whole panel: use them with by='panel'.")
    if n_jobs == 0:
        raise InputError("n_jobs=0 is not allowed: at least one process must work, or -1 for one per core.")


def of_amounts(settings: Mapping[str, object]) -> bool:
    """Whether these are settings of a regressor, over those of a classifier."""
    return "grid" in settings


def _checked_settings(settings: dict[str, object], model: Model | None) -> dict[str, object]:
    defaults = default_settings()
    if model is not None:
        if settings:
            raise InputError(f"frontier has its settings from model=: leave {next(iter(settings))}= out.")
        if hasattr(model, "check_settings"):
            model.check_settings()
        return {**defaults, **model.get_params(deep=False)}
    unknown = [name for name in settings if name not in defaults]
    if unknown:
        raise InputError(f"frontier has no setting {unknown[0]!r}; beside its own it takes those of the estimator.")
    for name, several in (("gamma", "gammas"), ("eta", "etas")):
        if name in settings:
            raise InputError(f"frontier takes {several}=[...], not {name}=: it is a curve over several values.")
    return {**defaults, **settings}


def _checked_points(
    gammas: Sequence[float] | None, etas: Sequence[float | None] | None, settings: dict[str, object]
) -> list[tuple[float, float | None]]:
    points = []
    at_gammas = _GAMMAS if gammas is None else _values("gammas", gammas)
    for eta in (0.0,) if etas is None else _values("etas", etas):
        for gamma in at_gammas:
            FitSettings.of({**settings, "gamma": gamma, "eta": eta})
            points.append((float(gamma), None if eta is None else float(eta)))
    if not points:
        raise InputError("frontier needs at least one gamma and one eta.")
    return points


def _values(name: str, values: Sequence[Value]) -> tuple[Value, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise InputError(f"{name}={quote(values)} is not allowed: give a list of numbers from 0 to 1.") from None


# A frontier as one curve: which of gamma and eta varies, and where the chosen point is on it.

_NEEDED = ("judge", "gamma", "eta", "error")
_CLOSE = 1e-6
_CERTIFIED = tuple(name for name in CERTIFIED if name != "kind")
_OPTIONAL = (*_CERTIFIED, "error_low", "error_high", "answers_low", "answers_high")

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
        model: Model | None = None,
        chosen: tuple[float, float | None] | None = None,
        n_people: int = 0,
    ) -> Curve:
        """The slice through the chosen point, which is the model's own unless said otherwise.

        Without a model no point is marked, and of a grid of both knobs the slice is the first.
        """
        rows = _checked(frontier)
        own = None if model is None else (float(model.gamma), model.eta)
        chosen = own if chosen is None else chosen
        if model is not None:
            _refuse_impossible(rows[rows["judge"].astype(str) == PANEL], model)
            rows = _insert_own_point(rows, model, n_people)
        is_panel = rows["judge"].astype(str) == PANEL
        main = rows[is_panel] if is_panel.any() else rows
        knob: Knob = "gamma" if main["gamma"].nunique() >= main["eta"].nunique() else "eta"
        other: Knob = "eta" if knob == "gamma" else "gamma"
        first = _float_or_none(main[other].iloc[0])
        at, fixed = (None, first) if chosen is None else chosen if knob == "gamma" else chosen[::-1]
        if not _equal(main[other], fixed).any():
            raise InputError(
                f"frontier: traced at {other} = {_in_words(first)}, but the point to be marked has {other} = "
                f"{_in_words(fixed)}; trace the curve at {other} = {_in_words(fixed)}, or fit the model with {other} = "
                f"{_in_words(first)}"
            )
        # Of a grid of both, only the slice through the chosen point is one curve.
        rows = rows[_equal(rows[other], fixed)]
        rows = rows.sort_values(["judge", knob], kind="stable", key=_text_or_number)
        is_panel = rows["judge"].astype(str) == PANEL
        return cls(
            knob=knob,
            fixed=fixed,
            panel=rows[is_panel].reset_index(drop=True),
            judges=rows[~is_panel].reset_index(drop=True),
            chosen=_chosen_point(rows[is_panel & _equal(rows[knob], at)], at, model if chosen == own else None),
            whole=frontier,
        )

    @property
    def has_interval(self) -> bool:
        """Whether the panel's curve comes with intervals."""
        return bool(self.panel["error_low"].notna().any())

    @property
    def has_answer_band(self) -> bool:
        """Whether it is known how far the panel's curve would move with answers of another day."""
        return bool(self.panel["answers_low"].notna().any())

    @property
    def unbound_error(self) -> float:
        """The least error found where chances may differ by 1, so that no judgment binds; infinite if nowhere."""
        unbound = self.panel.loc[self.panel["gamma"] >= 1, "error"]
        return float(unbound.min()) if len(unbound) else np.inf


def _chosen_point(there: pd.DataFrame, at: float | None, own: Model | None) -> ChosenPoint | None:
    """The model itself if the point is its ``own``, else the curve there; nothing where neither is known."""
    if at is None or not (own is not None or len(there)):
        return None
    columns = ("error", "error_low", "error_high")
    error, low, high = (float(there[name].iloc[0]) if len(there) else np.nan for name in columns)
    return ChosenPoint(at, error if own is None else float(own.certificate_.error), low, high)


def _insert_own_point(rows: pd.DataFrame, model: Model, n_people: int) -> pd.DataFrame:
    """The rows, with the model's own numbers at its own point of the panel's curve."""
    panel = rows["judge"].astype(str) == PANEL
    here = panel & _equal(rows["gamma"], float(model.gamma)) & _equal(rows["eta"], model.eta)
    certificate, moved = model.certificate_, here & ~_equal(rows["error"], model.certificate_.error)
    if rows.loc[moved, "error_low"].notna().any():
        ends = ErrorMeasure.of_model(model).interval(certificate.error, n_people)
        rows.loc[moved, ["error_low", "error_high"]] = ends
    for end in ("answers_low", "answers_high"):
        rows.loc[here, end] += certificate.error - rows.loc[here, "error"]
    for name in _CERTIFIED:
        rows.loc[here, name] = getattr(certificate, name)
    return rows


def _refuse_impossible(panel: pd.DataFrame, model: Model) -> None:
    """Refuse a curve that contradicts what is proved of the model: then it is of other people, or weighted otherwise.

    Where gamma and eta are no larger than the model's, no error is below the model's proven least; where they are no
    smaller, no proven least is above the model's error.
    """
    proved = model.certificate_
    if proved.kind != "exact":
        return
    eta, close = panel["eta"].fillna(NO_BUDGET), _CLOSE * ErrorMeasure.of_model(model).largest
    own = (float(model.gamma), NO_BUDGET if model.eta is None else float(model.eta))
    tighter = (panel["gamma"] <= own[0] + _CLOSE) & (eta <= own[1] + _CLOSE)
    looser = (panel["gamma"] >= own[0] - _CLOSE) & (eta >= own[1] - _CLOSE)
    wrong = tighter & (panel["error"] < proved.lower_bound - close)
    if proved.gap > -close:
        wrong |= looser & (panel["lower_bound"] > proved.error + close)
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


def _float_or_none(value: float | None) -> float | None:
    return None if pd.isna(value) else float(value)


def _in_words(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _text_or_number(column: pd.Series) -> pd.Series:
    return column if pd.api.types.is_numeric_dtype(column.dtype) else column.astype(str)
