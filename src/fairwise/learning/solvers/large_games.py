"""A game about very many judged people: the rounds of ``regression_kernels``, by two threads and with less to read.

Rows of so many people come from memory in every round, and waiting for them takes most of its time. Two threads wait
for half of them each. An answer ``same`` makes two rows about the same two people, one the reverse of the other, whose
leads are each other's negative: they are one *edge* here. People are numbered as edges name them, so that most edges
find theirs side by side.

The halves are the same on every machine, and so are the sums. Without budgets only: slack would be a row's own.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.learning.oracles.linear import RegressionTerms
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.large_game_kernels import charge_edges, label_some, weigh_some
from fairwise.learning.solvers.regression_kernels import TILE, table_of_powers, tiles_of
from fairwise.learning.solvers.regret_bound import Guarantee

_MANY = 1 << 20  # numbers in judged people's rows from which on two threads gain more than they cost
_PARTS = 2

Result = TypeVar("Result")


class Played(NamedTuple):
    """What ``regression_kernels.play`` returns."""

    coef: FloatArray
    intercept: FloatArray
    violations: FloatArray
    pairs: FloatArray
    budgets: FloatArray
    slack: FloatArray
    labels: FloatArray


class _Edges(NamedTuple):
    """Pairs of people, and the row that names them in either order."""

    ends: IntArray
    """``(E, 2)``."""

    edge: IntArray
    """``(K,)`` of each row."""

    reverse: IntArray
    """``(K,)`` 1 where the row's reference is the second end."""

    exists: FloatArray
    """``(E, 2)`` whether there is a row in each order."""

    @classmethod
    def of(cls, reference: IntArray, owed: IntArray) -> _Edges:
        n = max(int(reference.max()), int(owed.max())) + 1
        low, high = np.minimum(reference, owed), np.maximum(reference, owed)
        _, first, edge = np.unique(low * n + high, return_index=True, return_inverse=True)
        by_row = np.argsort(first)  # in the order of their first rows
        place = np.empty_like(by_row)
        place[by_row] = np.arange(len(by_row))
        edge, first = place[edge.ravel()], first[by_row]
        ends = np.column_stack([low[first], high[first]])
        reverse = (reference == ends[edge, 1]).astype(np.intp)
        exists = np.zeros((len(first), 2))
        exists[edge, reverse] = 1.0
        return cls(ends, edge, reverse, exists)


def is_large(problem: Problem, terms: RegressionTerms) -> bool:
    """Whether a game is better played here."""
    return terms.judged_rows.size >= _MANY and not problem.soft_budgets


def play_large(problem: Problem, terms: RegressionTerms, guarantee: Guarantee) -> Played:
    """All rounds of a game without budgets."""
    edges = _Edges.of(problem.reference, problem.owed)
    people, place = _numbered(edges.ends, len(terms.judged_rows))
    tiles = tiles_of(terms.judged_rows[people])
    table = _Table(tiles, place[edges.ends].astype(np.uint32), edges.exists, guarantee, problem.sign)
    with ThreadPoolExecutor(_PARTS - 1) as pool:
        coef, intercept, violations = table.play(problem, terms, guarantee, pool)
    n_rounds = guarantee.n_rounds
    return Played(
        coef,
        intercept,
        violations,
        table.mean[edges.edge, edges.reverse] / n_rounds,
        np.zeros(0),
        np.zeros(len(problem.reference)),
        (table.favored / n_rounds)[place],
    )


def _numbered(ends: IntArray, n_people: int) -> tuple[IntArray, IntArray]:
    """People in the order in which edges name them, then the others; and the place of each."""
    named, first = np.unique(ends.ravel(), return_index=True)
    people = np.append(named[np.argsort(first)], np.setdiff1d(np.arange(n_people), named))
    place = np.empty(n_people, dtype=np.intp)
    place[people] = np.arange(n_people)
    return people, place


class _Table:
    """The state of a game, in halves of the edges and of the people."""

    def __init__(
        self, tiles: FloatArray, ends: IntArray, exists: FloatArray, guarantee: Guarantee, sign: float
    ) -> None:
        n_places = len(tiles) * TILE
        self.tiles, self.ends, self.exists = tiles, ends, exists
        self.direction = 1 if sign > 0.0 else -1
        self.powers = table_of_powers(guarantee.pair_step, guarantee.n_rounds)
        self.lead = np.zeros(len(ends), dtype=np.int32)
        self.mean = np.zeros((len(ends), 2))
        self.label = np.zeros(n_places, dtype=np.int8)
        self.favored = np.zeros(n_places, dtype=np.int32)
        self.on_people = np.zeros((_PARTS, n_places))

    def play(
        self, problem: Problem, terms: RegressionTerms, guarantee: Guarantee, pool: ThreadPoolExecutor
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Classifiers of all rounds, and the largest violation of the running average after each."""
        n_rounds, step, bound = guarantee.n_rounds, guarantee.pair_step, guarantee.lambda_bound
        responses = np.empty((n_rounds, len(terms.base)))
        violations = np.empty(n_rounds)
        most, top, factor = 0, 0, 0.0
        for t in range(n_rounds + 1):
            # Leads change by one at most, so powers are taken from one above the largest that was there before.
            before, top = top, most + 1 if t else 0
            charged = _halves(pool, partial(self._charge, top, before, factor))
            most = max(lead for _, lead in charged)
            if t:
                violations[t - 1] = max(most, 0) / t
            if t == n_rounds:
                break
            exponent = step * (top - problem.gamma * t)
            least = max(exponent, 0.0)
            factor = float(np.exp(exponent - least))
            factor *= bound / (float(np.exp(-least)) + factor * sum(total for total, _ in charged))
            moments = sum(_halves(pool, self._weigh), np.zeros(len(terms.base)))
            responses[t] = -(terms.base + terms.inverse_gram @ (problem.sign * factor * moments))
            _halves(pool, partial(self._label, responses[t]))
        return np.ascontiguousarray(responses[:, 1:]), responses[:, 0].copy(), violations

    def _charge(self, top: int, before: int, factor: float, part: int) -> tuple[float, int]:
        own = _half(len(self.ends), part)
        return charge_edges(  # type: ignore[no-any-return]
            self.ends[own],
            self.exists[own],
            self.lead[own],
            self.mean[own],
            self.label,
            self.direction,
            self.powers,
            top,
            before,
            factor,
            self.on_people[part],
        )

    def _weigh(self, part: int) -> FloatArray:
        own = _half(len(self.tiles), part)
        return weigh_some(self.tiles[own], self.on_people[:, own.start * TILE : own.stop * TILE])  # type: ignore[no-any-return]

    def _label(self, beta: FloatArray, part: int) -> None:
        own = _half(len(self.tiles), part)
        people = slice(own.start * TILE, own.stop * TILE)
        label_some(self.tiles[own], beta, self.label[people], self.favored[people])


def _half(n: int, part: int) -> slice:
    return slice(n * part // _PARTS, n * (part + 1) // _PARTS)


def _halves(pool: ThreadPoolExecutor, work: Callable[[int], Result]) -> list[Result]:
    """``work`` on each half, one of them here."""
    others = [pool.submit(work, part) for part in range(1, _PARTS)]
    return [work(0), *(other.result() for other in others)]
