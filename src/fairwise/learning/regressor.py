"""The scikit-learn regressor: amounts under the same judgments, budgets and certificates as labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from sklearn.utils import Tags

from fairwise.constraints.pairs import Weighting
from fairwise.judgments import Judgments
from fairwise.learning.estimator import warn_of
from fairwise.learning.model.predictions import FittedRegressor
from fairwise.learning.preparation import prepare
from fairwise.learning.settings import JudgeBudgets, MaxThresholds, warn_of_unused
from fairwise.learning.solvers.progress import FitProgress, Watch
from fairwise.tables.columns import to_pandas


class PairwiseFairRegressor(FittedRegressor):
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

    solver = "column-generation"
    """The one way in which amounts are learned."""

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

        params = self.get_params(deep=False)
        watch = Watch(verbose=self.verbose, callback=callback)
        X = to_pandas(X)
        with compilation_announced():
            prepared = prepare(params, X, y, judgments, sample_weight, sensitive_features)
            solution = solve_with_context(prepared, watch)
        self.n_people_ = len(prepared.people)
        self.set_solution(X, prepared, solution)
        watch.ended(self.certificate_.stopped)
        warn_of_unused(params, judgments, sensitive_features)
        warn_of(self.certificate_)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
