"""The best mixtures of known classifiers for answers that change, with no oracle asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing.leave_out import params_of
from fairwise.constraints.pairs import price_table
from fairwise.learning.preparation import PreparedFit, prepare
from fairwise.learning.solvers.dispatch import solve_curve
from fairwise.learning.solvers.no_regret import join
from fairwise.learning.solvers.pool import Pool
from fairwise.learning.solvers.progress import raise_interrupts

if TYPE_CHECKING:
    from fairwise.constraints.pairs import FloatArray
    from fairwise.judgments import Judgments
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.oracles.base import Classifiers

_SEARCHED = 5  # for so many of the days the oracle is asked too, so that the pool is not about one day only
_PRECISION = 1e-6
_NO_PAIRS = pd.MultiIndex.from_arrays([[], []], names=["a", "b"])


@dataclass(frozen=True, eq=False)
class AnswerPool:
    """Classifiers found for some points and answers, and what to mix them for."""

    model: PairwiseFairClassifier
    data: tuple[Any, object]
    points: Sequence[tuple[float, float | None]]
    fit_params: dict[str, Any]
    whole: PreparedFit
    classifiers: Classifiers

    @classmethod
    @raise_interrupts()
    def search(
        cls,
        model: PairwiseFairClassifier,
        people: Any,
        outcome: object,
        judgments: Judgments,
        points: Sequence[tuple[float, float | None]],
        days: Sequence[Judgments],
        fit_params: dict[str, Any],
    ) -> AnswerPool:
        """Search for the answers given at all points, and for the first days at the tightest and the loosest."""
        whole = prepare(_params(model), people, outcome, judgments, **fit_params)
        pool = _searched(whole, whole, points, model.classifiers_)
        ends = sorted(points, key=lambda point: (1.0 if point[1] is None else point[1], point[0]))
        for day in days[:_SEARCHED]:
            prepared = prepare(_params(model), people, outcome, day, encoder=whole.encoder, **fit_params)
            pool = _searched(whole, prepared, [ends[0], ends[len(ends) // 2]], pool)
        return cls(model, (people, outcome), points, fit_params, whole, pool)

    @raise_interrupts()
    def solved(self, judgments: Judgments) -> tuple[FloatArray, pd.Series[float]]:
        """Errors ``(points,)`` of the best mixtures for these answers, and what each pair costs at the first point."""
        prepared = prepare(_params(self.model), *self.data, judgments, encoder=self.whole.encoder, **self.fit_params)
        if not len(prepared.problem):  # nobody asks for anything
            errors, _ = prepared.problem.evaluate(self.classifiers)
            return np.full(len(self.points), errors.min()), pd.Series(dtype=float, index=_NO_PAIRS)
        problems = [prepared.problem.at_point(*point) for point in self.points]
        labels = self.classifiers.labels(prepared.problem.points.rows)
        known = prepared.problem.evaluate_labels(labels)
        # A budget of 0 makes its rows hard, which is another programme.
        pools: dict[bytes, Pool] = {}
        errors, prices = np.empty(len(problems)), None
        for place, problem in enumerate(problems):
            key = problem.hard.tobytes()
            if key not in pools:
                pools[key] = Pool(problem, prepared.oracle)
                pools[key].keep(self.classifiers, *known)
            master = pools[key].solve(problem, _PRECISION)
            errors[place] = master.weights @ pools[key].errors
            if place == 0:
                prices = _pair_prices(prepared, master.multipliers.rows, problem.gamma)
        assert prices is not None
        return errors, prices


def _searched(
    whole: PreparedFit, prepared: PreparedFit, points: Sequence[tuple[float, float | None]], known: Classifiers
) -> Classifiers:
    """What is known and what is found for these answers and points, each once."""
    found = [solution.pool for solution in solve_curve(prepared, points, known) if solution.pool is not None]
    every = join([prepared.oracle.constants(), known, *found[-1:]])
    _, first = np.unique(every.labels(whole.problem.points.rows), axis=0, return_index=True)
    return every.take(np.sort(first))


def _params(model: PairwiseFairClassifier) -> dict[str, Any]:
    """The model's settings; each point sets gamma and the limit of the panel's budget itself."""
    return params_of(model) | {"gamma": 0.0, "eta": 1.0, "tol": model.tol}


def _pair_prices(prepared: PreparedFit, multipliers: FloatArray, gamma: float) -> pd.Series[float]:
    """What each pair costs, whoever was asked, by its two people in a fixed order."""
    rows = np.zeros(len(prepared.pairs))
    rows[prepared.problem.source] = multipliers[: prepared.problem.n_pairs]
    table = price_table(prepared.pairs, rows, np.zeros(len(prepared.pairs.people)), gamma)
    first, second = table["a"].astype(str), table["b"].astype(str)
    ordered = pd.MultiIndex.from_arrays([first.where(first <= second, second), second.where(first <= second, first)])
    return (
        table["price"].groupby([ordered.get_level_values(0), ordered.get_level_values(1)]).sum().rename_axis(["a", "b"])
    )
