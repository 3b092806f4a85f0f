"""The shortest cycle of each strongly connected component, all components at once.

A breadth-first search starts from every one-sided arc and ends where it began. The searches advance together, one step
at a time, as arrays of (search, node); the first to close gives its component's shortest cycle.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from fairwise.judgments.oriented import Ints

# What a search over a huge tangle may cost; beyond it some cycle is given, not the shortest.
_STEPS_IN_ALL = 10_000_000
_STEPS_AT_ONCE = 2_000_000
_STEP_OVERHEAD = 1_000
_SEARCHES_AT_ONCE = 20_000
_GROWTH = 8


@dataclass(frozen=True, eq=False)
class Arcs:
    """``E`` arcs tail → head over nodes numbered component after component; sorted by tail, then head.

    ``one_sided`` says of which arcs the opposite one is missing; every component has one. ``component`` is that of
    each node.
    """

    tail: Ints
    head: Ints
    one_sided: NDArray[np.bool_]
    component: Ints

    @cached_property
    def starts(self) -> Ints:
        """Where each node's arcs begin."""
        return np.searchsorted(self.tail, np.arange(len(self.component) + 1))


class Found(NamedTuple):
    """The arcs of a cycle, the first one one-sided, and whether it is known to be the shortest."""

    path: list[int]
    shortest: bool


def shortest_cycles(arcs: Arcs) -> list[Found]:
    """Return a cycle through a one-sided arc for each component, the shortest unless that took too long."""
    n_components = int(arcs.component.max(initial=-1)) + 1
    best: dict[int, list[int]] = {}
    proven = np.ones(n_components, dtype=bool)
    budget = _STEPS_IN_ALL
    for sources in _batches(arcs):
        budget -= _search(arcs, sources, best, proven, budget)
    for component in range(n_components):
        if component not in best:
            best[component] = _some_cycle(arcs, component)
    return [Found(best[number], bool(proven[number]) or len(best[number]) == 3) for number in range(n_components)]


def _batches(arcs: Arcs) -> Iterator[Ints]:
    """Yield the one-sided arcs: the first of every component, then the next few, then the next many.

    A cycle found early ends most searches of its component before they begin.
    """
    sources = np.flatnonzero(arcs.one_sided)
    home = arcs.component[arcs.tail[sources]]
    turn = np.arange(len(sources)) - np.searchsorted(home, home)
    stage = np.ceil(np.log(turn + 1) / np.log(_GROWTH)).astype(np.int64)
    for number in range(int(stage.max(initial=-1)) + 1):
        part = sources[stage == number]
        for start in range(0, len(part), _SEARCHES_AT_ONCE):
            yield part[start : start + _SEARCHES_AT_ONCE]


def _search(arcs: Arcs, sources: Ints, best: dict[int, list[int]], proven: NDArray[np.bool_], budget: int) -> int:
    """Search from these arcs; note the shortest cycles and which components were left unfinished; return the cost."""
    home = arcs.component[arcs.tail[sources]]
    limit = np.full(int(arcs.component[-1]) + 1, np.iinfo(np.int64).max)
    for component in np.unique(home):
        limit[component] = len(best.get(component, ())) or limit[component]
    search, node = np.arange(len(sources)), arcs.head[sources]
    trail: list[tuple[Ints, Ints]] = []  # for each step: the state each one came from, and by which arc
    length, cost = 1, 0
    while True:
        # One arc more closes no cycle shorter than what is known already.
        open_ = np.flatnonzero(limit[home[search]] > length + 1)
        if not len(open_):
            return cost
        degree = arcs.starts[node[open_] + 1] - arcs.starts[node[open_]]
        steps = int(degree.sum())
        if steps > _STEPS_AT_ONCE or cost + steps > budget:
            proven[home[search[open_]]] = False
            return cost
        cost += steps + _STEP_OVERHEAD
        length += 1
        origin = np.repeat(open_, degree)
        ends = np.cumsum(degree)
        arc = np.arange(steps) + np.repeat(arcs.starts[node[open_]] - (ends - degree), degree)
        search_now, node_now = search[origin], arcs.head[arc]
        closed = np.flatnonzero(node_now == arcs.tail[sources[search_now]])
        solved, first = np.unique(home[search_now[closed]], return_index=True)
        for component, state in zip(solved.tolist(), closed[first].tolist(), strict=True):
            best[component] = _path(int(sources[search_now[state]]), trail, int(origin[state]), int(arc[state]))
            limit[component] = length
        _, once = np.unique(search_now * len(arcs.component) + node_now, return_index=True)
        trail.append((origin[once], arc[once]))
        search, node = search_now[once], node_now[once]


def _path(source: int, trail: list[tuple[Ints, Ints]], state: int, last: int) -> list[int]:
    """Return the arcs from the source to the last one, following the trail back from the state before that."""
    path = [last]
    for origin, arc in reversed(trail):
        path.append(int(arc[state]))
        state = int(origin[state])
    return [source, *reversed(path)]


def _some_cycle(arcs: Arcs, component: int) -> list[int]:
    """Return the shortest cycle through the component's first one-sided arc."""
    low, high = np.searchsorted(arcs.component, [component, component + 1])
    first, last = arcs.starts[low], arcs.starts[high]
    source = int(first + np.flatnonzero(arcs.one_sided[first:last])[0])
    tail, head = arcs.tail[first:last] - low, arcs.head[first:last] - low
    graph = sparse.csr_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(high - low, high - low))
    begin, end = int(arcs.head[source] - low), int(arcs.tail[source] - low)
    _, before = csgraph.breadth_first_order(graph, begin, directed=True, return_predecessors=True)
    came_from = before.tolist()
    nodes = [end]
    while nodes[-1] != begin:
        nodes.append(came_from[nodes[-1]])
    way = np.array(nodes[::-1], dtype=np.int64)
    size = high - low
    arc = np.searchsorted(tail * size + head, way[:-1] * size + way[1:])
    return [source, *(first + arc).tolist()]
