"""Linear threshold classifiers, and two searches for them: the paper's regression, and descent on the 0/1 cost.

A label is the sign of a sum in double precision and fixed order (``linear_kernels``). Of many classifiers scores are
first computed in single precision, together with a bound on how far they can be from that sum. Where a score is beyond
the bound its sign is certain; the few others are added again in the exact way, so labels are equal bit for bit.

Of ``k > 2`` labels each but the first has such a sum, the first has 0, and the largest decides: the form of multinomial
logistic regression. One sum cut at ``k - 1`` thresholds is among them, as is one label against the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairwise.learning.oracles.base import (
    ArrayClassifiers,
    Classifiers,
    FloatArray,
    IntArray,
    LabelArray,
    Oracle,
    total_costs,
)
from fairwise.learning.oracles.label_scores import (
    label_scores,
)
from fairwise.learning.problem import Problem
from fairwise.messages import Message, marked

FEW = 8  # so few classifiers are as well scored exactly
_AT_ONCE = 128  # classifiers scored together
_TILE = 1 << 17  # multiplications in a matrix product that BLAS does at once and on one core: threads are ours to start
_SCORES = 1 << 22  # sums of labels in memory at once
_UNIT = 2.0**-24  # rounding of single precision
_SAFE = 1e15  # entries up to this cannot overflow there
_TINY = 1e-30  # more than all underflows of one score together
_RELATIVE_RANK = 1e-10
_STARTS = 3
_LARGE = 1_000_000  # a matrix of more numbers than this is searched from the cheapest start only
_ROUNDING = 1e-9
_KICKS = 20  # how often the search for the least error is thrown off and started again from there
_CAUTION = 2.0  # standard deviations by which a step of the plain model must gain: the usual measure of chance

MANY_LABELS = marked("linear scores for each label, by {how}")

Values = TypeVar("Values", FloatArray, NDArray[np.int32])


@dataclass(frozen=True, eq=False)
class LinearClassifiers(ArrayClassifiers):
    """``h_t(x) = [intercept[t] + x . coef[t] > 0]`` for ``t < k``; ``coef`` is ``(k, d)``.

    Of more than two labels ``coef`` is ``(k, labels - 1, d)``, and ``h_t(x)`` is the label with the largest sum, that
    of label 0 being 0; of equal sums the first.
    """

    coef: FloatArray
    intercept: FloatArray

    @classmethod
    def constants(cls, n_columns: int, n_labels: int = 2) -> LinearClassifiers:
        if n_labels > 2:
            return cls(np.zeros((n_labels, n_labels - 1, n_columns)), 2.0 * np.eye(n_labels)[:, 1:] - 1.0)
        return cls(np.zeros((2, n_columns)), np.array([-1.0, 1.0]))

    def over(self, columns: IntArray) -> LinearClassifiers:
        """Return the same classifiers for matrices with only these columns, in this order."""
        return LinearClassifiers(self.coef[..., columns], self.intercept)

    def placed(self, columns: IntArray, n_columns: int) -> LinearClassifiers:
        """Return the same classifiers for matrices of ``n_columns``, of which theirs are these."""
        coef = np.zeros((*self.coef.shape[:-1], n_columns))
        coef[..., columns] = self.coef
        return LinearClassifiers(coef, self.intercept)

    def labels(self, rows: FloatArray) -> LabelArray:
        if self.coef.ndim == 3:
            step = max(1, _SCORES // max(self.intercept.size, 1))
            parts = [self.label_scores(rows[start : start + step]) for start in range(0, max(len(rows), 1), step)]
            return np.concatenate([np.argmax(part, axis=1).astype(np.uint8) for part in parts], axis=1)
        if len(self) > FEW:
            return labels_of_many(rows, self.coef, self.intercept).T
        labels = np.empty((len(rows), len(self)), dtype=np.uint8)
        self._score_exactly(rows, None, labels)
        return labels.T

    def label_scores(self, rows: FloatArray) -> FloatArray:
        """The sum of every label ``(k, labels, n)``, added in the order of the columns: the same in any batch."""
        return label_scores(self.coef, self.intercept, rows)

    def total_costs(self, rows: FloatArray, cost: FloatArray) -> FloatArray:
        """``sum_p cost[p] h_t(p)``, ``(k,)``, without storing the labels."""
        if self.coef.ndim == 3 and len(self) > FEW:
            everyone = np.zeros(len(rows), dtype=np.intp)
            return np.asarray(label_totals(rows, self, everyone, cost, 1)[0].sum(axis=0))
        if self.coef.ndim == 3:
            return total_costs(self.labels(rows), cost)
        if len(self) > FEW:
            everyone = np.zeros(len(rows), dtype=np.intp)
            return np.asarray(cell_totals(rows, self.coef, self.intercept, everyone, cost, 1)[0])
        self._score_exactly(rows, cost, totals := np.zeros((1, len(self))))
        return np.asarray(totals[0])

    def _score_exactly(self, rows: FloatArray, cost: FloatArray | None, out: FloatArray | LabelArray) -> None:
        _kernels().exact(np.ascontiguousarray(rows), np.ascontiguousarray(self.coef.T), self.intercept, cost, out)


def labels_of_many(rows: FloatArray, coef: FloatArray, intercept: FloatArray) -> LabelArray:
    """Labels ``(n, k)`` of rows ``(n, d)`` under classifiers ``(k, d)``, ``(k,)``."""
    out = np.empty((len(rows), len(intercept)), dtype=np.uint8)
    for some, scored in _score(rows, coef, intercept):
        own = np.empty((len(rows), some.stop - some.start), dtype=np.uint8)
        _kernels().quick(*scored, None, None, own)
        out[:, some] = own
    return out


def cell_totals(
    rows: FloatArray, coef: FloatArray, intercept: FloatArray, cell: IntArray, value: Values, n_cells: int
) -> Values:
    """``sum_p value[p] h_t(p)`` over the rows of each cell, in their order: ``(n_cells, k)``, of value's type."""
    out = np.zeros((n_cells, len(intercept)), dtype=value.dtype)
    for some, scored in _score(rows, coef, intercept):
        own = np.zeros((n_cells, some.stop - some.start), dtype=value.dtype)
        if len(rows):
            _kernels().quick(*scored, cell, value, own)
        out[:, some] = own
    return out


