"""Linear threshold classifiers, found by descent on the 0/1 cost."""

from __future__ import annotations

from itertools import cycle, islice

import numpy as np

from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, LabelArray, Oracle, n_labels
from fairwise.learning.oracles.descent_kernels import Columns, descend, total_costs
from fairwise.learning.oracles.label_scores import LEAST_GAIN, MAX_SWEEPS, descend_labels, multinomial_regression
from fairwise.learning.oracles.linear import MANY_LABELS, LinearClassifiers, RegressionOracle, RegressionTerms
from fairwise.learning.oracles.neighbours import Neighbours
from fairwise.learning.problem import Problem
from fairwise.messages import Message

_STARTS = 3
_LARGE = 1_000_000  # a matrix of more numbers than this is searched from the cheapest start only
_ROUNDING = 1e-9
_KICKS = 20, 2000  # how often the search for the least error is thrown off and started again from there
_KICKING_WORK = 1e7  # kicks times numbers: more of these on a small table, where they are nearly free
_BY_HOW_MUCH = (1.0, 0.3, 0.1)  # of its size, in turn
_WALK, _FAR = 100, 10.0  # kicks until another walk, which begins that far from the first
_TRIES = 1  # how often any other answer is, where it is no better than what is known
_LIGHTLY = 0.3  # and by which share of its size
_FIRST = np.zeros(1, dtype=np.intp)  # of those known, the cheapest
_LEAST_GAIN_LARGE = 1e-3  # of a sweep there: the next answer goes on from where this one ended
_MAX_ITER_LARGE = 100  # an answer takes hundredths of a second, and brings many variations
_CAUTION = 2.0  # standard deviations by which a step of the plain model must gain: the usual measure of chance


