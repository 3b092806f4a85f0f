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
    from fairwise.learning.solvers.solution import Solution

_SEARCHED = 2  # for so many of the days the oracle is asked too, so that the pool is not about one day only
_NEARLY_USED = 10  # so many more for each point: with other answers they may be the ones to use
_PRECISION = 1e-6
_NO_PAIRS = pd.MultiIndex.from_arrays([[], []], names=["a", "b"])


@dataclass(frozen=True, eq=False)
class AnswerPool:
    """Classifiers found for some points and answers, and what to mix them for.

    Of all that a search finds, hundreds or thousands, only these are kept: the constants, those that some best mixture
    found uses, and for each of these mixtures the few of least cost at its multipliers besides.
    """

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
        pool, solutions = searched(whole, points, model.classifiers_)
        kept = [whole.oracle.constants(), model.classifiers_, *promising(whole, solutions)]
        ends = sorted(points, key=lambda point: (1.0 if point[1] is None else point[1], point[0]))
        for day in days[:_SEARCHED]:
            prepared = prepare(_params(model), people, outcome, day, encoder=whole.encoder, **fit_params)
            at = [ends[0], ends[len(ends) // 2]]
            pool, solutions = searched(prepared, at, pool)
            kept += promising(prepared, solutions)
        every = join(kept)
        _, first = np.unique(every.labels(whole.problem.points.rows), axis=0, return_index=True)
        pool = every.take(np.sort(first))
        return cls(model, (people, outcome), points, fit_params, whole, pool)

    @raise_interrupts()
    def solved(self, judgments: Judgments) -> tuple[FloatArray, pd.Series[float]]:
        """Errors ``(points,)`` of the best mixtures for these answers, and what each pair costs at the first point."""
        prepared = prepare(_params(self.model), *self.data, judgments, encoder=self.whole.encoder, **self.fit_params)
        whole, unit = prepared.scaled.problem, prepared.unit
        labels = self.classifiers.labels(whole.points.rows)
        known = whole.evaluate_labels(labels)
        if not len(whole):  # nobody asks for anything
            return np.full(len(self.points), unit * known[0].min()), pd.Series(dtype=float, index=_NO_PAIRS)
        problems = [whole.at_point(*point) for point in self.points]
        # A budget of 0 makes its rows hard, which is another programme.
        pools: dict[bytes, Pool] = {}
        errors, prices = np.empty(len(problems)), None
        for place, problem in enumerate(problems):
            key = problem.hard.tobytes()
            if key not in pools:
                pools[key] = Pool(problem, prepared.oracle)
                pools[key].keep(self.classifiers, *known)
            master = pools[key].solve(problem, _PRECISION)
            errors[place] = unit * master.weights @ pools[key].errors
            if place == 0:
                prices = _pair_prices(prepared, unit * master.multipliers.rows, problem.gamma)
        assert prices is not None
        return errors, prices


def searched(
    prepared: PreparedFit, points: Sequence[tuple[float, float | None]], known: Classifiers
) -> tuple[Classifiers, list[Solution]]:
    """Every classifier that is known after a search for these answers and points, and the solutions."""
    solutions = solve_curve(prepared, points, known)
    found = [solution.pool for solution in solutions if solution.pool is not None]
    return found[-1] if found else known, solutions


def promising(prepared: PreparedFit, solutions: list[Solution]) -> list[Classifiers]:
    """Those that each solution uses, and the few of least ``err(h) + lambda @ values(h)`` at its multipliers."""
    kept = [solution.classifiers for solution in solutions]
    pool = solutions[-1].pool
    if pool is None:
        return kept
    errors, values = prepared.problem.evaluate(pool)
    for solution in solutions:
        costs = errors + values @ solution.multipliers.rows
        most = len(solution.classifiers) + _NEARLY_USED
        kept.append(pool.take(np.argsort(costs, kind="stable")[:most]))
    return kept


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
