"""Checks of the estimator's settings, each with what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from fairwise.errors import InputError, shown

ESTIMATORS = ("linear", "linear-regression", "tree")
SOLVERS = ("column-generation", "no-regret")
WEIGHTINGS = ("answers", "panel")
MAX_DEPTH = 5
MAX_MULTIPLIER = 1e9  # of a bound on multipliers: beyond, errors drown in the prices of pairs
DEEPEST_PROVEN = 4  # deeper trees are searched for, not proven


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse the first setting that is not allowed, by name and value."""
    estimator = settings["estimator"]
    if isinstance(estimator, str):
        _one_of(settings, "estimator", ESTIMATORS, " or a scikit-learn classifier or Pipeline")
    elif not _classifies(estimator):
        raise InputError(
            f"estimator={estimator!r} cannot be fitted as a classifier. Allowed: {_listed(ESTIMATORS)}, or a "
            "scikit-learn classifier or Pipeline (an instance with fit, predict and get_params)."
        )
    _one_of(settings, "solver", SOLVERS)
    _one_of(settings, "weighting", WEIGHTINGS)
    _number(settings, "gamma", 0, 1)
    if settings["eta"] is not None:
        _number(settings, "eta", 0, 1, " or None for no panel budget")
    _budgets(settings["judge_budgets"])
    _label_values(settings["label_values"], settings["favorable_label"])
    _whole(settings, "max_depth", 1, MAX_DEPTH)
    if settings["max_thresholds"] is not None:
        _whole(settings, "max_thresholds", 1)
    _whole(settings, "n_rounds", 1)
    _positive(settings, "lambda_bound", MAX_MULTIPLIER)
    _positive(settings, "tau_bound", MAX_MULTIPLIER)
    _positive(settings, "tol")
    if settings["max_iter"] is not None:
        _whole(settings, "max_iter", 1)
    if settings["time_limit"] is not None:
        _positive(settings, "time_limit")
    if settings["nu"] is not None:
        _positive(settings, "nu")


def _classifies(estimator: Any) -> bool:
    """Whether it is a scikit-learn classifier, or a Pipeline that ends in one."""
    from sklearn.base import is_classifier

    needed = all(hasattr(estimator, name) for name in ("fit", "get_params"))  # stacked ones learn to predict by fitting
    return needed and not isinstance(estimator, type) and bool(is_classifier(estimator))


def _one_of(settings: Mapping[str, Any], name: str, allowed: tuple[str, ...], more: str = "") -> None:
    if not (isinstance(settings[name], str) and settings[name] in allowed):
        raise InputError(f"{name}={shown(settings[name])} is not allowed. Allowed: {_listed(allowed)}{more}.")


def _listed(allowed: tuple[str, ...]) -> str:
    return ", ".join(repr(value) for value in allowed)


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _number(settings: Mapping[str, Any], name: str, low: float, high: float, more: str = "") -> None:
    value = settings[name]
    if not (_is_real(value) and low <= value <= high):
        raise InputError(f"{name}={shown(value)} is not allowed: it must be a number from {low} to {high}{more}.")


def _positive(settings: Mapping[str, Any], name: str, most: float | None = None) -> None:
    value = settings[name]
    if not (_is_real(value) and 0 < value < float("inf") and (most is None or value <= most)):
        limit = "" if most is None else f" and at most {most:g}"
        raise InputError(f"{name}={shown(value)} is not allowed: it must be a number above 0{limit}.")


def _whole(settings: Mapping[str, Any], name: str, low: int, high: int | None = None) -> None:
    value = settings[name]
    upper = float("inf") if high is None else high
    if not (isinstance(value, Integral) and not isinstance(value, bool) and low <= int(value) <= upper):
        span = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{name}={shown(value)} is not allowed: it must be a whole number {span}.")


def favorable_of(label_values: Mapping[Any, Any]) -> Any:
    """The label whose value is 1."""
    return next(label for label, value in label_values.items() if value == 1)


def _label_values(value: Any, favorable_label: Any) -> None:
    if value is None:
        return
    values = list(value.values()) if isinstance(value, Mapping) else []
    if not (len(values) == 2 and all(map(_is_real, values)) and set(values) == {0, 1}):
        raise InputError(
            f"label_values={shown(value)} is not allowed: give 1 to the good one of the two labels and 0 to the other, "
            "such as {'deny': 0, 'release': 1}."
        )
    try:
        sorted(value)
    except TypeError:
        raise InputError(
            f"label_values={shown(value)} names labels of different kinds, such as a number and text."
        ) from None
    if favorable_label is not None and value.get(favorable_label) != 1:
        raise InputError(
            f"favorable_label={shown(favorable_label)} is not the label to which label_values gives 1: leave one out."
        )


def _budgets(value: Any) -> None:
    if value is None:
        return
    limits: dict[str, Any] = {}
    for name, limit in (value if isinstance(value, Mapping) else {"every judge": value}).items():
        # A number is about a judge, a mapping about the values of a judge attribute.
        if isinstance(limit, Mapping):
            limits |= {f"{shown(name)} {shown(group)}": own for group, own in limit.items()}
        else:
            limits[shown(name)] = limit
    for whose, limit in limits.items():
        if not (_is_real(limit) and 0 <= limit <= 1):
            raise InputError(
                f"judge_budgets: {shown(limit)} for {whose} is not allowed: give a number from 0 to 1, or such a "
                "number for each judge by name, or for each value of a judge attribute: {'relation': {'affected': 0}}."
            )
