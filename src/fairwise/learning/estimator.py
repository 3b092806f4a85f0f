"""The scikit-learn estimator: validation and delegation, no mathematics."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairwise.errors import InputError
from fairwise.learning import inputs
from fairwise.learning.blocks.table import large_table
from fairwise.learning.certificate import certify
from fairwise.learning.cluster import joblib_on
from fairwise.learning.keys import row_keys, uniforms
from fairwise.learning.mixture import Mixture
from fairwise.learning.preparation import Rules, prepare
from fairwise.learning.prices import price_table
from fairwise.learning.simplification import Derandomization, best_deterministic_rule, fewest_classifiers
from fairwise.learning.solving import fitted_with_context

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from fairwise.constraints.pairs import Weighting
    from fairwise.judgments import Judgments
    from fairwise.learning.certificate import Certificate
    from fairwise.learning.oracles.base import Classifiers, FloatArray
    from fairwise.learning.problem import Problem
    from fairwise.learning.result import Solution


@dataclass(frozen=True, eq=False)
class Training:
    """What a fit was made from, kept in memory for simplifying the model, never saved."""

    prepared: Rules
    solution: Solution


class PairwiseFairClassifier(ClassifierMixin, BaseEstimator):
    """The most accurate randomised classifier that respects what people said about pairs.

    Parameters
    ----------
    estimator : {"linear", "linear-regression", "tree"} or scikit-learn classifier or Pipeline
        What is mixed. ``"linear"``: linear thresholds by coordinate descent on the 0/1 cost; ``"linear-regression"``:
        the paper's heuristic; ``"tree"``: decision trees, proven optimal. A Pipeline gets the people's own columns,
        everything else gets them encoded (one-hot, scaled, missing values marked).
    max_depth, max_thresholds : int, int or None
        For ``"tree"``: depth, and how many thresholds a column may have (None: every midpoint).
    gamma : float
        By how much the probabilities of the favourable label may differ against a judgment.
    eta : float or None
        How much mean excess beyond gamma the panel may suffer in all; None for no panel budget.
    favorable_label
        The good outcome's label; needed as soon as an answer is ordered.
    group_constraints : list of fairlearn moments or None
        Statistical rules in the same fit, such as ``[FalsePositiveRateParity(difference_bound=0.02)]``; they need
        ``sensitive_features`` in :meth:`fit`. Their rates are about label 1, whatever is favourable.
    judge_budgets : float or dict or None
        How much mean excess any single judge may suffer (or each judge by name). ``{"relation": {"affected": 0.01}}``:
        how much the judges with that attribute may, as a group; counted like ``eta``, as if they were the panel.
    weighting : {"answers", "panel"}
        How mean excess is counted when judges saw different pairs; ``"panel"`` is the paper's letter.
    solver : {"column-generation", "no-regret"}
        ``"no-regret"`` is the paper's; ``n_rounds``, ``lambda_bound``, ``tau_bound`` and ``nu`` are its settings.
    tol : float
        Gap at which column generation stops.
    random_state : int, RandomState or None
        Key of the draws in :meth:`predict` (None: 0) and seed of estimators that use chance.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    classifiers_, weights_ : the mixture
    certificate_ : Certificate
    prices_ : DataFrame with judge, a, b, answer, price, violation, excess, status
    group_rules_ : DataFrame with rule, value, limit, price
    trajectory_ : DataFrame, one row per round or iteration: error, max_violation, gap

    Examples
    --------
    >>> from fairwise import Judgments, PairwiseFairClassifier
    >>> from fairwise.datasets import load_compas
    >>> people, outcome = load_compas()
    >>> said = [{"judge": "j", "a": 1, "b": 3, "answer": "same"}]
    >>> model = PairwiseFairClassifier("tree", gamma=0.1)
    >>> model.fit(people, outcome, judgments=Judgments(said, people=people)).certificate_.kind
    'exact'
    """

    def __init__(
        self,
        estimator: Any = "linear",
        *,
        max_depth: int = 2,
        max_thresholds: int | None = None,
        gamma: float = 0.1,
        eta: float | None = 0.0,
        favorable_label: Any = None,
        group_constraints: Any = None,
        judge_budgets: float | Mapping[Any, float | Mapping[Any, float]] | None = None,
        weighting: Weighting = "answers",
        solver: str = "column-generation",
        n_rounds: int = 1000,
        lambda_bound: float = 1.0,
        tau_bound: float = 1.0,
        nu: float | None = None,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.max_depth = max_depth
        self.max_thresholds = max_thresholds
        self.gamma = gamma
        self.eta = eta
        self.favorable_label = favorable_label
        self.group_constraints = group_constraints
        self.judge_budgets = judge_budgets
        self.weighting = weighting
        self.solver = solver
        self.n_rounds = n_rounds
        self.lambda_bound = lambda_bound
        self.tau_bound = tau_bound
        self.nu = nu
        self.tol = tol
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        judgments: Judgments | None = None,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        client: Any = None,
    ) -> Self:
        """Learn from people, their outcomes, and judgments; without judgments, the plain model.

        People who do not fit into memory are given as a :class:`~fairwise.LargeTable`, a path to a Parquet file, a dask
        DataFrame or an iterator of DataFrames, and their outcome as the name of a column (``docs/large_data.md``).
        ``client`` is that of a dask cluster, whose workers then share the work.

        Nothing of an earlier fit is touched unless this one succeeds.
        """
        settings = self.get_params(deep=False)
        large = large_table(X, y)
        if large is not None:
            return self._fit_large(settings, large, judgments, sample_weight, sensitive_features, client)
        prepared = prepare(settings, X, y, judgments, sample_weight, sensitive_features)
        with joblib_on(client):
            solution = fitted_with_context(prepared.oracle, prepared.problem, settings)
        return self._learned(X, prepared, solution)

    def _fit_large(
        self, settings: dict[str, Any], table: Any, judgments: Any, weight: Any, sensitive: Any, client: Any
    ) -> Self:
        from fairwise.learning.blocks.fitting import fit_in_blocks

        for name, given in (("sample_weight", weight), ("sensitive_features", sensitive)):
            if given is not None:
                raise InputError(f"{name}= needs the whole table in memory, not one that is read in blocks.")
        rules, solution, self.n_people_ = fit_in_blocks(settings, table, judgments, client)
        self._learned(pd.DataFrame(columns=list(table.features)), rules, solution)
        self._forget()
        return self

    def _learned(self, X: Any, prepared: Rules, solution: Solution) -> Self:
        validate_data(self, X, skip_check_array=True)  # remembers the columns' names and number
        self.classes_ = prepared.classes
        self._encoder, self._seed = prepared.encoder, prepared.seed
        self._threshold: float | None = None
        self.__dict__.pop("derandomization_", None)
        self._training: Training | None = Training(prepared, solution)
        self._adopt(Mixture(solution.classifiers, solution.weights), solution.error)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class, ``(n, 2)``: how likely the mixture is to draw it."""
        of_label_1 = self._probability(self._rows(X))
        return np.stack([1.0 - of_label_1, of_label_1], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """One draw per person, keyed on ``random_state`` and their encoded row: the same in any batch and order."""
        rows = self._rows(X)
        drawn = uniforms(row_keys(rows, self._seed)) < self._probability(rows)
        labels: NDArray[Any] = self.classes_[drawn.astype(np.intp)]
        return labels

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
        """What each judgment costs and what became of it: judge, a, b, answer, price, violation, excess, status."""
        return pd.DataFrame(self._fitted("_prices"))

    @property
    def trajectory_(self) -> pd.DataFrame:
        """One row per round or iteration: error, max_violation, gap."""
        columns = self._fitted("_trajectory")
        return pd.DataFrame(columns, index=pd.RangeIndex(1, 1 + len(columns["error"]), name="round"))

    @property
    def group_rules_(self) -> pd.DataFrame:
        """The statistical rules on the training people: rule, value, limit, price (error per unit of the limit)."""
        return pd.DataFrame(self._fitted("_group_rules"))

    def prune(self) -> Self:
        """A model with at most one classifier more than pairs in force, no worse in error nor on any pair."""
        check_is_fitted(self)
        training = self._after_fit()
        if self._threshold is not None:  # one rule already
            return self._twin()
        mixture, error = fewest_classifiers(training.prepared.problem, self._mixture)
        return self._twin()._adopt(mixture, error)

    def derandomize(self, mean_violation: float | None = None) -> Self:
        """A model that decides everyone for certain, where chance is not acceptable.

        Picks the most accurate rule among the classifiers of the mixture and all thresholds on its probability that
        violates the pairs no more on average than ``mean_violation`` (None: than the mixture does). What this adds is
        told in ``derandomization_`` of the model returned.
        """
        check_is_fitted(self)
        training = self._after_fit()
        prepared = training.prepared
        rule = best_deterministic_rule(prepared.problem, prepared.pairs, self._mixture, mean_violation)
        single = self._twin()
        single._threshold = rule.threshold
        single._adopt(rule.mixture, rule.error)
        single.derandomization_ = Derandomization.between(rule, self.certificate_, single.certificate_)
        return single

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model as plain arrays (a ``.skops`` file, no pickle)."""
        from fairwise.learning.persistence import save

        check_is_fitted(self)
        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], trusted: list[str] | None = None) -> Self:
        """Read a model written by :meth:`save`; types that are neither plain nor scikit-learn's must be ``trusted``."""
        from fairwise.learning.persistence import load

        return load(cls, path, trusted)

    def _adopt(self, mixture: Mixture, error: float) -> Self:
        """Make this mixture the model, and measure it anew."""
        training = self._after_fit()
        self._mixture = mixture
        probability = self._probability(training.prepared.judged_rows)
        favorable = probability if training.prepared.problem.sign > 0 else 1.0 - probability
        self.certificate_: Certificate = certify(
            training.solution,
            training.prepared.pairs,
            error=error,
            favorable=favorable,
            gamma=float(self.gamma),
            eta=self.eta,
            weighting=self.weighting,
        )
        multipliers = np.zeros(len(training.prepared.pairs))
        problem = training.prepared.problem
        multipliers[problem.source] = training.solution.multipliers.rows[: problem.n_pairs]
        prices = price_table(training.prepared.pairs, multipliers, favorable, float(self.gamma))
        self._prices = {str(name): prices[name].tolist() for name in prices.columns}
        self._trajectory = training.solution.trajectory
        self._group_rules = self._measured_rules()
        return self

    def _measured_rules(self) -> dict[str, list[Any]]:
        problem, solution = self._after_fit().prepared.problem, self._after_fit().solution
        if problem.groups is None:
            return {"rule": [], "value": [], "limit": [], "price": []}
        return {
            "rule": list(problem.groups.names),
            "value": self._rule_values(problem).tolist(),
            "limit": problem.groups.limits.tolist(),
            "price": solution.multipliers.rows[problem.n_pairs :].tolist(),
        }

    def _rule_values(self, problem: Problem) -> FloatArray:
        assert problem.groups is not None
        if self._threshold is not None:  # known only of people in memory
            return problem.groups.matrix @ self._probability(problem.points.rows)
        _, values = problem.evaluate(self._mixture.classifiers)
        return np.asarray(self._mixture.weights @ values[:, problem.n_pairs :])

    def _twin(self) -> Self:
        twin = copy(self)
        twin._training = self._training
        return twin

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        table = inputs.as_table(X, finite=self._encoder is not None)
        validate_data(self, X, reset=False, skip_check_array=True)
        return table if self._encoder is None else self._encoder.encode(table)

    def _probability(self, rows: Any) -> FloatArray:
        probability = self._mixture.probabilities(rows)
        return probability if self._threshold is None else (probability >= self._threshold).astype(float)

    def _forget(self) -> None:
        """Nobody is in memory to simplify the model on."""
        self._training = None

    def _fitted(self, name: str) -> Any:
        check_is_fitted(self)
        return getattr(self, name)

    def _after_fit(self) -> Training:
        if self._training is None:
            raise InputError(
                "A model that was saved, copied or fitted in blocks has no training people in memory: do this right "
                "after fit, with a table in memory."
            )
        return self._training

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_mixture")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Without the training people: they are nobody's business but the fit's."""
        return {**super().__getstate__(), "_training": None}
