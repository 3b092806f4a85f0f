"""The master linear programme over the classifiers found so far, kept warm in HiGHS.

::

    minimise    errors @ p                                       over p >= 0, sum p = 1
    subject to  values_k @ p <= limit_k                          for hard rows k
                sum_g excess_bg <= limit_b                       for each soft budget b
                sum_{k in S} shares_bk (values_k @ p - limit_k) <= excess_bg        for cuts S within group g

where ``values`` are pair differences (limit gamma) and, behind them, the values of statistical rules.

Slack is projected out: instead of a column per pair there is one ``excess`` per group of rows, bounded below by cuts.
With groups of one row that is the direct programme; larger groups keep it small when there are very many judgments.
Rows of pairs and cuts enter only when the current ``p`` breaks them. Columns with a large reduced cost leave when there
are very many, and come back when another solution makes it negative; so do cuts that nothing is paid for.

The programme of groups of one row is solved exactly. With larger groups its value is a lower bound until the last cut
is in, and there may be very many: the sum of 100,000 excesses has about as many kinks. So the mixture found is drawn
back towards one that keeps every rule until it keeps them too, and the search for cuts ends when the errors of the two
are within ``precision``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from time import monotonic

import highspy
import numpy as np
import scipy.sparse

from fairwise.errors import SolverError
from fairwise.learning.oracles.base import FloatArray, IntArray, RowValues
from fairwise.learning.problem import Problem
from fairwise.learning.row_kernels import combine, mix, total_excess
from fairwise.learning.solvers.highs import INFINITY, add_columns, add_rows, drop_columns, drop_rows, quiet_highs, run
from fairwise.learning.solvers.solution import FEASIBLE, Multipliers, budget_limits

_MAX_SINGLE_ROWS = 5000  # up to so many rows each has an excess variable of its own
_MAX_GROUPS = 32  # beyond, they share so many: more make the programme slow, fewer need more rounds of cuts
_CUTS_AT_ONCE = 512
_FEW_RULES = 64  # statistical ones: up to so many are in from the start, as most come to be broken by some mixture
_MANY_COLUMNS = 256  # and four for each row: beyond, half of the columns leave the programme
_PER_ROW = 4
_MANY_CUTS = 8  # for each group of several rows: beyond, those that cost nothing leave
_CUTS_KEPT = 64, 4  # of single rows: so many, and for each that binds; beyond, those that cost nothing leave
_WORTHWHILE = 0.1  # share of the precision
_CHORDS = 6  # steps on the way from a mixture that keeps every rule to one that does not


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """Mixture weights over all columns, their error, and the multipliers that prove it optimal among them.

    A column improves the programme if its cost at the multipliers is below ``dual``, that of ``sum p = 1``.
    """

    value: float
    weights: FloatArray
    multipliers: Multipliers
    dual: float


@dataclass(frozen=True, eq=False)
class _Cut:
    """``sum_k coefficients_k (values_k @ p - limit_k) <= excess``, with no excess for a hard row."""

    rows: IntArray
    coefficients: FloatArray
    excess: int | None  # position among the excess variables

    @cached_property
    def key(self) -> bytes:
        """What no other cut has."""
        return np.append(self.rows, -1 if self.excess is None else -2 - self.excess).tobytes()


@dataclass(frozen=True, eq=False)
class _Inner:
    """A mixture that keeps every rule and budget, with the values of all rows and its error."""

    weights: FloatArray
    reached: FloatArray
    value: float


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

    @property
    def shared(self) -> bool:
        """Whether rows share a variable."""
        return len(self.rows) > len(self)

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
        self._last = np.empty(0)  # weights of the last solution, where there is one
        self._lp = quiet_highs()
        # Excess variables first, so that a classifier's column is simply its number behind them.
        add_columns(self._lp, np.zeros(len(self._groups)))
        add_rows(self._lp, np.array([1.0]), np.array([1.0]), [])
        self._budget_scale = np.zeros(self._n_budgets)
        np.maximum.at(self._budget_scale, self._groups.budget, self._groups.scale)
        self._budget_scale[self._budget_scale == 0] = 1.0  # a budget about nothing
        for budget, largest in enumerate(self._budget_scale):
            mine = np.flatnonzero(self._groups.budget == budget)
            entries = [(mine, self._groups.scale[mine] / largest)]
            add_rows(self._lp, np.array([-INFINITY]), np.array([0.0]), entries)
        rules = range(problem.n_pairs, len(problem))
        if 0 < len(rules) <= _FEW_RULES:
            self._add_cuts([_Cut(np.array([k]), np.ones(1), None) for k in rules], problem.row_limits)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shared(self) -> bool:
        """Whether there are so many rows that they share excess variables."""
        return self._groups.shared

    def add(self, errors: FloatArray, values: RowValues) -> None:
        """New columns: errors ``(k,)`` and the values of all rows ``(k, n_rows)``."""
        first = len(self)
        self.errors = np.concatenate([self.errors, errors])
        self.values = np.concatenate([self.values, values])
        self._enter(np.arange(first, len(self)))

    def solve(self, problem: Problem, precision: float = 0.0, deadline: float = np.inf) -> MasterSolution:
        """Best mixture of the columns for this problem's gamma and limits.

        Where rows share an excess variable its error may be above the least by ``precision``, and from ``deadline`` on,
        a moment of the monotonic clock, it is that of the best mixture known that keeps every rule.
        """
        self._set_bounds(problem)
        inner = self._inner(problem) if precision and self._groups.shared else None
        while True:
            primal, dual = self._run()
            value = float(self._lp.getInfo().objective_function_value)
            weights = np.zeros(len(self))
            weights[self._inside] = np.maximum(primal[len(self._groups) :], 0.0)
            weights /= weights.sum()
            reached = self.row_values(weights)
            cuts = self._broken_cuts(problem, reached, primal)
            multipliers = self._multipliers(dual, len(problem))
            if cuts and inner is not None:
                nearer = self._drawn_back(problem, weights, reached, inner)
                if nearer.value < inner.value - _WORTHWHILE * precision:  # or it would gather ever more classifiers
                    inner = nearer
                if inner.value - value <= precision or monotonic() > deadline:
                    weights, value, cuts = inner.weights, inner.value, []
                else:
                    cuts += self._broken_cuts(problem, nearer.reached, primal)
            if cuts:
                self._add_cuts(cuts, problem.row_limits)
                continue
            reduced = self.costs(multipliers) - float(dual[0])
            outside = self._outside
            missed = outside[reduced[outside] < -FEASIBLE]
            if not len(missed):
                break
            self._enter(missed)
        self._leave(weights, reduced)
        self._drop_idle_cuts(dual)
        self._last = weights
        return MasterSolution(value, weights, multipliers, float(dual[0]))

    def allow(self, column: int, *, allowed: bool) -> None:
        """Whether a column of the programme may have any weight; all may, unless said otherwise."""
        if column not in self._inside:
            self._enter(np.array([column]))
        place = len(self._groups) + int(np.flatnonzero(self._inside == column)[0])
        self._lp.changeColBounds(place, 0.0, INFINITY if allowed else 0.0)

    def _inner(self, problem: Problem) -> _Inner | None:
        """A mixture that keeps every rule and budget: the last solution, or else the best column that does alone."""
        last = np.append(self._last, np.zeros(len(self) - len(self._last)))
        singles = (np.eye(1, len(self), column)[0] for column in np.argsort(self.errors, kind="stable"))
        for weights in chain([last] if last.any() else [], singles):
            reached = self.row_values(weights)
            if keeps(problem, reached):
                return _Inner(weights, reached, float(weights @ self.errors))
        return None

    def _drawn_back(self, problem: Problem, weights: FloatArray, reached: FloatArray, inner: _Inner) -> _Inner:
        """A mixture of ``inner`` and these weights that keeps every rule and budget, and nearly the last that does.

        What a mixture uses of each is convex along the way and so below its chord: at the place where the first chord
        meets its limit all are kept.
        """
        at_end, limits = use_of_rules(problem, reached), limits_of_rules(problem)
        share, values = 0.0, inner.reached
        for _ in range(_CHORDS):
            used = use_of_rules(problem, values)
            over = at_end > limits
            step = float(((limits - used)[over] / (at_end - used)[over]).min(initial=1.0))
            share += step * (1.0 - share)
            values = (1.0 - share) * inner.reached + share * reached
        mixed = (1.0 - share) * inner.weights + share * weights
        return _Inner(mixed, values, float(mixed @ self.errors))

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
        outside = np.ones(len(self), dtype=bool)
        outside[self._inside] = False
        return np.flatnonzero(outside)

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
        rows = np.append(0, np.arange(first_cut, first_cut + len(on_cuts)))
        add_columns(self._lp, self.errors[which], rows, np.concatenate([np.ones((1, len(which))), on_cuts]))
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

    def _drop_idle_cuts(self, dual: FloatArray) -> None:
        """Where there are far more cuts than bind, take out those that nothing is paid for; they may come back."""
        few, for_each = _CUTS_KEPT
        if len(self._cuts) <= (_MANY_CUTS * len(self._groups) if self._groups.shared else few):
            return
        first = 1 + self._n_budgets
        basic = np.array(self._lp.getBasis().row_status)[first:] == highspy.HighsBasisStatus.kBasic
        idle = basic & (dual[first:] == 0.0)
        if self._groups.shared:
            idle &= np.array([cut.excess is not None for cut in self._cuts])
        elif len(self._cuts) <= few + for_each * np.count_nonzero(~basic):
            return
        for position in np.flatnonzero(idle):
            self._known.remove(self._cuts[position].key)
        drop_rows(self._lp, first + np.flatnonzero(idle))
        self._cuts = [cut for cut, out in zip(self._cuts, idle, strict=True) if not out]
        self._cut_matrix = self._cut_matrix[~idle]

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
        return [cut for cut in candidates if cut.key not in self._known]

    def _add_cuts(self, cuts: Sequence[_Cut], row_limits: FloatArray) -> None:
        cuts = list({cut.key: cut for cut in cuts}.values())
        self._known.update(cut.key for cut in cuts)
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
        cuts = self._cut_matrix
        paid = np.repeat(prices[first_cut:], np.diff(cuts.indptr)) * cuts.data
        on_rows = np.bincount(cuts.indices, paid, minlength=n_rows)  # of nothing they are whole numbers
        return Multipliers(on_rows.astype(float), prices[1:first_cut] / self._budget_scale)


def _on_columns(cuts: scipy.sparse.csr_array, values: RowValues) -> FloatArray:
    """Coefficient ``(n_cuts, k)`` of every classifier in every cut."""
    return np.asarray(combine(values, cuts.indptr, cuts.indices, cuts.data))


def use_of_rules(problem: Problem, reached: FloatArray) -> FloatArray:
    """How far row values ``(len(problem),)`` go beyond the hard rows at most, and what they use of each soft budget."""
    limits, hard = problem.row_limits, np.flatnonzero(problem.hard)
    budgets = [total_excess(reached, limits, budget.rows, budget.shares) for budget in problem.soft_budgets]
    return np.array([(reached[hard] - limits[hard]).max(initial=0.0), *budgets])


def limits_of_rules(problem: Problem) -> FloatArray:
    """What :func:`use_of_rules` may be at most."""
    return np.array([FEASIBLE, *(budget.limit + FEASIBLE * budget.shares.sum() for budget in problem.soft_budgets)])


def keeps(problem: Problem, reached: FloatArray) -> bool:
    """Whether row values ``(len(problem),)`` keep every rule and budget."""
    return bool((use_of_rules(problem, reached) <= limits_of_rules(problem)).all())
