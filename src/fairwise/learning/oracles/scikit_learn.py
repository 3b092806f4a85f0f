"""Any scikit-learn classifier as an oracle: label ``[c1 < c0]``, weight ``|c1 - c0|``.

Of more than two labels a point stands in the data once for each, with the weight by which that label costs less than
the dearest: ``sum_k (dearest - c_k) [h != k]`` is the cost of ``h`` and a constant. Of two that is the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from math import isfinite
from operator import index
from typing import Any

import joblib
import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController

from fairwise.learning.oracles.base import (
    Classifiers,
    FloatArray,
    IntArray,
    LabelArray,
    Oracle,
    Ranking,
    Rows,
    by_label,
    n_labels,
)
from fairwise.messages import Message

Steps = list[tuple[str, Any]]
"""Named transformers, as a Pipeline has them before its last step."""

_SMALL = 1e7  # numbers in a table: below, handing parts of a product to another core costs more than it saves
_REMEMBERED = 32  # fits that another may begin at

# Of scikit-learn's: what they learn depends on nothing but the rows, and on all of them alike; nothing is drawn.
_BLIND = frozenset(
    [
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
    ]
)
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
        """Return how strongly a fit is drawn to label 1 at every point ``(P,)``."""
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


_MOST_COLUMNS = 4000  # of a linear model whose sums we add up; those of words in texts have more, and sparse ones
_NUMBERS_AT_ONCE = 1 << 20
_ROUNDING = 1e-9
_MOST_SCORES = 4_000_000  # of earlier fits, remembered to vary their thresholds


@dataclass(frozen=True, eq=False)
class FittedClassifiers:
    """Fitted scikit-learn classifiers, each with a threshold on its score, or NaN to predict as it does itself.

    A plain number stands for the classifier that always says so. Pipelines whose transformers are the very same objects
    (:mod:`repeated_fits`) have rows transformed once for all of them.
    """

    members: list[Any]
    thresholds: FloatArray

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, position: int | slice) -> BaseEstimator | FittedClassifiers:
        """A scikit-learn classifier that gives these numbers: the fitted one unless its threshold was moved."""
        if isinstance(position, slice):
            return self.take(np.arange(len(self))[position])
        member, threshold = self.members[index(position)], float(self.thresholds[position])
        if isinstance(member, int):
            labels = range(max(2, member + 1))
            return DummyClassifier(strategy="constant", constant=member).fit([[0]] * len(labels), list(labels))
        if np.isnan(threshold):
            return member
        return FixedThresholdClassifier(
            member,
            threshold=float(np.nextafter(threshold, np.inf)),  # it says 1 from there on, we above the number before
            pos_label=1,
            response_method="decision_function" if hasattr(member, "decision_function") else "predict_proba",
        )

    def __iter__(self) -> Iterator[BaseEstimator]:
        return (self[position] for position in range(len(self)))

    def labels(self, rows: Rows) -> LabelArray:
        labels = np.empty((len(self.members), len(rows)), dtype=np.uint8)
        for steps, models in self.by_transformers():
            transformed = transform(steps, rows)
            linear = [model for model, _ in models if is_linear(model)]
            sums = dict(zip(map(id, linear), linear_scores(linear, transformed), strict=True)) if linear else {}
            for model, positions in models:
                thresholds = self.thresholds[positions]
                plain = np.isnan(thresholds)
                if isinstance(model, int):
                    labels[positions] = model
                    continue
                if id(model) in sums:
                    labels[positions] = sums[id(model)] > np.where(plain, 0.0, thresholds)[:, None]
                    continue
                if plain.any():
                    labels[positions[plain]] = model.predict(transformed)
                if not plain.all():
                    labels[positions[~plain]] = scores(model, transformed) > thresholds[~plain, None]
        return labels

    def by_transformers(self) -> Iterator[tuple[Steps, list[tuple[Any, IntArray]]]]:
        """Transformers, and each distinct model behind them with the positions of those members that are it."""
        groups: dict[tuple[int, ...], tuple[Steps, dict[int, tuple[Any, list[int]]]]] = {}
        for position, member in enumerate(self.members):
            steps, model = split(member)
            _, models = groups.setdefault(identity(steps), (steps, {}))
            models.setdefault(id(model), (model, []))[1].append(position)
        for steps, models in groups.values():
            yield steps, [(model, np.array(positions)) for model, positions in models.values()]

    def take(self, which: IntArray) -> FittedClassifiers:
        return FittedClassifiers([self.members[position] for position in which], self.thresholds[which])

    def joined(self, other: FittedClassifiers) -> FittedClassifiers:
        return FittedClassifiers([*self.members, *other.members], np.concatenate([self.thresholds, other.thresholds]))

    def state(self) -> dict[str, Any]:
        return {"members": self.members, "thresholds": self.thresholds}


def pack(members: list[Any]) -> dict[str, Any]:
    """Members as a file holds them: Pipelines without transformers, these once each, and who uses which (or -1)."""
    places: dict[tuple[int, ...], int] = {(): -1}
    transformers: list[Steps] = []
    uses, packed = [], []
    for member in members:
        steps, _ = split(member)
        if identity(steps) not in places:
            places[identity(steps)] = len(transformers)
            transformers.append(steps)
        uses.append(places[identity(steps)])
        packed.append(_with_steps(member, member.steps[-1:]) if steps else member)
    return {"members": packed, "transformers": transformers, "uses": np.array(uses, dtype=np.intp)}


def unpack(members: list[Any], transformers: list[Steps], uses: IntArray) -> list[Any]:
    """The members that were packed."""
    return [
        member if place < 0 else _with_steps(member, [*transformers[place], *member.steps])
        for member, place in zip(members, uses, strict=True)
    ]


def _with_steps(pipeline: Pipeline, steps: Steps) -> Pipeline:
    other = copy(pipeline)
    other.steps = steps
    return other


class ScikitLearnOracle(Oracle):
    """Fits a clone of ``estimator`` to each cost vector, then moves its threshold to where the cost is least.

    Most estimators minimise something smoother than the cost, so the best threshold on their score can be far from
    their own; finding it exactly takes one sort. For the costs of errors alone the estimator is left as it is: that is
    the plain model. An estimator without ``sample_weight`` gets a sample of the rows instead, drawn with probabilities
    proportional to the weights from a fixed seed, so that the same costs always give the same classifier.

    A fit is expensive and its scores are not: a threshold elsewhere on the scores of an earlier fit is another
    classifier of the class, and :meth:`variations` offers the cheapest of each.
    """

    exact = False
    cheap = False

    def __init__(self, rows: Rows, error_cost: FloatArray, estimator: object, seed: int = 0) -> None:
        self._error_cost = error_cost
        self._fits = RepeatedFits(_seed(estimator, seed), rows)
        self._seed = seed
        self._takes_weights = weight_name(estimator) is not None
        self._ranked: deque[tuple[BaseEstimator, Ranking]] = deque(
            maxlen=max(8, _MOST_SCORES // max(len(error_cost), 1))
        )
        self._last: tuple[Classifiers | None, LabelArray] = (None, np.empty((0, 0), dtype=np.uint8))
        steps, model = split(estimator)
        self.hypothesis_class = _class_of(type(model).__name__, behind=bool(steps), weights=self._takes_weights)

    def constants(self) -> FittedClassifiers:
        labels = range(n_labels(self._error_cost))
        return FittedClassifiers(list(labels), np.full(len(labels), np.nan))

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> FittedClassifiers:  # noqa: ARG002
        point, label, weight = examples(cost)
        if len(np.unique(label)) < 2:
            return _single(int(label[0]) if len(label) else 0)
        chosen, weights = np.arange(len(point)), weight * (len(point) / weight.sum())
        if not self._takes_weights:
            draw = np.random.default_rng(self._seed)
            chosen = np.sort(draw.choice(len(point), size=len(point), p=weights / weights.sum()))
            if len(np.unique(label[chosen])) < 2:
                return _single(int(label[chosen[0]]))
        fitted = self._fits.fit(point[chosen], label[chosen], weights)
        _, model = split(fitted)
        if cost.ndim > 1 or not (hasattr(fitted, "decision_function") or hasattr(fitted, "predict_proba")):
            return _single(fitted)  # one score and a threshold are of two labels
        rows = self._fits.transformed(fitted)
        score = scores(model, rows)
        ranking = Ranking(score)
        self._ranked.append((fitted, ranking))
        labels = np.asarray(score > 0.0 if is_linear(model) else model.predict(rows), dtype=np.uint8)
        threshold = np.nan
        if not np.array_equal(cost, self._error_cost):
            moved, least = ranking.cheapest(cost)
            if least < float(labels @ cost) - 1e-12:
                threshold, labels = moved, ranking.above(moved)
        answer = FittedClassifiers([fitted], np.array([threshold]))
        self._last = answer, labels[None]
        return answer

    def known_labels(self, response: Classifiers) -> LabelArray | None:
        last, labels = self._last
        return labels if response is last else None

    def variations(self, cost: FloatArray, below: float, most: int) -> tuple[FittedClassifiers, LabelArray] | None:
        """Return the cheapest threshold of every remembered fit."""
        if not self._ranked:
            return None
        thresholds, costs = np.array([ranking.cheapest(cost) for _, ranking in self._ranked]).T
        near = np.flatnonzero(costs < below + _ROUNDING)
        labels = np.empty((len(near), len(cost)), dtype=np.uint8)
        for row, which in zip(labels, near, strict=True):
            row[:] = self._ranked[which][1].above(thresholds[which])
        # Summed in the order of the points: fits that say the same cost the same, and the first of them goes first.
        costs = np.array([float(row @ cost) for row in labels])
        best = np.argsort(costs, kind="stable")[:most]
        best = best[costs[best] < below]
        return FittedClassifiers([self._ranked[which][0] for which in near[best]], thresholds[near[best]]), labels[best]


def examples(cost: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Points, labels and weights ``(m,)`` to learn from, so that errors weigh what they cost; points in their order."""
    if cost.ndim == 1:
        point = np.flatnonzero(cost)
        return point, (cost[point] < 0).astype(np.intp), np.abs(cost[point])
    costs = by_label(cost)
    weight = costs.max(axis=1, keepdims=True) - costs
    point, label = np.nonzero(weight)
    return point, label, weight[point, label]


