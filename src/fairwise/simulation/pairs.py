"""Random pairs of people who differ in something."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError

# Up to this many people it is cheaper to list all pairs than to draw until enough are new.
_FEW_PEOPLE = 1_000


class PairPool:
    """All unordered pairs of people whose records are not identical."""

    def __init__(self, people: pd.DataFrame) -> None:
        self._record = people.groupby(list(people.columns), dropna=False, sort=False).ngroup().to_numpy()
        alike = map(_pairs_among, np.bincount(self._record).tolist())
        self.size = _pairs_among(len(people)) - sum(alike)

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return `count` different pairs of row positions, each as likely as any other, sides at random."""
        if count > self.size:
            raise InputError(f"people: {count} pairs wanted, but only {self.size} pairs of different records exist")
        n = len(self._record)
        if n <= _FEW_PEOPLE:
            every = self._differing(np.stack(np.triu_indices(n, k=1), axis=1))
            return rng.permuted(rng.choice(every, size=count, replace=False), axis=1)
        drawn = np.empty((0, 2), dtype=np.int64)
        while len(drawn) < count:
            drawn = np.concatenate([drawn, self._differing(rng.integers(n, size=(count + 100, 2)))])
            _, first = np.unique(np.sort(drawn, axis=1), axis=0, return_index=True)
            drawn = drawn[np.sort(first)]
        return drawn[:count]

    def _differing(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        left, right = self._record[pairs.T]
        differing: NDArray[np.int64] = pairs[left != right]
        return differing


def draw_pairs(people: pd.DataFrame, n_judges: int, n_pairs: int, *, seed: int = 0) -> list[list[tuple[Any, Any]]]:
    """Return pairs of ids for each judge: uniform among people with different records, each judge's own."""
    pool = PairPool(people)
    drawn = (pool.draw(n_pairs, np.random.default_rng([seed, judge])) for judge in range(n_judges))
    return [list(zip(*(people.index[side].tolist() for side in pairs.T), strict=True)) for pairs in drawn]


def _pairs_among(n: int) -> int:
    return n * (n - 1) // 2
