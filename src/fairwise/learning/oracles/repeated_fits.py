"""One estimator fitted again and again to the same people, with what stays the same from fit to fit done once.

Between two questions only outcomes and weights change. Transformers that look at neither learn the same as before from
the same rows, and a convex loss has its minimum near that of weights alike.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from math import isfinite
from typing import Any

import joblib
import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController

from fairwise.learning.oracles.base import FloatArray, IntArray, Rows

Steps = list[tuple[str, Any]]
"""Named transformers, as a Pipeline has them before its last step."""

_SMALL = 1e7  # numbers in a table: below, handing parts of a product to another core costs more than it saves
_REMEMBERED = 32  # fits that another may begin at

# Of scikit-learn's: what they learn depends on nothing but the rows, and on all of them alike; nothing is drawn.
_BLIND = {
    "Binarizer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "MissingIndicator",
    "Normalizer",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PolynomialFeatures",
    "RobustScaler",
    "SimpleImputer",
    "StandardScaler",
    "VarianceThreshold",
}
_TO_A_GRADIENT = {"lbfgs", "newton-cg", "newton-cholesky"}  # solvers that end where the slope is small


def split(member: Any) -> tuple[Steps, Any]:
    """The transformers of a fitted Pipeline and the model behind them; of anything else, nothing and itself."""
    if type(member) is Pipeline:  # what a subclass does to rows is its own business
        return member.steps[:-1], member.steps[-1][1]
    return [], member


def identity(steps: Steps) -> tuple[int, ...]:
    """Equal for the very same transformers."""
    return tuple(id(transformer) for _, transformer in steps)


def transform(steps: Steps, rows: Rows) -> Rows:
    """The rows as the model behind these transformers sees them."""
    for _, transformer in steps:
        if transformer not in (None, "passthrough"):
            rows = transformer.transform(rows)
    return rows


def weight_name(estimator: object) -> str | None:
    """Under which name ``fit`` takes sample weights; None where it takes none."""
    if isinstance(estimator, Pipeline):
        last, model = estimator.steps[-1]
        return f"{last}__sample_weight" if has_fit_parameter(model, "sample_weight") else None
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


@cache
def _libraries() -> ThreadpoolController:
    """Looked for once: reading what this process has loaded takes longer than many a fit."""
    return ThreadpoolController()


class SharedTransformers:
    """Transformers of all fits so far, so that each is kept once however many Pipelines learned it.

    Whether two fits learned the same is seen from what they are, never from what kind of transformer they are of: a
    transformer that looks at outcomes or weights, or at a row that another fit left out, has learned something else.
    """

    def __init__(self) -> None:
        self._known: dict[str, Steps] = {}

    def share(self, fitted: Any) -> None:
        """Give a Pipeline the transformers of an earlier one, if a pickle of them would be the same."""
        steps, _ = split(fitted)
        if not steps:
            return
        try:
            content = joblib.hash(steps)
        except Exception:  # noqa: BLE001 - what cannot be pickled, in whatever way, stays as it is
            return
        fitted.steps = [*self._known.setdefault(content, steps), fitted.steps[-1]]


class RepeatedFits:
    """Clones of ``estimator``, each fitted to some of the same rows with labels and weights of its own.

    Transformers of a Pipeline that look at nothing but rows are fitted again only where the rows are others. A logistic
    regression of a strictly convex loss begins at the coefficients of the fit whose labels and weights were most alike,
    and ends as near to its one minimum as a fit from nothing does: where the slope is below its own ``tol``.
    """

    def __init__(self, estimator: Any, rows: Rows) -> None:
        self._estimator = estimator
        self._rows = rows
        self._weight_name = weight_name(estimator)
        self._shared = SharedTransformers()
        steps, _ = split(estimator)
        self._may_reuse = bool(steps) and estimator.memory is None and all(looks_at_rows_only(one) for _, one in steps)
        self._learned: tuple[Steps, IntArray] | None = None  # transformers, and the rows that they were fitted to
        self._behind: tuple[Steps, Rows] | None = None  # the last transformers asked about, and all rows behind them
        self._begins: deque[tuple[FloatArray, LogisticRegression]] = deque(maxlen=_REMEMBERED)

    def fit(self, places: IntArray, labels: IntArray, weights: FloatArray) -> Any:
        """A clone fitted to the rows at these places ``(m,)``; weights only where the estimator takes any."""
        fitted = clone(self._estimator)
        blas = _libraries().limit(limits=1 if self._rows.size < _SMALL else None, user_api="blas")
        with blas, config_context(enable_metadata_routing=False):  # weights go to the last step by its name
            if self._learned is not None and np.array_equal(self._learned[1], places):
                fitted.steps = [*self._learned[0], fitted.steps[-1]]
            elif isinstance(fitted, Pipeline):
                named = {self._weight_name: weights} if self._weight_name else {}
                fitted.fit(_at(self._rows, places), labels, **named)
                self._shared.share(fitted)
                if self._may_reuse:
                    self._learned = split(fitted)[0], places
                    self._begins.clear()  # their coefficients are of other columns
                    self._remember(split(fitted)[1], places, labels, weights)
                return fitted
            self._fit_model(split(fitted)[1], _at(self.transformed(fitted), places), places, labels, weights)
        return fitted

    def transformed(self, fitted: Any) -> Rows:
        """All rows as the model of this fit sees them, behind its transformers."""
        steps, _ = split(fitted)
        if not steps:
            return self._rows
        if self._behind is None or identity(self._behind[0]) != identity(steps):
            self._behind = steps, transform(steps, self._rows)
        return self._behind[1]

    def _fit_model(self, model: Any, rows: Rows, places: IntArray, labels: IntArray, weights: FloatArray) -> None:
        given = {"sample_weight": weights} if self._weight_name else {}
        begin = self._nearest(model, places, labels, weights)
        if begin is None:
            model.fit(rows, labels, **given)
        else:
            own, model.warm_start = model.warm_start, True
            model.coef_, model.intercept_ = begin.coef_.copy(), begin.intercept_.copy()
            model.fit(rows, labels, **given)
            model.warm_start = own
        self._remember(model, places, labels, weights)

    def _nearest(self, model: Any, places: IntArray, labels: IntArray, weights: FloatArray) -> Any | None:
        """The remembered fit to the labels and weights that are most like these."""
        if not self._begins or not may_begin_anywhere(model):
            return None
        signed = self._signed(places, labels, weights)
        return min(self._begins, key=lambda begin: float(np.square(begin[0] - signed).sum()))[1]

    def _remember(self, model: Any, places: IntArray, labels: IntArray, weights: FloatArray) -> None:
        if may_begin_anywhere(model) and len(model.classes_) == 2:
            self._begins.append((self._signed(places, labels, weights), model))

    def _signed(self, places: IntArray, labels: IntArray, weights: FloatArray) -> FloatArray:
        """By how much a fit is drawn to label 1 at every point, ``(P,)``."""
        signed = np.where(labels > 0, weights, -weights)
        return np.asarray(np.bincount(places, signed, minlength=len(self._rows)), dtype=float)


def looks_at_rows_only(transformer: Any) -> bool:
    """Whether a transformer is known to learn from rows alone, of outcomes and weights nothing."""
    if transformer is None or isinstance(transformer, str):  # "passthrough", "drop"
        return True
    kind = type(transformer)
    if not kind.__module__.startswith("sklearn."):
        return False
    if kind is Pipeline:
        return transformer.memory is None and all(looks_at_rows_only(step) for _, step in transformer.steps)
    if kind.__name__ == "ColumnTransformer":
        parts = [part for _, part, _ in transformer.transformers]
        return all(looks_at_rows_only(part) for part in [*parts, transformer.remainder])
    return kind.__name__ in _BLIND


def may_begin_anywhere(model: Any) -> bool:
    """Whether a model has one minimum and looks for it by its slope, so that it ends there wherever it begins."""
    return (
        type(model) is LogisticRegression
        and model.solver in _TO_A_GRADIENT
        and model.penalty in ("l2", "deprecated")
        and not model.l1_ratio
        and isfinite(model.C)
    )


def _at(rows: Rows, places: IntArray) -> Rows:
    if np.array_equal(places, np.arange(rows.shape[0])):
        return rows
    return rows.iloc[places] if hasattr(rows, "iloc") else rows[places]
