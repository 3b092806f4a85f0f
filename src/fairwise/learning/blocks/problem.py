"""The problem of a table that is read in blocks, in the form that solvers know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.learning.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.oracles.linear_classifiers import LinearClassifiers


@dataclass(frozen=True, eq=False)
class LargeProblem(Problem):
    """Points are cells of people of one group and outcome and, behind these, judged people.

    A classifier's "label" of a cell is the share of its people to whom it gives label 1, which takes a pass over the
    rows to know; costs of errors and of statistical rules are the same for everyone in a cell. Costs of pairs come on
    top, on judged people, whose labels are known without a pass: ``points.rows`` are theirs.
    """

    count_shares: Callable[[LinearClassifiers], FloatArray] = field(kw_only=True)
    """One pass: share ``(k, cells)`` of each cell to whom each classifier gives label 1."""

    _seen: dict[bytes, FloatArray] = field(default_factory=dict, kw_only=True)

    def evaluate(self, classifiers: Any) -> tuple[FloatArray, np.ndarray[Any, Any]]:
        shares = self._shares(classifiers)
        n_cells = shares.shape[1]
        errors = self.points.error_offset + shares @ self.points.error_cost[:n_cells]
        pairs = self.differences(classifiers.labels(self.points.rows))
        if self.groups is None:
            return errors, pairs
        return errors, np.concatenate([pairs, shares @ self.groups.matrix[:, :n_cells].T], axis=1)

    def observe(self, classifier: Any) -> tuple[float, np.ndarray[Any, Any], bytes]:
        errors, values = self.evaluate(classifier)
        return float(errors[0]), values[0], _key(classifier, 0)

    def costs_of(self, classifiers: LinearClassifiers, cost: FloatArray) -> FloatArray:
        """``sum_p cost[p] h(p)`` over cells and judged people, ``(k,)``."""
        labels = classifiers.labels(self.points.rows).astype(float)
        return np.concatenate([self._shares(classifiers), labels], axis=1) @ cost

    def _shares(self, classifiers: LinearClassifiers) -> FloatArray:
        """Of each cell ``(k, cells)``; a pass is made only for classifiers that were never asked about."""
        keys = [_key(classifiers, t) for t in range(len(classifiers))]
        new = [t for t, key in enumerate(keys) if key not in self._seen]
        if new:
            for t, share in zip(new, self.count_shares(classifiers.take(np.array(new))), strict=True):
                self._seen[keys[t]] = share
        return np.array([self._seen[key] for key in keys]).reshape(len(keys), -1)


def _key(classifiers: LinearClassifiers, t: int) -> bytes:
    return bytes(classifiers.coef[t].tobytes() + classifiers.intercept[t].tobytes())