def label_totals(
    rows: FloatArray, classifiers: LinearClassifiers, cell: IntArray, value: Values, n_cells: int
) -> Values:
    """``sum_p value[p, l - 1] [h_t(p) = l]`` of each cell and label but the first: ``(n_cells, labels - 1, k)``.

    Of more than two labels; ``value`` is ``(n, labels - 1)``, and the sums are of its type.
    """
    out: Any = np.zeros((n_cells, classifiers.coef.shape[1], len(classifiers)), dtype=value.dtype)
    for start in range(0, len(classifiers), _AT_ONCE):
        some = slice(start, min(start + _AT_ONCE, len(classifiers)))
        own = np.zeros((*out.shape[:2], some.stop - some.start), dtype=value.dtype)
        coef = np.ascontiguousarray(np.moveaxis(classifiers.coef[some], 0, 2).swapaxes(0, 1))
        intercept = np.ascontiguousarray(classifiers.intercept[some].T)
        _row_kernels().add_labels(np.ascontiguousarray(rows), coef, intercept, cell, np.ascontiguousarray(value), own)
        out[:, :, some] = own
    return out  # type: ignore[no-any-return]


def _score(rows: FloatArray, coef: FloatArray, intercept: FloatArray) -> Iterator[tuple[slice, tuple[Any, ...]]]:
    """Some classifiers at a time, with what the loops need to know of them and of the rows.

    With ``u`` the rounding of single precision, converting two factors and adding ``d + 1`` products in any order is
    wrong by at most about ``(d + 3) u (|b| + sum_j |x_j| |w_j|)``; double precision adds nothing that matters.
    """
    rows = np.ascontiguousarray(rows)
    # Powers of two bring every classifier to one size without changing a sign.
    both = np.concatenate([intercept[:, None], coef], axis=1)
    scaled = np.ldexp(both, -np.frexp(np.abs(both).max(axis=1))[1][:, None])
    most = np.abs(scaled).max(axis=0)
    single, bound = _kernels().in_single_precision(rows, most, 1.1 * (len(most) + 4) * _UNIT, _SAFE, _TINY)
    tile = max(1, _TILE // (_AT_ONCE * len(most)))
    for start in range(0, len(intercept), _AT_ONCE):
        some = slice(start, min(start + _AT_ONCE, len(intercept)))
        weights = np.ascontiguousarray(scaled[some].T, dtype=np.float32)
        exact = rows, np.ascontiguousarray(coef[some].T), np.ascontiguousarray(intercept[some])
        yield some, (*exact, single, weights, bound, tile)


def _kernels() -> ModuleType:
    from fairwise.learning.oracles import linear_kernels  # numba is slow to load

    return linear_kernels


def _row_kernels() -> ModuleType:
    from fairwise.learning import row_kernels  # as above

    return row_kernels


@dataclass(frozen=True, eq=False)
class RegressionTerms:
    """All that a game against the regression needs of the people, however large their table.

    Judged people's rows ``(m, d)``, the inverse Gram matrix and the regression on the costs of errors alone, which is
    ``(1 + d,)`` of two labels and ``(labels - 1, 1 + d)`` of more.
    """

    judged_rows: FloatArray
    inverse_gram: FloatArray
    base: FloatArray
    columns: IntArray | None = None
    """Columns of the table that these are about, of ``n_columns``; None for all."""

    n_columns: int = 0

    def placed(self, classifiers: LinearClassifiers) -> LinearClassifiers:
        """Classifiers of ``judged_rows`` as classifiers of the table."""
        return classifiers if self.columns is None else classifiers.placed(self.columns, self.n_columns)

    def response(self, on_people: FloatArray) -> LinearClassifiers:
        """The regression with these costs on judged people ``(m,)``, ``(m, labels - 1)`` besides those of errors."""
        return _against(self.base + _regress(self.inverse_gram, self.judged_rows, on_people))


class RegressionOracle(Oracle):
    """The paper's oracle (Kearns et al. 2018): regress ``c1 - c0`` on ``(1, x)``, predict 1 where that is negative.

    Two regressions, of ``c0`` and of ``c1``, are one regression of their difference. With the Gram matrix factorised
    once, ``beta = pinv(Z.T diag(multiplicity) Z) Z.T cost`` with ``Z = (1, X)``, a best response is one product. Of
    more labels each but the first has its regression, and the label of the lowest fitted cost wins.

    Parameters
    ----------
    rows
        ``(P, d)`` distinct encoded rows.
    multiplicity
        ``(P,)`` how often each stands in the table: every person is one observation of the regression.
    n_labels
        How many labels there are to decide between.
    """

    exact = False
    cheap = True
    is_regression = True
    seed_rounds = 500
    _n_labels = 2

    def __init__(self, rows: FloatArray, multiplicity: FloatArray, n_labels: int = 2) -> None:
        self.rows = rows
        self.inverse_gram = inverse_gram(rows, multiplicity)
        self._n_labels = n_labels
        self.hypothesis_class = regression_class(n_labels)

    def constants(self) -> LinearClassifiers:
        return LinearClassifiers.constants(self.rows.shape[1], self._n_labels)

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> LinearClassifiers:  # noqa: ARG002
        return _against(self._regress(cost))

    def regression_terms(self, problem: Problem) -> RegressionTerms | None:
        judged = np.ascontiguousarray(problem.points.rows[problem.judged])
        return RegressionTerms(judged, self.inverse_gram, self._regress(problem.points.error_cost))

    def _regress(self, cost: FloatArray) -> FloatArray:
        """``beta``, from ``Z.T cost`` ``(1 + d,)``; of more than two labels ``(k - 1, 1 + d)``."""
        return _regress(self.inverse_gram, self.rows, cost)


def _regress(inverse: FloatArray, rows: FloatArray, cost: FloatArray) -> FloatArray:
    moments = np.concatenate([cost.sum(axis=0)[..., None], cost.T @ rows], axis=-1)
    return np.asarray((inverse @ moments.T).T)


def regression_class(n_labels: int) -> str:
    """What the regression searches, in words."""
    if n_labels > 2:
        return Message(MANY_LABELS, how=Message("least squares of the costs"))
    return Message("linear thresholds, by least squares of the costs")


def _against(beta: FloatArray) -> LinearClassifiers:
    """Label 1 where the fitted cost is negative; of more labels that of the lowest."""
    return LinearClassifiers(-beta[None, ..., 1:], -beta[None, ..., 0])


def inverse_gram(rows: FloatArray, multiplicity: FloatArray) -> FloatArray:
    """``pinv(Z.T diag(multiplicity) Z)``, ``(1 + d, 1 + d)``."""
    d = rows.shape[1]
    gram = np.empty((1 + d, 1 + d))
    gram[0, 0] = multiplicity.sum()
    gram[0, 1:] = gram[1:, 0] = multiplicity @ rows
    gram[1:, 1:] = (rows * multiplicity[:, None]).T @ rows
    return pseudo_inverse(gram)


def pseudo_inverse(gram: FloatArray) -> FloatArray:
    """The pseudo-inverse of a Gram matrix, with columns brought to one scale first."""
    scale = np.sqrt(np.diag(gram))
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    kept = values > _RELATIVE_RANK * max(values[-1], 0.0)
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return np.asarray(inverse / np.outer(scale, scale))
