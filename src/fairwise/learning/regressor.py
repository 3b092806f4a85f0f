"""The scikit-learn regressor: amounts under the same judgments, budgets and certificates as labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags

from fairwise.constraints.pairs import Weighting
from fairwise.errors import InputError, quote
from fairwise.judgments import Judgments
from fairwise.learning.amounts import LOSSES, MOST_AMOUNTS, Amounts
from fairwise.learning.estimator import PairwiseFairClassifier, warn_of
from fairwise.learning.model.fitted_amounts import AmountsOfPeople, FittedAmounts
from fairwise.learning.preparation import prepare
from fairwise.learning.settings import AllowedWords, JudgeBudgets, MaxThresholds, count, warn_of_unused
from fairwise.learning.solvers.progress import FitProgress, Watch

ESTIMATORS = ("tree", "linear-regression")
_OWN = ("loss", "grid", "outcome_range", "larger_is_better")


class PairwiseFairRegressor(FittedAmounts):
    """The most accurate model of amounts that respects what people said about pairs.

    It learns a mixture of models whose amounts are those of a grid, and predicts its mean: that is no matter of chance,
    keeps the same rules about pairs, as these are about means, and has no larger loss. How well someone is treated is
    their mean amount as a share of the range, from 0 to 1, so that ``gamma=0.1`` is a tenth of the range.

    Parameters
    ----------
    estimator : {"tree", "linear-regression"}
        What is mixed: trees with amounts in their leaves, proved optimal, or the paper's least squares, which for
        squared loss is a linear regression rounded to the grid.
    loss : {"squared", "absolute"}
        What missing an amount costs.
    grid : int
        How many amounts there are, in equal steps; the certificate says what more of them could gain (``grid_gap``).
    outcome_range : (float, float) or None
        The least and the largest amount; None: those of the outcomes in :meth:`fit`.
    larger_is_better : bool or None
        Whether a larger amount is better for the person; needed as soon as an answer is ordered.
    group_constraints : list of fairlearn.reductions.BoundedGroupLoss or None
        The loss of no group may be above a bound, in the same fit; they need ``sensitive_features`` in :meth:`fit`.
    tol : float
        Gap at which the search stops, as a share of the loss of missing an amount by the whole range.
    max_depth, max_thresholds, gamma, eta, features, judge_budgets, weighting, max_iter, time_limit, max_classifiers, \
verbose, random_state
        As for :class:`~fairwise.PairwiseFairClassifier`.

    Attributes
    ----------
    certificate_ : Certificate, in the units of the loss; ``mean_error`` is the training loss of what is predicted
    amounts_ : ndarray of the grid
    columns_ : DataFrame with kind (number, date, duration or category), categories and missing: how each was read
    classifiers_, weights_, rules_ : the mixture, whose labels are the amounts of the grid
    prices_ : DataFrame with judge, a, b, answer, price, violation, excess, status
    group_rules_ : DataFrame with rule, value, limit, price; value is the group's mean loss where amounts are drawn \
from the mixture, limit the bound

    Examples
    --------
    >>> from fairwise import Judgments, PairwiseFairRegressor
    >>> from fairwise.datasets import load_german_credit
    >>> people, amount = load_german_credit(outcome="amount")
    >>> said = [{"judge": "j", "a": 1, "b": 2, "answer": "same"}]
    >>> model = PairwiseFairRegressor(gamma=0.05).fit(people, amount, judgments=Judgments(said, people=people))
    >>> model.certificate_.kind
    'exact'
    """

    def __init__(
        self,
        estimator: str = "tree",
        *,
        loss: str = "squared",
        grid: int = 32,
        outcome_range: tuple[float, float] | None = None,
        larger_is_better: bool | None = None,
        max_depth: int = 2,
        max_thresholds: MaxThresholds = "auto",
        gamma: float = 0.1,
        eta: float | None = 0.0,
        features: Sequence[Any] | None = None,
        group_constraints: object = None,
        judge_budgets: JudgeBudgets | None = None,
        weighting: Weighting = "answers",
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        max_classifiers: int | None = None,
        verbose: int = 0,
        random_state: object = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.grid = grid
        self.outcome_range = outcome_range
        self.larger_is_better = larger_is_better
        self.max_depth = max_depth
        self.max_thresholds = max_thresholds
        self.gamma = gamma
        self.eta = eta
        self.features = features
        self.group_constraints = group_constraints
        self.judge_budgets = judge_budgets
        self.weighting = weighting
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.max_classifiers = max_classifiers
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: object,
        y: object,
        *,
        judgments: Judgments | None = None,
        sample_weight: object = None,
        sensitive_features: object = None,
        callback: Callable[[FitProgress], object] | None = None,
    ) -> Self:
        """Learn from people, their amounts, and judgments; without judgments and rules, the plain model."""
        from fairwise.learning.compiler import compilation_announced  # numba is slow to load
        from fairwise.learning.solvers.dispatch import solve_with_context

        self.check_settings()
        people = AmountsOfPeople.of(X, y, sample_weight)
        X, amounts = people.table, Amounts.asked(people.amounts, self.get_params(deep=False))
        model = self.as_classifier()
        watch = Watch(verbose=self.verbose, callback=callback)
        with compilation_announced():
            prepared = prepare(
                model.get_params(deep=False), X, y, judgments, sample_weight, sensitive_features, amounts=amounts
            )
            solution = solve_with_context(prepared, watch)
        model.amounts_of_labels = amounts
        model.set_solution(X, prepared, solution)
        self.n_people_ = len(prepared.people)
        self.set_model(model, people)
        watch.ended(self.certificate_.stopped)
        warn_of_unused(self.get_params(deep=False), judgments, sensitive_features)
        warn_of(self.certificate_)
        return self

    def check_settings(self) -> None:
        """Refuse what is not allowed, of the settings that classifiers do not have."""
        AllowedWords(ESTIMATORS).check("estimator", self.estimator)
        AllowedWords(LOSSES).check("loss", self.loss)
        replace(count(MOST_AMOUNTS), low=2, words=f"whole number from 2 to {MOST_AMOUNTS}").check("grid", self.grid)
        asked = self.outcome_range
        if asked is not None:
            numbers = list(asked) if isinstance(asked, Sequence | np.ndarray) and not isinstance(asked, str) else []
            if not (len(numbers) == 2 and all(isinstance(one, Real) and np.isfinite(float(one)) for one in numbers)):
                raise InputError(f"outcome_range={quote(asked)} is not allowed: give (least, largest), or None.")
            if not numbers[0] < numbers[1]:
                raise InputError(f"outcome_range={quote(asked)} is not allowed: the least comes first.")
        if not (self.larger_is_better is None or isinstance(self.larger_is_better, bool | np.bool_)):
            raise InputError(f"larger_is_better={quote(self.larger_is_better)} is not allowed: True, False or None.")

    def as_classifier(self) -> PairwiseFairClassifier:
        """The classifier with these settings that decides between the amounts of a grid; not fitted."""
        shared = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        return PairwiseFairClassifier(**shared)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
