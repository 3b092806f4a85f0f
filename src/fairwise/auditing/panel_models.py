"""The models that parts of a panel would get, before and after it talked, over the classifiers found for some of them.

Each part is a vector of how often every judge counts: an arm, all but some, or judges drawn with replacement. What is
known of people and classifiers is computed once; a part then takes one linear programme for each round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing.leave_out import params_of
from fairwise.auditing.pool_solving import promising, searched
from fairwise.constraints.pairs import Budget, price_table
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.learning.preparation import PreparedFit, prepare
from fairwise.learning.problem import NO_BUDGET, Problem
from fairwise.learning.solvers.no_regret import join
from fairwise.learning.solvers.pool import Pool
from fairwise.learning.solvers.progress import raise_interrupts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fairwise.constraints.pairs import FloatArray, PairRows
    from fairwise.learning.estimator import PairwiseFairClassifier

BEFORE, AFTER = 0, 1
_PRECISION = 1e-7


@dataclass(frozen=True, eq=False)
class PanelModel:
    """The best mixture for some answers: its error, the prices added up, and how each person is treated ``(n,)``."""

    error: float
    price: float
    treated: FloatArray


@dataclass(frozen=True, eq=False)
class PanelModels:
    """Data to find the model of any part of ``J`` judges.

    ``judge`` and ``round`` ``(N,)`` say whose each answer is, and whether it is of before or after; ``labels``
    ``(K, P)``, ``errors`` ``(K,)`` and ``values`` are those of the classifiers found.
    """

    prepared: PreparedFit
    eta: float | None
    judge: NDArray[np.int64]
    round: NDArray[np.int64]
    n_judges: int
    classifiers: Any
    labels: NDArray[np.uint8]
    errors: FloatArray
    values: Any

    @classmethod
    @raise_interrupts()
    def search(
        cls,
        model: PairwiseFairClassifier,
        people: Any,
        outcome: object,
        rounds: tuple[Judgments, Judgments],
        judges: Sequence[object],
        parts: Sequence[FloatArray],
    ) -> PanelModels:
        """Find classifiers for both rounds of each of these parts ``(J,)``."""
        if model.solver != "column-generation":
            raise InputError(f'solver={model.solver!r}: only models of solver="column-generation" can be compared so')
        if model.judge_budgets is not None or model.group_constraints:
            raise InputError("judge_budgets, group_constraints: what talking does to a model can be told without them")
        params = params_of(model) | {"tol": model.tol, "eta": NO_BUDGET}
        stacked = _stacked(rounds, judges)
        prepared = prepare(params, people, outcome, stacked)
        if len(prepared.classes) != 2:
            raise InputError("outcome: what talking does to a model can be told of two outcomes so far")
        names = prepared.pairs.answers["judge"].astype(str).str.split(":", n=1, expand=True)
        empty = np.empty(0)
        found = cls(
            prepared=prepared,
            eta=model.eta,
            judge=names[1].to_numpy().astype(np.int64),
            round=names[0].to_numpy().astype(np.int64),
            n_judges=len(judges),
            classifiers=None,
            labels=np.empty((0, 0), dtype=np.uint8),
            errors=empty,
            values=None,
        )
        known, kept = prepared.oracle.constants(), [prepared.oracle.constants()]
        for part in parts:
            for number in (BEFORE, AFTER):
                rows, problem = found._problem(part, number)
                of_part = replace(prepared, problem=problem, pairs=rows)
                known, solutions = searched(of_part, [(problem.gamma, model.eta)], known)
                kept += promising(of_part, solutions)
        every = join(kept)
        labels = every.labels(prepared.problem.points.rows)
        _, first = np.unique(labels, axis=0, return_index=True)
        first = np.sort(first)
        errors, values = prepared.problem.evaluate_labels(labels[first])
        return replace(found, classifiers=every.take(first), labels=labels[first], errors=errors, values=values)

    @raise_interrupts()
    def solved(self, times: FloatArray, number: int) -> PanelModel:
        """The model of the judges who count so often ``(J,)``, in round BEFORE or AFTER."""
        rows, problem = self._problem(times, number)
        weights, price = np.zeros(len(self.errors)), 0.0
        if not len(problem):  # nobody asks for anything
            weights[self.errors.argmin()] = 1.0
        else:
            pool = Pool(problem, self.prepared.oracle)
            pool.add(self.errors, self.values[:, problem.source])
            solution = pool.solve(problem, _PRECISION)
            weights, multipliers = solution.weights, np.zeros(len(rows))
            multipliers[problem.source] = solution.multipliers.rows
            nobody = np.zeros(len(rows.people))
            price = float(price_table(rows, multipliers, nobody, problem.gamma)["price"].sum())
        label_1 = (weights @ self.labels)[self.prepared.people]
        return PanelModel(float(weights @ self.errors), price, self.prepared.problem.favorable(label_1))

    def _problem(self, times: FloatArray, number: int) -> tuple[PairRows, Problem]:
        """Rows weighted by how often their judges count, and the problem at the model's eta."""
        prepared, pairs = self.prepared, self.prepared.pairs
        weight = pairs.answers["weight"].to_numpy(dtype=float) * times[self.judge] * (self.round == number)
        mass = np.bincount(pairs.entry_row, weight[pairs.entry_answer], minlength=len(pairs)).astype(float)
        rows = replace(pairs, mass=mass, answers=pairs.answers.assign(weight=weight))
        shares = rows.shares(prepared.settings.weighting, mask=weight > 0)
        counted = np.flatnonzero(shares > 0)
        budget = Budget("panel", counted, shares[counted], NO_BUDGET if self.eta is None else float(self.eta))
        base = prepared.problem
        return rows, Problem.build(base.points, base.judged, rows, [budget], sign=base.sign, gamma=base.gamma)


def _stacked(rounds: tuple[Judgments, Judgments], judges: Sequence[object]) -> Judgments:
    """Both rounds as one table, in which a judge of each round is a judge of their own: ``round:position``."""
    place = {judge: number for number, judge in enumerate(judges)}
    parts = []
    for number, one in enumerate(rounds):
        rows = one.asked().counted()[["judge", "a", "b", "answer", "weight"]]
        rows = rows[rows["judge"].isin(place)]
        parts.append(
            rows.assign(judge=[f"{number}:{place[judge]}" for judge in rows["judge"]], round=1, design="fixed")
        )
    frame = pd.concat(parts, ignore_index=True)
    return Judgments(frame, people=rounds[0].people, by=rounds[0].by)
