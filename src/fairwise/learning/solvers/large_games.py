"""A game about very many judged people: the rounds of ``regression_kernels``, by two threads and with less to read.

Rows of so many people come from memory in every round, and waiting for them takes most of its time. Two threads wait
for half of them each. An answer ``same`` makes two rows about the same two people, one the reverse of the other, whose
leads are each other's negative: they are one *edge* here. People whom few edges join are put next to each other, in
chunks that no edge leaves: such a chunk is read once a round, for its labels, its new multipliers and their sums. All
others are *open*: their labels must all be known before their multipliers are, and these before their sums.

Chunks and halves are the same on every machine, and so are the sums. Without budgets only: slack would be a row's own.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.learning.oracles.linear import RegressionTerms
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.large_game_kernels import CHUNK, charge_edges, label_some, play_chunks, weigh_some
from fairwise.learning.solvers.regression_kernels import TILE, table_of_powers, tiles_of
from fairwise.learning.solvers.regret_bound import Guarantee

_MANY = 1 << 20  # numbers in judged people's rows from which on two threads gain more than they cost
_PARTS = 2
_MOST_JOINED = 16  # people whom edges join, directly or not, and who are kept together in a chunk

Result = TypeVar("Result")


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


class Layout(NamedTuple):
    """Where people and edges are: first chunks, then those who are open."""

    place: IntArray
    """``(m,)`` of each person; places of chunks that are left over stay empty."""

    order: IntArray
    """``(E,)`` edges, by chunk, then open ones."""

    starts: IntArray
    """``(chunks + 1,)`` where each chunk's edges begin; open ones begin at the last."""

    @classmethod
    def of(cls, ends: IntArray, n_people: int) -> Layout:
        graph = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n_people, n_people))
        n_components, component = connected_components(graph, directed=False)
        size = np.bincount(component, minlength=n_components)
        by_component = np.argsort(component, kind="stable")
        rank = np.empty(n_people, dtype=np.intp)  # within its component
        rank[by_component] = np.arange(n_people) - np.repeat(np.cumsum(size) - size, size)
        start = np.full(n_components, -1)  # place of a component's first person
        n_chunks = 0
        for s in range(2, _MOST_JOINED + 1):
            own = np.flatnonzero(size == s)
            chunk, within = np.divmod(np.arange(len(own)), CHUNK // s)
            start[own] = (n_chunks + chunk) * CHUNK + within * s
            n_chunks += -(-len(own) // (CHUNK // s))
        place = start[component] + rank
        is_open = start[component] < 0
        place[is_open] = n_chunks * CHUNK + np.arange(is_open.sum())
        chunk = np.minimum(place[ends[:, 0]] // CHUNK, n_chunks)
        order = np.argsort(chunk, kind="stable")
        starts = np.searchsorted(chunk[order], np.arange(n_chunks + 1))
        return cls(place, order, starts)


def is_large(problem: Problem, terms: RegressionTerms) -> bool:
    """Whether a game is better played here."""
    return terms.judged_rows.size >= _MANY and not problem.soft_budgets


def play_large(problem: Problem, terms: RegressionTerms, guarantee: Guarantee) -> GameRecord:
    """All rounds of a game without budgets."""
    n_people, n_rounds = len(terms.judged_rows), guarantee.n_rounds
    edges = Edges.of(problem.reference, problem.owed, n_people)
    layout = Layout.of(edges.ends, n_people)
    state = _State(terms, edges, layout, guarantee, problem.sign)
    with ThreadPoolExecutor(_PARTS - 1) as pool:
        coef, intercept, violations = state.play(problem, terms, guarantee, pool)
    mean = np.empty_like(state.mean)
    mean[layout.order] = state.mean / n_rounds
    no_slack = np.zeros(len(problem.reference))
    labels = state.favored[layout.place] / n_rounds
    return GameRecord(coef, intercept, violations, mean[edges.edge, edges.reverse], np.zeros(0), no_slack, labels)


class _State:
    """Leads, multipliers and labels, in the order of the layout."""

    def __init__(self, terms: RegressionTerms, edges: Edges, layout: Layout, guarantee: Guarantee, sign: float) -> None:
        self.starts = layout.starts
        self.n_chunks = len(layout.starts) - 1
        n_places = max(int(layout.place.max()) + 1, self.n_chunks * CHUNK)
        rows = np.zeros((n_places, terms.judged_rows.shape[1]))
        rows[layout.place] = terms.judged_rows
        self.tiles = tiles_of(rows)
        n_places = len(self.tiles) * TILE
        place = layout.place[edges.ends[layout.order]]
        first = np.minimum(place[:, :1] // CHUNK, self.n_chunks) * CHUNK  # of its chunk, or of those who are open
        self.ends = (place - first).astype(np.uint32)
        exists = np.zeros((len(self.ends), 2))
        exists[edges.edge, edges.reverse] = 1.0
        self.exists = exists[layout.order]
        self.direction = 1 if sign > 0.0 else -1
        self.powers = table_of_powers(guarantee.pair_step, guarantee.n_rounds)
        self.lead = np.zeros(len(self.ends), dtype=np.int32)
        self.mean = np.zeros((len(self.ends), 2))
        self.label = np.zeros(n_places, dtype=np.int8)
        self.favored = np.zeros(n_places, dtype=np.int32)
        self.on_open = np.zeros((_PARTS, n_places - self.n_chunks * CHUNK))

    def play(
        self, problem: Problem, terms: RegressionTerms, guarantee: Guarantee, pool: ThreadPoolExecutor
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Classifiers of all rounds, and the largest violation of the running average after each."""
        n_rounds, step, bound = guarantee.n_rounds, guarantee.pair_step, guarantee.lambda_bound
        responses = np.empty((n_rounds, len(terms.base)))
        violations = np.empty(n_rounds)
        most, top, factor, beta = 0, 0, 0.0, np.zeros(len(terms.base))  # by which nobody gets label 1
        for t in range(n_rounds + 1):
            # Leads change by one at most, so powers are taken from one above the largest that was there before.
            before, top = top, most + 1 if t else 0
            results = _halves(pool, partial(self._play_chunks, top, before, factor, beta))
            if len(self.ends) > self.starts[-1]:
                results += _halves(pool, partial(self._charge_open, top, before, factor))
                results += _halves(pool, self._weigh_open)
            most = max(lead for _, lead, _ in results)
            if t:
                violations[t - 1] = max(most, 0) / t
            if t == n_rounds:
                break
            exponent = step * (top - problem.gamma * t)
            least = max(exponent, 0.0)
            factor = float(np.exp(exponent - least))
            factor *= bound / (float(np.exp(-least)) + factor * sum(total for total, _, _ in results))
            moments = sum((own for _, _, own in results), np.zeros(len(terms.base)))
            responses[t] = beta = -(terms.base + terms.inverse_gram @ (problem.sign * factor * moments))
        return np.ascontiguousarray(responses[:, 1:]), responses[:, 0].copy(), violations

    def _play_chunks(
        self, top: int, before: int, factor: float, beta: FloatArray, part: int
    ) -> tuple[float, int, FloatArray]:
        """Label everyone; where no edge leaves a chunk, charge the edges and add up what people are charged."""
        first_open = self.n_chunks * (CHUNK // TILE)
        own = _half(len(self.tiles) - first_open, part)
        tiles = slice(first_open + own.start, first_open + own.stop)
        people = slice(tiles.start * TILE, tiles.stop * TILE)
        label_some(self.tiles[tiles], beta, self.label[people], self.favored[people])
        chunks = _half(self.n_chunks, part)
        edges = self.starts, self.ends, self.exists, self.lead, self.mean
        labels = self.label, self.favored
        return play_chunks(  # type: ignore[no-any-return]
            chunks.start, chunks.stop, self.tiles, edges, labels, self.direction, self.powers, top, before, factor, beta
        )

    def _charge_open(self, top: int, before: int, factor: float, part: int) -> tuple[float, int, FloatArray]:
        n_closed = int(self.starts[-1])
        half = _half(len(self.ends) - n_closed, part)
        own = slice(n_closed + half.start, n_closed + half.stop)
        edges = self.ends[own], self.exists[own], self.lead[own], self.mean[own]
        label, on_people = self.label[self.n_chunks * CHUNK :], self.on_open[part]
        total, most = charge_edges(edges, label, self.direction, self.powers, top, before, factor, on_people)
        return total, most, np.zeros(1 + self.tiles.shape[1])

    def _weigh_open(self, part: int) -> tuple[float, int, FloatArray]:
        first_open = self.n_chunks * (CHUNK // TILE)
        own = _half(len(self.tiles) - first_open, part)
        tiles = self.tiles[first_open + own.start : first_open + own.stop]
        return 0.0, -len(self.powers), weigh_some(tiles, self.on_open[:, own.start * TILE : own.stop * TILE])


def _half(n: int, part: int) -> slice:
    return slice(n * part // _PARTS, n * (part + 1) // _PARTS)


def _halves(pool: ThreadPoolExecutor, work: Callable[[int], Result]) -> list[Result]:
    """``work`` on each half, one of them here."""
    others = [pool.submit(work, part) for part in range(1, _PARTS)]
    return [work(0), *(other.result() for other in others)]
