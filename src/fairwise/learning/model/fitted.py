"""A fitted model and what one may do with it: predict, look inside, simplify, save."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairwise.constraints.certificate import Certificate
from fairwise.constraints.pairs import Weighting
from fairwise.errors import InputError
from fairwise.learning import inputs
from fairwise.learning.deduplication import row_keys, uniforms
from fairwise.learning.large.table import is_in_parts
from fairwise.learning.model.deterministic import (
    Derandomization,
    best_deterministic_rule,
    broken_rules,
    fewest_classifiers,
)
from fairwise.learning.model.mixture import Columns, Measurement, Mixture
from fairwise.learning.oracles.base import ClassArray, Classifiers, FloatArray, Rows
from fairwise.learning.preparation import PreparedProblem
from fairwise.learning.problem import Problem
from fairwise.learning.settings import LabelValues, share
from fairwise.learning.solvers.solution import Solution
from fairwise.tables.frames import to_pandas, used_columns


class FittedMixture(ClassifierMixin, BaseEstimator):
    """A randomised classifier, its certificate, and the rules it was learned under; a subclass fits it."""

    gamma: float
    eta: float | None
    favorable_label: object
    label_values: LabelValues | None
    weighting: Weighting

    def _set_solution(self, X: object, prepared: PreparedProblem, solution: Solution) -> Self:
        validate_data(self, X, skip_check_array=True)  # remembers the columns' names and number
        self.classes_ = prepared.classes
        columns = X.columns.tolist() if isinstance(X, pd.DataFrame) else range(self.n_features_in_)
        self.features_ = used_columns(columns, prepared.settings.features)
        self._encoder, self._seed = prepared.encoder, prepared.seed
        self._threshold: float | None = None
        self.__dict__.pop("derandomization_", None)
        # What the fit was made from, kept in memory for simplifying the model, never saved.
        self._training: tuple[PreparedProblem, Solution] | None = (prepared, solution)
        self._set_mixture(Mixture(solution.classifiers, solution.weights), solution.error)
        return self

    def predict_proba(self, X: object) -> FloatArray:
        """Probability of each class, ``(n, 2)``: how likely the mixture is to draw it."""
        of_label_1 = self._probability(self._rows(X))
        return np.stack([1.0 - of_label_1, of_label_1], axis=1)

    def predict(self, X: object) -> ClassArray:
        """One draw per person, keyed on ``random_state`` and their encoded row: the same in any batch and order."""
        rows = self._rows(X)
        drawn = uniforms(row_keys(rows, self._seed)) < self._probability(rows)
        labels: ClassArray = self.classes_[drawn.astype(np.intp)]
        return labels

    @property
    def favorable_label_(self) -> object:
        """The good one of ``classes_``; None where nothing says so."""
        classes = self._fitted("classes_")
        place = inputs.favorable_class(self.favorable_label, self.label_values, classes)
        return None if place is None else classes.tolist()[place]

    @property
    def classifiers_(self) -> Classifiers:
        """The classifiers of the mixture."""
        return self._fitted("_mixture").classifiers  # type: ignore[no-any-return]

    @property
    def weights_(self) -> FloatArray:
        """How often each classifier decides."""
        return self._fitted("_mixture").weights  # type: ignore[no-any-return]

    @property
    def prices_(self) -> pd.DataFrame:
        """What each judgment costs and what became of it: judge, a, b, answer, price, violation, excess, status.

        A model that was loaded has none, unless :meth:`load` is told where they were saved.
        """
        prices = self._fitted("_prices")
        if prices is None:
            raise InputError(
                "This model was loaded from a file, and a model file holds no single judgment, so there are no prices. "
                "Save them beside it right after the fit, save('model.skops', prices='prices.parquet'), and load both: "
                "load('model.skops', prices='prices.parquet')."
            )
        return pd.DataFrame(prices)

    @property
    def trajectory_(self) -> pd.DataFrame:
        """One row per round or iteration: error, max_violation, gap."""
        columns = self._fitted("_trajectory")
        return pd.DataFrame(columns, index=pd.RangeIndex(1, 1 + len(columns["error"]), name="round"))

    @property
    def n_iter_(self) -> int:
        """How many rounds or iterations the solver took."""
        return len(self._fitted("_trajectory")["error"])

    @property
    def group_rules_(self) -> pd.DataFrame:
        """The statistical rules on the training people: rule, value, limit, price (error per unit of the limit)."""
        return pd.DataFrame(self._fitted("_group_rules"))

    def prune(self) -> Self:
        """A model with at most one classifier more than rules in force, no worse in error nor on any of the rules."""
        check_is_fitted(self)
        prepared, _ = self._after_fit()
        if self._threshold is not None:  # one rule already
            return self._twin()
        mixture, error = fewest_classifiers(prepared.problem, self._mixture)
        return self._twin()._set_mixture(mixture, error)

    def derandomize(self, mean_violation: float | None = None) -> Self:
        """A model that decides everyone for certain, where chance is not acceptable.

        Picks one rule among all classifiers that the fit found, all thresholds on the mixture's probability and both
        constants: one that keeps every statistical rule if there is any, that violates the judgments no more on
        average than ``mean_violation`` (None: than this model does), and of these the most accurate. What this adds,
        and each rule and how many judgments it breaks, is told in ``derandomization_`` of the model returned.
        """
        check_is_fitted(self)
        share(optional=True).check("mean_violation", mean_violation)
        prepared, solution = self._after_fit()
        before = self._measured().mean_answer_violation()
        allowed = before if mean_violation is None else float(mean_violation)
        rule = best_deterministic_rule(prepared.problem, prepared.pairs, self._mixture, solution.pool, allowed)
        single = self._twin()
        single._threshold = rule.threshold
        single._set_mixture(rule.mixture, rule.error)
        broken = broken_rules(prepared.problem, single._row_values(prepared.problem))
        if rule.outside_class and single.certificate_.gap < 0:
            below = "a threshold on a mixture is outside that class"
            below = f"it breaks the rules and {below}" if any(broken) else below
            single.certificate_ = replace(single.certificate_, below_because=below)
        single.derandomization_ = Derandomization.between(
            rule,
            self.certificate_,
            single.certificate_,
            mean_violation=before,
            allowed=allowed,
            broken=broken,
            prices=single.prices_,
        )
        return single

    def save(self, path: str | PathLike[str], *, prices: str | PathLike[str] | None = None) -> None:
        """Write the model as plain arrays (a ``.skops`` file, no pickle), so that :meth:`load` can read it.

        The file holds no single judgment. ``prices_``, which names who said what, is written to the file ``prices``
        (Parquet) if one is given. Where the model holds types of your own, a warning says which ones :meth:`load` must
        be told to trust.
        """
        from fairwise.learning.model.files import save  # skops is slow to load, and files are of models

        check_is_fitted(self)
        save(self, path, prices)

    @classmethod
    def load(
        cls, path: str | PathLike[str], trusted: list[str] | None = None, *, prices: str | PathLike[str] | None = None
    ) -> Self:
        """Read a model written by :meth:`save`; types that are neither plain nor scikit-learn's must be ``trusted``.

        ``prices`` is the file of its ``prices_``; without it the model has none.
        """
        from fairwise.learning.model.files import load  # as in save

        return load(cls, path, trusted, prices)

    def _set_mixture(self, mixture: Mixture, error: float) -> Self:
        """Make this mixture the model, and measure it anew."""
        _, solution = self._after_fit()
        self._mixture = mixture
        measured, gamma = self._measured(), float(self.gamma)
        self.certificate_: Certificate = measured.certificate(gamma, self.eta, self.weighting, error=error)
        prices = measured.prices(gamma)
        self._prices: Columns | None = {str(name): prices[name].tolist() for name in prices.columns}
        self._trajectory = solution.trajectory
        self._group_rules = self._measured_rules()
        return self

    def _measured(self) -> Measurement:
        prepared, solution = self._after_fit()
        return Measurement(prepared, solution, self._probability(prepared.judged_rows))

    def _measured_rules(self) -> Columns:
        prepared, solution = self._after_fit()
        problem = prepared.problem
        if problem.groups is None:
            return {"rule": [], "value": [], "limit": [], "price": []}
        return {
            "rule": list(problem.groups.names),
            "value": self._row_values(problem)[problem.n_pairs :].tolist(),
            "limit": problem.groups.limits.tolist(),
            "price": solution.multipliers.rows[problem.n_pairs :].tolist(),
        }

    def _row_values(self, problem: Problem) -> FloatArray:
        """The value of every row ``(len(problem),)``."""
        if self._threshold is not None:  # known only of people in memory
            labels = self._probability(problem.points.rows).astype(np.uint8)
            return np.asarray(problem.evaluate_labels(labels[None])[1][0], dtype=float)
        _, values = problem.evaluate(self._mixture.classifiers)
        return np.asarray(self._mixture.weights @ values)

    def _twin(self) -> Self:
        twin = copy(self)
        twin._training = self._training
        return twin

    def _rows(self, X: object) -> Rows:
        check_is_fitted(self)
        if is_in_parts(X):
            raise InputError(
                "People are predicted for as a table in memory; a larger one part by part, such as "
                "people.map_partitions(model.predict_proba) with dask."
            )
        X = to_pandas(X)
        table = inputs.as_table(X, finite=self._encoder is not None)
        only_some = len(self.features_) < self.n_features_in_
        if not (only_some and isinstance(X, pd.DataFrame)):  # columns that are not used need not be there
            validate_data(self, X, reset=False, skip_check_array=True)
        if only_some:
            used_columns(table.columns, self.features_)  # refuses a table without one of them
            table = table[self.features_]
        return table if self._encoder is None else self._encoder.encode(table)

    def _probability(self, rows: Rows) -> FloatArray:
        probability = self._mixture.probabilities(rows)
        return probability if self._threshold is None else (probability >= self._threshold).astype(float)

    def _fitted(self, name: str) -> Any:
        check_is_fitted(self)
        return getattr(self, name)

    def _after_fit(self) -> tuple[PreparedProblem, Solution]:
        if self._training is None:
            raise InputError(
                "A model that was saved, copied or fitted in blocks has no training people in memory: do this right "
                "after fit, with a table in memory."
            )
        return self._training

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_mixture")

    def __getstate__(self) -> dict[str, Any]:
        """Without the training people: they are nobody's business but the fit's."""
        return {**super().__getstate__(), "_training": None}
