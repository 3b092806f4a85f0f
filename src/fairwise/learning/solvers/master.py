"""The master linear programme over the classifiers found so far, kept warm in HiGHS.

::

    minimise    errors @ p                                       over p >= 0, sum p = 1
    subject to  values_k @ p <= limit_k                          for hard rows k
                sum_g excess_bg <= limit_b                       for each soft budget b
                sum_{k in S} shares_bk (values_k @ p - limit_k) <= excess_bg        for cuts S within group g

where ``values`` are pair differences (limit gamma) and, behind them, the values of statistical rules.

Slack is projected out: instead of a column per pair there is one ``excess`` per group of rows, bounded below by cuts.
With groups of one row that is the direct programme; larger groups keep it small when there are very many judgments.
Rows and cuts enter only when the current ``p`` breaks them. Columns with a large reduced cost leave when there are very
many, and come back when another solution makes it negative. What is solved is exact either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from fairwise.errors import SolverError
from fairwise.learning.oracles.base import FloatArray, IntArray, RowValues
from fairwise.learning.problem import Problem
from fairwise.learning.row_kernels import combine, mix
from fairwise.learning.solvers.solution import FEASIBLE, Multipliers, budget_limits

INFINITY = highspy.kHighsInf
_MAX_SINGLE_ROWS = 5000  # up to so many rows each has an excess variable of its own
_MAX_GROUPS = 32  # beyond, they share so many: more make the programme slow, fewer need more rounds of cuts
_CUTS_AT_ONCE = 512
_MANY_COLUMNS = 256  # and four for each row: beyond, half of the columns leave the programme
_PER_ROW = 4


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """Mixture weights over all columns, their error, and the multipliers that prove it optimal among them."""

    value: float
    weights: FloatArray
    multipliers: Multipliers


@dataclass(frozen=True, eq=False)
class _Cut:
    """``sum_k coefficients_k (values_k @ p - limit_k) <= excess``, with no excess for a hard row."""

    rows: IntArray
    coefficients: FloatArray
    excess: int | None  # position among the excess variables


@dataclass(frozen=True, eq=False)
class _Groups:
    """Which excess variable each row of the soft budgets belongs to; entries are sorted by variable.

    An excess variable is measured in units of its group's mean share ``scale``, so that every number in the programme
    is of order one: row ``rows[e]`` enters the cuts of variable ``variable[e]`` with ``coefficients[e]``.
    """

    variable: IntArray
    rows: IntArray
    coefficients: FloatArray
    starts: IntArray
    scale: FloatArray
    budget: IntArray

    def __len__(self) -> int:
        return len(self.scale)

    @classmethod
    def of(cls, problem: Problem) -> _Groups:
        variables: list[IntArray] = []
        budgets: list[int] = []
        for number, budget in enumerate(problem.soft_budgets):
            n_groups = len(budget.rows) if len(budget.rows) <= _MAX_SINGLE_ROWS else _MAX_GROUPS
            variables.append(len(budgets) + np.arange(len(budget.rows)) % max(n_groups, 1))
            budgets += [number] * n_groups
        if not budgets:
            none, nothing = np.empty(0, dtype=np.intp), np.empty(0)
            return cls(none, none, nothing, np.zeros(1, dtype=np.intp), nothing, none)
        variable = np.concatenate(variables)
        order = np.argsort(variable, kind="stable")
        variable = variable[order]
        rows = np.concatenate([budget.rows for budget in problem.soft_budgets])[order]
        shares = np.concatenate([budget.shares for budget in problem.soft_budgets])[order]
        count = np.bincount(variable)
        scale = np.bincount(variable, shares) / count
        starts = np.concatenate([[0], np.cumsum(count)])
        return cls(variable, rows, shares / scale[variable], starts, scale, np.array(budgets))


class Master:
    """Grows by columns (classifiers) and cuts; can be solved again for another gamma or other limits.

    A master belongs to one structure: which rows are hard and which budgets are soft must stay as they were.
    """

    def __init__(self, problem: Problem) -> None:
        self._hard_rows = np.flatnonzero(problem.hard)
        self._groups = _Groups.of(problem)
        self._n_budgets = len(problem.soft_budgets)
        self._cuts: list[_Cut] = []
        self._known: set[bytes] = set()
        self._cut_matrix = scipy.sparse.csr_array((0, len(problem)))
        self.errors = np.empty(0)
        self.values = np.empty((0, len(problem)), dtype=np.int8)
        self._inside = np.empty(0, dtype=np.intp)  # which columns are in the programme, in its order
        self._lp = quiet_highs()
        # Excess variables first, so that a classifier's column is simply its number behind them.
        add_columns(self._lp, np.zeros(len(self._groups)), [])
        add_rows(self._lp, np.array([1.0]), np.array([1.0]), [])
        self._budget_scale = np.zeros(self._n_budgets)
        np.maximum.at(self._budget_scale, self._groups.budget, self._groups.scale)
        self._budget_scale[self._budget_scale == 0] = 1.0  # a budget about nothing
        for budget, largest in enumerate(self._budget_scale):
            mine = np.flatnonzero(self._groups.budget == budget)
            entries = [(mine, self._groups.scale[mine] / largest)]
            add_rows(self._lp, np.array([-INFINITY]), np.array([0.0]), entries)

    def __len__(self) -> int:
        return len(self.values)

    def add(self, errors: FloatArray, values: RowValues) -> None:
        """New columns: errors ``(k,)`` and the values of all rows ``(k, n_rows)``."""
        first = len(self)
        self.errors = np.concatenate([self.errors, errors])
        self.values = np.concatenate([self.values, values])
        self._enter(np.arange(first, len(self)))

    def solve(self, problem: Problem) -> MasterSolution:
        """Best mixture of the columns for this problem's gamma and limits."""
        self._set_bounds(problem)
        while True:
            primal, dual = self._run()
            weights = np.zeros(len(self))
            weights[self._inside] = np.maximum(primal[len(self._groups) :], 0.0)
            weights /= weights.sum()
            reached = self.row_values(weights)
            cuts = self._broken_cuts(problem, reached, primal)
            multipliers = self._multipliers(dual, len(problem))
            if cuts:
                self._add_cuts(cuts, problem.row_limits)
                continue
            reduced = self.costs(multipliers) - float(dual[0])  # that of ``sum p = 1``
            missed = np.intersect1d(np.flatnonzero(reduced < -FEASIBLE), self._outside)
            if not len(missed):
                break
            self._enter(missed)
        value = float(self._lp.getInfo().objective_function_value)
        self._leave(weights, reduced)
        return MasterSolution(value, weights, multipliers)

    def costs(self, at: Multipliers) -> FloatArray:
        """``err(h) + lambda @ values(h)`` of every column."""
        charged = np.flatnonzero(at.rows)
        whole = np.array([0, len(charged)])
        return np.asarray(self.errors + combine(self.values, whole, charged, at.rows[charged])[0])

    def row_values(self, weights: FloatArray) -> FloatArray:
        """The value of every row under a mixture; the last columns may have no weight yet."""
        return np.asarray(mix(self.values, weights))

    @property
    def _outside(self) -> IntArray:
        return np.setdiff1d(np.arange(len(self)), self._inside)

    def _run(self) -> tuple[FloatArray, FloatArray]:
        try:
            return run(self._lp)
        except SolverError:
            if not len(self._outside):
                raise
            self._enter(self._outside)  # a smaller gamma may need a column that another one did not
            return run(self._lp)

    def _enter(self, which: IntArray) -> None:
        """Put columns into the programme."""
        on_cuts = _on_columns(self._cut_matrix, self.values[which])
        first_cut = 1 + self._n_budgets
        entries = []
        for column in on_cuts.T:
            touched = np.flatnonzero(column)
            entries.append((np.append(0, first_cut + touched), np.append(1.0, column[touched])))
        add_columns(self._lp, self.errors[which], entries)
        self._inside = np.append(self._inside, which)

    def _leave(self, weights: FloatArray, reduced: FloatArray) -> None:
        """Where there are very many, take the less promising half of the columns out; none that is used."""
        most = max(_MANY_COLUMNS, _PER_ROW * (1 + self._n_budgets + len(self._cuts)))
        if len(self._inside) <= most:
            return
        promise = np.where(weights[self._inside] > 0.0, -np.inf, reduced[self._inside])
        out = np.sort(np.argsort(promise, kind="stable")[len(self._inside) // 2 :])
        out = out[np.isfinite(promise[out])]
        drop_columns(self._lp, len(self._groups) + out)
        self._inside = np.delete(self._inside, out)

    def _set_bounds(self, problem: Problem) -> None:
        limits = budget_limits(problem) / self._budget_scale
        upper = np.concatenate([limits, self._cut_matrix @ problem.row_limits])
        rows = np.arange(1, 1 + len(upper), dtype=np.int32)
        if len(rows):
            self._lp.changeRowsBounds(len(rows), rows, np.full(len(rows), -INFINITY), upper)  # type: ignore[attr-defined]

    def _broken_cuts(self, problem: Problem, reached: FloatArray, primal: FloatArray) -> list[_Cut]:
        """Cuts that the mixture breaks and the programme does not hold yet, the worst first."""
        over = reached - problem.row_limits
        hard = self._hard_rows[over[self._hard_rows] > FEASIBLE]
        hard = hard[np.argsort(-over[hard], kind="stable")][:_CUTS_AT_ONCE]
        candidates = [_Cut(np.array([k]), np.ones(1), None) for k in hard]

        groups = self._groups
        excess = groups.coefficients * np.maximum(over[groups.rows], 0.0)
        missing = np.bincount(groups.variable, excess, minlength=len(groups)) - primal[: len(groups)]
        for budget, soft in enumerate(problem.soft_budgets):
            if soft.shares @ np.maximum(over[soft.rows], 0.0) <= soft.limit + FEASIBLE * self._budget_scale[budget]:
                missing[groups.budget == budget] = 0.0
        for g in np.argsort(-missing, kind="stable")[:_CUTS_AT_ONCE]:
            if missing[g] > FEASIBLE:
                entries = np.arange(groups.starts[g], groups.starts[g + 1])
                entries = entries[over[groups.rows[entries]] > 0]
                candidates.append(_Cut(groups.rows[entries], groups.coefficients[entries], int(g)))
        new = []
        for cut in candidates:
            key = np.append(cut.rows, -1 if cut.excess is None else -2 - cut.excess).tobytes()
            if key not in self._known:
                self._known.add(key)
                new.append(cut)
        return new

    def _add_cuts(self, cuts: Sequence[_Cut], row_limits: FloatArray) -> None:
        self._cuts.extend(cuts)
        block = scipy.sparse.csr_array(
            (
                np.concatenate([cut.coefficients for cut in cuts]),
                np.concatenate([cut.rows for cut in cuts]),
                np.cumsum([0, *(len(cut.rows) for cut in cuts)]),
            ),
            shape=(len(cuts), self.values.shape[1]),
        )
        self._cut_matrix = scipy.sparse.vstack([self._cut_matrix, block], format="csr")
        on_columns = _on_columns(block, self.values[self._inside])
        entries = []
        for cut, values in zip(cuts, on_columns, strict=True):
            touched = np.flatnonzero(values)
            columns, coefficients = len(self._groups) + touched, values[touched]
            if cut.excess is not None:
                columns, coefficients = np.append(columns, cut.excess), np.append(coefficients, -1.0)
            entries.append((columns, coefficients))
        upper = np.asarray(block @ row_limits, dtype=float)
        add_rows(self._lp, np.full(len(cuts), -INFINITY), upper, entries)

    def _multipliers(self, dual: FloatArray, n_rows: int) -> Multipliers:
        """HiGHS gives a ``<=`` row of a minimisation a dual of at most 0."""
        prices = np.maximum(-dual, 0.0)
        first_cut = 1 + self._n_budgets
        pairs = prices[first_cut:] @ self._cut_matrix if self._cuts else np.zeros(n_rows)
        return Multipliers(np.asarray(pairs), prices[1:first_cut] / self._budget_scale)


def convexity_dual(problem: Problem, master: MasterSolution) -> float:
    """The dual of ``sum p = 1``: a column improves the programme if its cost at the duals is below it.

    By strong duality it is ``value + sum_k lambda_k limit_k + sum_b tau_b limit_b``.
    """
    at = master.multipliers
    return float(master.value + at.rows @ problem.row_limits + at.budgets @ budget_limits(problem))


def _on_columns(cuts: scipy.sparse.csr_array, values: RowValues) -> FloatArray:
    """Coefficient ``(n_cuts, k)`` of every classifier in every cut."""
    return np.asarray(combine(values, cuts.indptr, cuts.indices, cuts.data))


def quiet_highs() -> highspy.Highs:
    lp = highspy.Highs()
    lp.setOptionValue("output_flag", False)
    lp.setOptionValue("presolve", "off")  # it would throw the warm basis away
    lp.setOptionValue("threads", 1)
    lp.setOptionValue("primal_feasibility_tolerance", FEASIBLE)
    lp.setOptionValue("dual_feasibility_tolerance", FEASIBLE)
    return lp


def run(lp: highspy.Highs) -> tuple[FloatArray, FloatArray]:
    lp.run()
    if lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        lp.clearSolver()  # once more from a cold start, before giving up
        lp.run()
    status = lp.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverError(
            f"The linear programme over the classifiers could not be solved: HiGHS reports "
            f"{lp.modelStatusToString(status)!r}. Try a larger gamma or eta, or check for extreme sample weights."
        )
    solution = lp.getSolution()
    return np.array(solution.col_value), np.array(solution.row_dual)


def add_rows(
    lp: highspy.Highs, lower: FloatArray, upper: FloatArray, entries: Sequence[tuple[IntArray, FloatArray]]
) -> None:
    starts, indices, values = _pack(entries, len(lower))
    lp.addRows(len(lower), lower, upper, len(indices), starts, indices, values)


def add_columns(lp: highspy.Highs, costs: FloatArray, entries: Sequence[tuple[IntArray, FloatArray]]) -> None:
    starts, indices, values = _pack(entries, len(costs))
    none, open_end = np.zeros(len(costs)), np.full(len(costs), INFINITY)
    lp.addCols(len(costs), costs, none, open_end, len(indices), starts, indices, values)


def drop_columns(lp: highspy.Highs, which: IntArray) -> None:
    """Take out columns that are 0 in the solution found; HiGHS would forget its basis with them."""
    basis = lp.getBasis()
    kept = np.delete(np.array(basis.col_status), which)
    lp.deleteCols(len(which), which.astype(np.int32))
    basis.col_status = kept.tolist()
    lp.setBasis(basis)


def _pack(
    entries: Sequence[tuple[IntArray, FloatArray]], length: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]:
    if not entries:
        return np.zeros(length, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0)
    starts = np.cumsum([0, *(len(index) for index, _ in entries[:-1])]).astype(np.int32)
    indices = np.concatenate([index for index, _ in entries]).astype(np.int32)
    return starts, indices, np.concatenate([value for _, value in entries])
