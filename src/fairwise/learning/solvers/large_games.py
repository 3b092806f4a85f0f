"""A game about very many judged people: the rounds of ``regression_kernels``, in which only what changes is looked at.

The classifiers of two rounds are near each other, or one is near the other's opposite (see ``large.counting``, where
classifiers are points on a sphere). So everyone is on a *side*, the label or in rounds that are *turned* the other one,
and few people change sides. Products with everyone, rounded, tell who may; where rounding could matter, exact sums do.

An answer ``same`` makes two rows about the same two people, one the reverse of the other, whose leads are each other's
negative: they are one *edge* here. A round moves its lead by its *turn*, how its ends' sides differ (-1, 0 or 1), times
the round's sign. So a lead is ``place + turn * walked``, where ``walked`` is the sum of all signs, and while its ends
stay on their sides an edge stays in its place. Edges of one place and turn have one multiplier; all that a round needs
of them is how many they are and the sum of their differences, the row of one end minus that of the other. So a round
takes time for the places, some hundreds, and for those who change sides.

Without budgets only: slack would be a row's own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.learning.oracles.linear import RegressionTerms
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.large_game_kernels import play_rounds, unit_rows
from fairwise.learning.solvers.regression_kernels import table_of_powers
from fairwise.learning.solvers.regret_bound import Guarantee

_MANY = 1 << 20  # numbers in judged people's rows from which on this gains more than it costs
_SOME = 10_000  # people who tell where rows are, and how far apart; any centre and spread will do
_MOST_PLACES = 1 << 22  # numbers in the sums of places


class GameRecord(NamedTuple):
    """What ``regression_kernels.play`` returns."""

    coef: FloatArray
    intercept: FloatArray
    violations: FloatArray
    pairs: FloatArray
    budgets: FloatArray
    slack: FloatArray
    labels: FloatArray


class Edges(NamedTuple):
    """Pairs of people, and the row that names them in either order."""

    ends: IntArray
    """``(E, 2)``."""

    edge: IntArray
    """``(K,)`` of each row."""

    reverse: IntArray
    """``(K,)`` 1 where the row's reference is the second end."""

    @classmethod
    def of(cls, reference: IntArray, owed: IntArray, n_people: int) -> Edges:
        low, high = np.minimum(reference, owed), np.maximum(reference, owed)
        pairs, edge = np.unique(low * n_people + high, return_inverse=True)
        ends = np.column_stack(np.divmod(pairs, n_people))
        return cls(ends, edge.ravel(), (reference != low).astype(np.intp))

    @property
    def kind(self) -> IntArray:
        """``(E,)`` 0 where an edge has no reverse row, 1 where it has nothing else, 2 where it has both."""
        exists = np.zeros((len(self.ends), 2), dtype=np.intp)
        exists[self.edge, self.reverse] = 1
        return np.asarray(exists @ [1, 2] - 1)

    def touching(self, n_people: int) -> tuple[IntArray, IntArray]:
        """The edges of each person: where they begin ``(n_people + 1,)`` in a list of all, which has one more."""
        order = np.argsort(self.ends.ravel(), kind="stable")
        begins = np.searchsorted(self.ends.ravel()[order], np.arange(n_people + 1))
        return begins, np.append(order // 2, 0)


def is_large(problem: Problem, terms: RegressionTerms, n_rounds: int) -> bool:
    """Whether a game is better played here."""
    few_places = n_rounds * terms.judged_rows.shape[1] <= _MOST_PLACES
    return terms.judged_rows.size >= _MANY and few_places and not problem.soft_budgets


def play_large(problem: Problem, terms: RegressionTerms, guarantee: Guarantee) -> GameRecord:
    """All rounds of a game without budgets."""
    rows, n_rounds = terms.judged_rows, guarantee.n_rounds
    edges = Edges.of(problem.reference, problem.owed, len(rows))
    differences = rows[edges.ends[:, 0]] - rows[edges.ends[:, 1]]
    some = rows[:_SOME]
    centre, spread = some.mean(axis=0), some.std(axis=0)
    spread[~(spread > 0.0)] = 1.0
    responses, violations, pairs, favored = play_rounds(
        rows,
        unit_rows(rows, centre, spread),
        (centre, spread),
        terms.inverse_gram,
        terms.base,
        (edges.ends, edges.kind, *edges.touching(len(rows)), differences),
        problem.sign,
        float(problem.gamma),
        guarantee.pair_step,
        n_rounds,
        guarantee.lambda_bound,
        table_of_powers(guarantee.pair_step, n_rounds),
    )
    return GameRecord(
        np.ascontiguousarray(responses[:, 1:]),
        responses[:, 0].copy(),
        violations,
        (pairs / n_rounds)[edges.edge, edges.reverse],
        np.zeros(0),
        np.zeros(len(problem.reference)),
        favored / n_rounds,
    )
