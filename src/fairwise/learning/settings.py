"""The settings of a fit: what is allowed for each, declared as data, and a typed value once they are checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields, replace
from math import inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from fairwise.errors import InputError, quote, warn

if TYPE_CHECKING:  # the command line reads this module, and must start without pandas
    from fairwise.constraints.pairs import Weighting
    from fairwise.judgments import Judgments

LabelValues = Mapping[Any, float]
JudgeBudgets = float | Mapping[Any, float | Mapping[Any, float]]
MaxThresholds = int | Literal["auto"] | None
Params = Mapping[str, Any]
"""An estimator's ``get_params``."""

ESTIMATORS = ("linear", "linear-regression", "tree")
SOLVERS = ("column-generation", "no-regret")
WEIGHTINGS = ("answers", "panel")
PARITIES = {
    "dp": "DemographicParity",
    "tpr": "TruePositiveRateParity",
    "fpr": "FalsePositiveRateParity",
    "eo": "EqualizedOdds",
    "error": "ErrorRateParity",
}
"""The short names of statistical rules, as users write them, each with the name of fairlearn's moment."""

MAX_DEPTH = 4
MAX_MULTIPLIER = 1e9  # of a bound on multipliers: beyond, errors drown in the prices of pairs


@dataclass(frozen=True)
class AllowedWords:
    """One of some words."""

    allowed: tuple[str, ...]
    more: str = ""

    def check(self, name: str, value: object) -> None:
        if not (isinstance(value, str) and value in self.allowed):
            raise InputError(f"{name}={quote(value)} is not allowed. Allowed: {_listed(self.allowed)}{self.more}.")


@dataclass(frozen=True)
class AllowedNumber:
    """A number, no bool, from ``low`` (or above it, if ``low`` is left out) to ``high``; perhaps None or a word."""

    words: str
    low: float = 0.0
    high: float = inf
    above_low: bool = False
    whole: bool = False
    optional: bool = False
    word: str | None = None

    def check(self, name: str, value: object) -> None:
        if (value is None and self.optional) or (isinstance(value, str) and value == self.word):
            return
        if not (
            _is_real(value)
            and (isinstance(value, Integral) or not self.whole)
            and (self.low < value if self.above_low else self.low <= value)
            and value <= self.high
            and (self.whole or value < inf)
        ):
            raise InputError(f"{name}={quote(value)} is not allowed: it must be a {self.words}.")


def share(more: str = "", *, optional: bool = False) -> AllowedNumber:
    return AllowedNumber(f"number from 0 to 1{more}", high=1.0, optional=optional)


def _positive(high: float = inf, *, optional: bool = False) -> AllowedNumber:
    limit = "" if high == inf else f" and at most {high:g}"
    return AllowedNumber(f"number above 0{limit}", high=high, above_low=True, optional=optional)


def count(high: float = inf, *, optional: bool = False) -> AllowedNumber:
    span = "of at least 1" if high == inf else f"from 1 to {high}"
    return AllowedNumber(f"whole number {span}", low=1, high=high, whole=True, optional=optional)


DRAWS = AllowedWords(("independent", "shared"))
"""How ``predict`` draws labels."""

_ALLOWED: dict[str, AllowedWords | AllowedNumber] = {
    "solver": AllowedWords(SOLVERS),
    "weighting": AllowedWords(WEIGHTINGS),
    "gamma": share(),
    "eta": share(" or None for no panel budget", optional=True),
    "max_depth": count(MAX_DEPTH),
    "max_thresholds": replace(count(optional=True), words="whole number of at least 1, 'auto' or None", word="auto"),
    "n_rounds": count(),
    "lambda_bound": _positive(MAX_MULTIPLIER),
    "tau_bound": _positive(MAX_MULTIPLIER),
    "tol": _positive(),
    "max_iter": count(optional=True),
    "time_limit": _positive(optional=True),
    "max_classifiers": count(optional=True),
    "verbose": AllowedNumber("whole number: 0, 1 or 2", high=2, whole=True),
    "nu": _positive(optional=True),
}
"""What is refused otherwise, in this order; settings that are no plain number or word have a check of their own."""


@dataclass(frozen=True, eq=False)
class FitSettings:
    """The settings of :class:`~fairwise.PairwiseFairClassifier`, whose docstring says what each means; checked."""

    estimator: object
    max_depth: int
    max_thresholds: MaxThresholds
    gamma: float
    eta: float | None
    favorable_label: object
    label_values: LabelValues | None
    loss: object
    features: Sequence[Any] | None
    group_constraints: object
    judge_budgets: JudgeBudgets | None
    weighting: Weighting
    solver: str
    n_rounds: int
    lambda_bound: float
    tau_bound: float
    nu: float | None
    tol: float
    max_iter: int | None
    time_limit: float | None
    max_classifiers: int | None
    verbose: int
    random_state: object

    @classmethod
    def of(cls, params: Params) -> FitSettings:
        """From an estimator's parameters; the first setting that is not allowed is refused, by name and value."""
        _check_estimator(params["estimator"])
        _check_budgets(params["judge_budgets"])
        _check_label_values(params["label_values"], params["favorable_label"])
        _check_features(params["features"])
        for name, rule in _ALLOWED.items():
            rule.check(name, params[name])
        if params["max_classifiers"] is not None and params["solver"] == "no-regret":
            raise InputError(
                f"max_classifiers={params['max_classifiers']} goes with solver='column-generation'. An average of the "
                "paper's game is made smaller after the fit: model.simplify(max_classifiers=…)."
            )
        return cls(**{field.name: params[field.name] for field in fields(cls)})

    @property
    def plays_regression(self) -> bool:
        """Whether it is the paper's game against least squares, whose rounds need only sums over the people."""
        game = (self.estimator, self.solver, self.nu) == ("linear-regression", "no-regret", None)
        return game and not self.group_constraints