class DescentOracle(Oracle):
    """Start from the regression solution and from what is near good known classifiers; descend; keep the cheapest.

    A local search: never worse than the regression it may start from, but with no proof of optimality. The cost of
    errors alone, the least error without any rule, is searched longer, and once.

    Where costs differ from those of errors on judged points alone it remembers its answers with all single steps from
    them (:class:`Neighbours`). The cheapest of these is where the next search starts, and the best of each are
    :meth:`variations`. Where that leads to nothing better than is known, the best is disturbed and descended from
    again, a few times; the disturbances follow from a fixed seed.

    The least training error is not the least error on other people: where nothing but errors counts,
    :meth:`plain_model` is the classifier to use.

    Parameters
    ----------
    rows, multiplicity
        As for :class:`RegressionOracle`.
    error_cost
        ``(P,)``, or ``(P, n_labels - 1)``: the costs of errors, where they are known beforehand.
    n_labels
        How many labels there are to decide between.
    judged
        The points on which alone costs will differ from ``error_cost``; None where that is not so.
    """

    exact = False
    hypothesis_class: str = Message("linear thresholds, by coordinate descent on the 0/1 cost")
    plain_class: str = Message("linear thresholds, by logistic regression and steps that gain more than chance")
    seed_rounds = 50  # the stronger oracle soon finds better ones itself
    n_variations = 32
    variation_rounds = 1  # then another answer is worth more
    _neighbours: Neighbours | None = None

    def __init__(
        self,
        rows: FloatArray,
        multiplicity: FloatArray,
        error_cost: FloatArray | None = None,
        n_labels: int = 2,
        judged: IntArray | None = None,
    ) -> None:
        # At a mean weight of 1: only the proportions of weights matter.
        self.regression = RegressionOracle(rows, multiplicity / multiplicity.mean(), n_labels)
        if n_labels > 2:
            self.hypothesis_class = Message(MANY_LABELS, how=Message("coordinate descent on the cost, label by label"))
            self.plain_class = Message(MANY_LABELS, how=Message("multinomial logistic regression"))
        self.rows = np.ascontiguousarray(rows)
        self.columns = Columns.of(rows)
        self.cheap = rows.size <= _LARGE
        self._multiplicity, self._error_cost = multiplicity, error_cost
        self._least_error: LinearClassifiers | None = None
        self._random = np.random.default_rng(0)
        if judged is not None and len(judged) and error_cost is not None and error_cost.ndim == 1:
            self._neighbours = Neighbours(self.columns, error_cost, judged)
            if not self.cheap:
                self.max_iter = _MAX_ITER_LARGE

    def constants(self) -> LinearClassifiers:
        return self.regression.constants()

    def regression_terms(self, problem: Problem) -> RegressionTerms | None:
        return self.regression.regression_terms(problem)

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> LinearClassifiers:
        known = warm if isinstance(warm, LinearClassifiers) and len(warm) else None
        of_errors = self._error_cost is not None and np.array_equal(cost, self._error_cost)
        if of_errors and self._least_error is not None:
            return self._least_error
        if of_errors:
            best = self._least_error = self._find_least_error(cost)
            if self._neighbours is not None:
                self._neighbours.remember(best)
            return best
        neighbours = self._neighbours if self._neighbours is not None and self._neighbours.suit(cost) else None
        if neighbours is None or not len(neighbours) or known is None:
            best = self._search(cost, known)
        else:
            best = self._search_nearby(cost, known, neighbours)
        if neighbours is not None:
            neighbours.remember(best)
        return best

    def _find_least_error(self, cost: FloatArray) -> LinearClassifiers:
        """The least error without any rule; the same whoever is judged.

        So only points that cost anything take part, and columns that differ among these.
        """
        counted = np.flatnonzero(cost if cost.ndim == 1 else cost.any(axis=1))
        if 0 < len(counted) < len(cost):
            rows = self.rows[counted]
            differ = (rows != rows[0]).any(axis=0)
            columns = np.flatnonzero(differ) if differ.any() else np.arange(1)
            rows = np.ascontiguousarray(rows[:, columns])  # sums of products round by how a matrix is stored
            own = DescentOracle(rows, self._multiplicity[counted], None, n_labels(cost))
            return own._find_least_error(cost[counted]).placed(columns, self.rows.shape[1])
        best = self._search(cost, None)
        return self._kick(best, cost) if self.cheap else best

    def known_labels(self, response: Classifiers) -> LabelArray | None:
        return None if self._neighbours is None else self._neighbours.known_labels(response)

    def variations(self, cost: FloatArray, below: float, most: int) -> tuple[Classifiers, LabelArray] | None:
        if self._neighbours is None or not len(self._neighbours):
            return None
        found, labels = self._neighbours.best_of_each(cost, most, below)
        return (found, labels) if len(found) else None

    def _search(self, cost: FloatArray, known: LinearClassifiers | None) -> LinearClassifiers:
        """From the regression and the cheapest that are known; on a large table from the cheapest of all only."""
        starts = self.regression.best_response(cost)
        if known is not None:
            cheapest = np.argsort(self._total_costs(known, cost), kind="stable")[: _STARTS - 1]
            starts = starts.joined(known.take(cheapest))
        if not self.cheap:
            starts = starts.take(np.argmin(self._total_costs(starts, cost), keepdims=True))
        return self._descend(starts, cost)[0]

    def _search_nearby(self, cost: FloatArray, known: LinearClassifiers, neighbours: Neighbours) -> LinearClassifiers:
        """From the cheapest of all single steps, or the regression; and where that ends no lower, from near the best.

        The answer is new: it is the cheapest found now, though one that is known may be as cheap.
        """
        starts = neighbours.cheapest(cost).joined(self.regression.best_response(cost)).joined(known.take(_FIRST))
        total = self._total_costs(starts, cost)
        enough, lowest = LEAST_GAIN if self.cheap else _LEAST_GAIN_LARGE, float(total.min()) - _ROUNDING
        best, least = self._descend(starts.take(np.argmin(total[:2], keepdims=True)), cost, least_gain=enough)
        for _ in range(_TRIES):
            if least < lowest:
                break
            found, total_found = self._descend(self._disturbed(best, _LIGHTLY, self._random), cost, least_gain=enough)
            if total_found < least - _ROUNDING:
                best, least = found, total_found
        return best

    @staticmethod
    def _disturbed(one: LinearClassifiers, share: float, random: np.random.Generator) -> LinearClassifiers:
        size = share * np.abs(one.coef).mean()
        return LinearClassifiers(one.coef + size * random.normal(size=one.coef.shape), one.intercept)

    def plain_model(self, error_cost: FloatArray) -> LinearClassifiers:
        """Logistic regression, changed only by steps that gain more than chance would give; no test set is needed.

        A step that changes the labels of some points must gain two standard deviations of what it would gain, were the
        sign of each of their costs a coin toss. Never a higher training error than the least squares of
        :class:`RegressionOracle`: where logistic regression ends above, the same steps are taken from there. Of more
        than two labels, multinomial logistic regression as it is.
        """
        if error_cost.ndim > 1:
            return LinearClassifiers(*multinomial_regression(self.rows, error_cost))
        least_squares = self.regression.best_response(error_cost)
        at_most = self._total_costs(least_squares, error_cost)[0]
        if (error_cost > 0).any() and (error_cost < 0).any():
            logistic = _logistic_regression(self.rows, self._multiplicity, error_cost)
            careful, total = self._descend(logistic, error_cost, _CAUTION)
            if total <= at_most:
                return careful
        return self._descend(least_squares, error_cost, _CAUTION)[0]

    def _descend(
        self,
        starts: LinearClassifiers,
        cost: FloatArray,
        caution: float | None = None,
        least_gain: float = LEAST_GAIN,
    ) -> tuple[LinearClassifiers, float]:
        """The cheapest of the starts and of where descending from each leads, and what it costs."""
        coef, intercept = starts.coef.copy(), starts.intercept.copy()
        for t in range(len(starts)):
            if cost.ndim > 1:
                coef[t], intercept[t] = descend_labels(self.columns, cost, coef[t], intercept[t])
                continue
            intercept[t] = descend(self.columns, cost, coef[t], intercept[t], MAX_SWEEPS, least_gain, caution)
        candidates = LinearClassifiers(coef, intercept).joined(starts)
        total = self._total_costs(candidates, cost)
        return candidates.take(np.argmin(total, keepdims=True)), float(total.min())

    def _total_costs(self, classifiers: LinearClassifiers, cost: FloatArray) -> FloatArray:
        """Of each of some classifiers ``(k,)``."""
        if cost.ndim > 1:
            return classifiers.total_costs(self.rows, cost)
        return np.asarray(total_costs(self.columns, cost, classifiers.coef, classifiers.intercept))

    def _kick(self, best: LinearClassifiers, cost: FloatArray) -> LinearClassifiers:
        """Iterated local search: walks that disturb, descend and go on where that is no dearer; the best of all."""
        random = np.random.default_rng(0)
        least = here = float(self._total_costs(best, cost)[0])
        first = at = best
        kicks = int(np.clip(_KICKING_WORK / self.rows.size, *_KICKS)) if cost.ndim == 1 else _KICKS[0]
        for kick, share in enumerate(islice(cycle(_BY_HOW_MUCH), kicks), 1):
            candidate, total = self._descend(self._disturbed(at, share, random), cost)
            if total <= here + _ROUNDING:
                at, here = candidate, total
            if here < least - _ROUNDING:
                best, least = at, here
            if kick % _WALK == 0:
                at, here = self._descend(self._disturbed(first, _FAR, random), cost)
        return best


def _logistic_regression(rows: FloatArray, multiplicity: FloatArray, error_cost: FloatArray) -> LinearClassifiers:
    """Of the labels, by scikit-learn's default penalty at a mean weight of 1: only the proportions of weights matter.

    ``error_cost * multiplicity.sum()`` is by how much label 0 outweighs label 1 at a point.
    """
    from sklearn.linear_model import LogisticRegression  # scikit-learn's models are slow to load

    share = multiplicity / multiplicity.sum()
    weight = np.concatenate([share - error_cost, share + error_cost]) * (len(rows) / 2)
    counted = np.flatnonzero(weight > _ROUNDING)
    fitted = LogisticRegression(solver="newton-cholesky").fit(
        rows[counted % len(rows)], counted < len(rows), sample_weight=weight[counted]
    )
    return LinearClassifiers(fitted.coef_, fitted.intercept_)