def is_linear(model: Any) -> bool:
    """Whether a fitted classifier of scikit-learn's decides by the sign of one sum, which we add up ourselves."""
    coef = getattr(model, "coef_", None)
    ours = isinstance(model, LinearClassifierMixin) and type(model).__module__.startswith("sklearn.")
    ours = ours and getattr(model, "classes_", np.arange(2)).tolist() == [0, 1]  # of more labels, two may be left
    return ours and isinstance(coef, np.ndarray) and coef.shape[:-1] in {(), (1,)} and coef.size <= _MOST_COLUMNS


def linear_scores(models: Sequence[Any], rows: Any) -> FloatArray:
    """Intercept and products added in the order of the columns, ``(len(models), n)``: the same in any batch.

    A matrix product adds in an order that depends on the machine and on how many rows there are.
    """
    coef = np.stack([np.ravel(model.coef_) for model in models]).astype(float)
    start_with = np.concatenate([np.ravel(model.intercept_) for model in models]).astype(float)
    totals: FloatArray = np.tile(start_with[:, None], rows.shape[0])
    rows = rows if issparse(rows) else np.asarray(rows, dtype=float)
    step = max(1, _NUMBERS_AT_ONCE // coef.size)
    for start in range(0, rows.shape[0], step):
        part = rows[start : start + step]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        for column, weights in zip(np.ascontiguousarray(part.T), coef.T, strict=True):
            totals[:, start : start + step] += weights[:, None] * column
    if not np.isfinite(totals).all():
        models[0].decision_function(rows)  # refuses what is missing or infinite, in words of its own
    return totals


def scores(model: Any, rows: Rows) -> FloatArray:
    """A fitted classifier's score for label 1, one number per row."""
    if is_linear(model):
        return np.asarray(linear_scores([model], rows)[0])
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(rows), dtype=float)
    return np.asarray(model.predict_proba(rows), dtype=float)[:, 1]


def _single(member: BaseEstimator | int) -> FittedClassifiers:
    return FittedClassifiers([member], np.array([np.nan]))


def _seed(estimator: object, seed: int) -> BaseEstimator:
    """Clone an estimator and fix its open random states: the same costs must give the same classifier."""
    settings = clone(estimator).get_params()
    states = [name for name in settings if name == "random_state" or name.endswith("__random_state")]
    return clone(estimator).set_params(**{name: seed for name in states if settings[name] is None})


def _class_of(estimator: str, *, behind: bool, weights: bool) -> Message:
    return {
        (True, True): Message("{estimator} behind a Pipeline, by cost-weighted fits", estimator=estimator),
        (True, False): Message("{estimator} behind a Pipeline, by fits to samples drawn by cost", estimator=estimator),
        (False, True): Message("{estimator}, by cost-weighted fits", estimator=estimator),
        (False, False): Message("{estimator}, by fits to samples drawn by cost", estimator=estimator),
    }[behind, weights]