def _check_estimator(estimator: object) -> None:
    if isinstance(estimator, str):
        AllowedWords(ESTIMATORS, " or a scikit-learn classifier or Pipeline").check("estimator", estimator)
        return
    from sklearn.base import is_classifier  # an audit knows these settings and loads no scikit-learn

    # Stacked ones have no predict before they are fitted.
    needed = all(hasattr(estimator, name) for name in ("fit", "get_params")) and not isinstance(estimator, type)
    if not (needed and is_classifier(estimator)):
        raise InputError(
            f"estimator={estimator!r} cannot be fitted as a classifier. Allowed: {_listed(ESTIMATORS)}, or a "
            "scikit-learn classifier or Pipeline (an instance with fit, predict and get_params)."
        )


def _listed(allowed: tuple[str, ...]) -> str:
    return ", ".join(repr(value) for value in allowed)


def _is_real(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def favorable_of(label_values: LabelValues) -> object:
    """The label of the highest value, the first of several."""
    return max(label_values, key=label_values.__getitem__)


def _check_label_values(value: LabelValues | None, favorable_label: object) -> None:
    if value is None:
        return
    values = list(value.values()) if isinstance(value, Mapping) else []
    if not (len(values) > 1 and all(_is_real(one) and 0 <= one <= 1 for one in values) and len(set(values)) > 1):
        raise InputError(
            f"label_values={quote(value)} is not allowed: say of each label how good it is, from 0 to 1 and not all "
            "alike, such as {'deny': 0, 'conditions': 0.6, 'release': 1}."
        )
    try:
        sorted(value)
    except TypeError:
        raise InputError(
            f"label_values={quote(value)} names labels of different kinds, such as a number and text."
        ) from None
    if favorable_label is not None and value.get(favorable_label) != max(values):
        raise InputError(
            f"favorable_label={quote(favorable_label)} is not the best label by label_values: leave one out."
        )


def _check_features(value: Sequence[Any] | None) -> None:
    if value is None:
        return
    names = [] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if not names or len(set(map(quote, names))) < len(names):
        raise InputError(f"features={quote(value)} is not allowed: give a list of columns, each once, or None for all.")


def _check_budgets(value: JudgeBudgets | None) -> None:
    """A number is about a judge (or all), a mapping about the values of a judge attribute."""
    if value is None:
        return
    limits: dict[str, object] = {}
    for name, limit in (value if isinstance(value, Mapping) else {"every judge": value}).items():
        if isinstance(limit, Mapping):
            limits |= {f"{quote(name)} {quote(group)}": own for group, own in limit.items()}
        else:
            limits[quote(name)] = limit
    for whose, part in limits.items():
        if not (_is_real(part) and 0 <= part <= 1):
            raise InputError(
                f"judge_budgets: {quote(part)} for {whose} is not allowed: give a number from 0 to 1, or such a "
                "number for each judge by name, or for each value of a judge attribute: {'relation': {'affected': 0}}."
            )


def require_two_labels(classes: Sized, what: str) -> None:
    """Refuse more than two labels where that is not possible yet, naming what it is."""
    if len(classes) > 2:
        raise InputError(f"{what} is for models of two labels so far; this one decides between {len(classes)}.")


def parity(name: str, bound: float) -> Any:
    """Return fairlearn's moment of this short name: no group further than ``bound`` from everyone."""
    from fairlearn import reductions  # slow to load, and few ask for it

    return getattr(reductions, PARITIES[name])(difference_bound=bound)


def bounded_error(bound: float, least: float, most: float) -> Any:
    """Return fairlearn's moment of amounts from ``least`` to ``most``: no group is off by more on average."""
    from fairlearn.reductions import AbsoluteLoss, BoundedGroupLoss  # slow to load, and few ask for it

    return BoundedGroupLoss(AbsoluteLoss(least, most), upper_bound=bound)


def warn_of_unused(params: Params, judgments: Judgments | None, sensitive_features: object = None) -> None:
    """Warn of arguments of a fit that have no effect on it."""
    has_answers = judgments is not None and len(judgments.counted()) > 0
    if judgments is not None and not has_answers:
        text = "judgments holds no answer that counts, so it has no effect on this fit"
        warn(f"{text}: read the answers first, or give None.")
    if sensitive_features is not None and not params.get("group_constraints"):
        warn("sensitive_features has no effect without rules about groups: give group_constraints, or leave it out.")
    if params.get("judge_budgets") is not None and not has_answers:
        warn("judge_budgets has no effect without judgments: give judgments to fit, or leave it out.")
