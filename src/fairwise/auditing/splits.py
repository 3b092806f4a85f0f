"""Holding out part of what people said: by pair, by person or by judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fairwise.constraints.pairs import FloatArray, IntArray

By = Literal["pair", "person", "judge"]


@dataclass(frozen=True, eq=False)
class Asked:
    """Who answered about whom, as numbers: ``(N,)`` judges, pairs and people a and b.

    People are numbered as in the table of ``n_people``; judged people who are not in it follow after.
    """

    judge: IntArray
    pair: IntArray
    a: IntArray
    b: IntArray
    n_people: int


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of people, and which answers, are for training and held out; ``dropped`` answers are neither."""

    train_people: IntArray
    test_people: IntArray
    train: NDArray[np.bool_]
    test: NDArray[np.bool_]

    @property
    def dropped(self) -> int:
        """How many answers are about one person of each side."""
        return int((~self.train & ~self.test).sum())


def splits(asked: Asked, by: By, *, test_size: float, folds: int | None, n_repeats: int, seed: int) -> Iterator[Split]:
    """``n_repeats`` random splits, or ``folds`` parts of which each is held out once.

    People are split as well, because error is about people. By judge and by pair that is a split of its own; by person
    it is the same one: an answer is held out when both its people are, and dropped when only one is.
    """
    shares = np.array([1 - test_size, test_size]) if folds is None else np.full(folds, 1 / folds)
    for repeat in range(n_repeats if folds is None else 1):
        rng = np.random.default_rng([seed, repeat])
        person = _person_parts(asked, by, shares, rng)
        if by == "person":
            side_a, side_b = person[asked.a], person[asked.b]
        else:
            unit = asked.judge if by == "judge" else asked.pair
            side_a = side_b = _parts(np.ones(int(unit.max(initial=-1)) + 1), shares, rng)[unit]
        of_people = person[: asked.n_people]
        for held_out in [1] if folds is None else range(folds):
            yield Split(
                train_people=np.flatnonzero(of_people != held_out),
                test_people=np.flatnonzero(of_people == held_out),
                train=(side_a != held_out) & (side_b != held_out),
                test=(side_a == held_out) & (side_b == held_out),
            )


def _person_parts(asked: Asked, by: By, shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """A part for each person; people linked by answers stay together as long as there are few enough of them."""
    n_nodes = max(asked.n_people, int(max(asked.a.max(initial=-1), asked.b.max(initial=-1))) + 1)
    if by != "person":
        return _parts(np.ones(n_nodes), shares, rng)
    judged = np.zeros(n_nodes, dtype=bool)
    judged[asked.a] = judged[asked.b] = True
    block = _linked(asked.a, asked.b, n_nodes)
    # Too many to be held out together: these people are split one by one, which drops the answers between.
    crowded = (np.bincount(block) > shares.min() * judged.sum())[block]
    block[crowded] = block.max() + 1 + np.arange(int(crowded.sum()))
    part = np.empty(n_nodes, dtype=np.intp)
    for chosen in (judged, ~judged):
        _, own = np.unique(block[chosen], return_inverse=True)
        part[chosen] = _parts(np.bincount(own).astype(float), shares, rng)[own]
    return part


def _parts(sizes: FloatArray, shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """A part for each block, in random order but the largest first: each goes where most room is left."""
    part = np.empty(len(sizes), dtype=np.intp)
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    room = shares * sizes.sum()
    several = int((sizes > 1).sum())
    for block in order[:several].tolist():
        part[block] = int(np.argmax(room))
        room[part[block]] -= sizes[block]
    # What is left has size 1 and fills the room exactly.
    ends = np.round(np.cumsum(np.maximum(room, 0)) / max(np.maximum(room, 0).sum(), 1e-12) * (len(sizes) - several))
    part[order[several:]] = np.searchsorted(ends, np.arange(len(sizes) - several), side="right").clip(
        0, len(shares) - 1
    )
    return part


def _linked(a: IntArray, b: IntArray, n_nodes: int) -> IntArray:
    """The number of each person's component in the graph of judged pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(n_nodes, n_nodes)).tocsr()
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)
