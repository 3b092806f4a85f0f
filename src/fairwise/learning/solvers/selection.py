"""Which few of some classifiers to mix: the master programme with a choice for each of them.

::

    minimise    sum_t z_t   (the fewest)   or   errors @ p   (the best of at most ``most``)
    subject to  p as in the master programme
                p_t <= largest_t z_t,  z_t in {0, 1}            whether classifier t may have any weight
                errors @ p <= ceiling,  sum_t z_t <= most

No mixture within the ceiling gives classifier ``t`` more weight than ``largest_t = (ceiling - value) / reduced_t``: by
duality ``errors @ p >= value + reduced @ p``, where ``value`` and the reduced costs are those without the choices.

The search ends after a number of nodes, not of seconds, so that it finds the same on any machine; a limit in seconds is
there for whoever set one.
"""

from __future__ import annotations

import highspy
import numpy as np

from fairwise.errors import SolverError
from fairwise.learning.oracles.base import FloatArray, IntArray, RowValues
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.highs import INFINITY, add_columns, add_rows
from fairwise.learning.solvers.master import Master, MasterSolution
from fairwise.learning.solvers.solution import FEASIBLE

MOST_CANDIDATES = 250  # below the number from which a master takes columns out
_NODES = 50
_NODES_FOR_FEWEST = 10  # a choice is known then: what more nodes or a heuristic find besides is hardly ever less
_HEURISTICS = ("feasibility_jump", "rens", "rins", "root_reduced_cost")
_ROUNDS = 12  # of cuts that a choice breaks
_ROOM = 1e-9  # beyond the ceiling: it is often the error of a mixture that is known
_ANY_WEIGHT = 1e-9
_LEAST_WEIGHT = 1e-6  # what can have no more is left out


class Selection(Master):
    """A choice among a few classifiers, with errors ``(k,)`` and row values ``(k, len(problem))``."""

    def __init__(
        self, problem: Problem, errors: FloatArray, values: RowValues, ceiling: float, most: int | None = None
    ) -> None:
        super().__init__(problem)
        self._problem = problem
        self.add(errors, values)
        relaxed = self.solve(problem)  # brings in the cuts that matter
        self._first = len(self._groups), len(self._groups) + len(self)  # of the weights, of the choices
        reduced = np.maximum(self.costs(relaxed.multipliers) - relaxed.dual, 0.0)
        room = max(ceiling - relaxed.value, 0.0) + _ROOM
        self._add_choices(room / np.maximum(reduced, room), ceiling, most)

    def _add_choices(self, largest: FloatArray, ceiling: float, most: int | None) -> None:
        """From here on rows are no longer where the linear programme expects them, and only cuts are added."""
        count, lp = len(self), self._lp
        weights, choices = (np.arange(first, first + count, dtype=np.int32) for first in self._first)
        add_columns(lp, np.full(count, float(most is None)))
        possible = largest >= _LEAST_WEIGHT
        lp.changeColsBounds(count, choices, np.zeros(count), possible.astype(float))
        lp.changeColsIntegrality(count, choices, np.full(count, int(highspy.HighsVarType.kInteger), dtype=np.uint8))
        by_choice = np.where(possible, largest, 1.0)
        links = [(np.array([p, z]), np.array([1.0, -by])) for p, z, by in zip(weights, choices, by_choice, strict=True)]
        upper = [np.zeros(count), np.array([ceiling + _ROOM])]
        rows = [*links, (weights, self.errors)]
        if most is None:
            lp.changeColsCost(count, weights, np.zeros(count))
        else:
            rows.append((choices, np.ones(count)))
            upper.append(np.array([float(most)]))
        add_rows(lp, np.full(len(rows), -INFINITY), np.concatenate(upper), rows)
        lp.setOptionValue("presolve", "choose")
        lp.setOptionValue("mip_max_nodes", _NODES_FOR_FEWEST if most is None else _NODES)
        lp.setOptionValue("mip_feasibility_tolerance", FEASIBLE)
        lp.setOptionValue("mip_rel_gap", 0.0)
        lp.setOptionValue("mip_abs_gap", 0.99 if most is None else 1e-7)
        lp.setOptionValue("mip_detect_symmetry", False)
        for heuristic in _HEURISTICS if most is None else ():
            lp.setOptionValue(f"mip_heuristic_run_{heuristic}", False)

    def search(self, start: IntArray, time_limit: float = np.inf) -> IntArray | None:
        """The classifiers chosen, None where none were found; ``start`` is a choice that is known to be possible."""
        first_weight, first_choice = self._first
        known = np.zeros(len(self))
        known[start] = 1.0
        choices = np.arange(first_choice, first_choice + len(self), dtype=np.int32)
        self._lp.setOptionValue("time_limit", time_limit)
        for _ in range(_ROUNDS):
            if len(start):
                self._lp.setSolution(len(self), choices, known)
            self._lp.run()
            if self._lp.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
                return None
            primal = np.array(self._lp.getSolution().col_value)
            weights = np.where(primal[choices] > 0.5, primal[first_weight:first_choice], 0.0)
            weights = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
            cuts = self._broken_cuts(self._problem, self.row_values(weights), primal)
            if not cuts:
                return np.flatnonzero(weights > _ANY_WEIGHT)
            self._add_cuts(cuts, self._problem.row_limits)
        return None


def best_weights(problem: Problem, errors: FloatArray, values: RowValues) -> MasterSolution | None:
    """The best mixture of all of these; None where no mixture of them keeps the rules."""
    master = Master(problem)
    master.add(errors, values)
    return solved_or_none(master, problem)


def solved_or_none(master: Master, problem: Problem) -> MasterSolution | None:
    """The best mixture of a programme's columns; None where no mixture of them keeps the rules."""
    try:
        return master.solve(problem)
    except SolverError:
        return None
