"""Judgments that pull against each other: opposed answers, contradictions and cycles.

The graph of one judge, or of the whole panel, has an edge x → y for every "x at least as well as y" in force and both
edges for every "same". A pair is *one-sided* when only one of its directions is in force. People belong to a cycle
when they are strongly connected and some pair among them is one-sided. A cycle so has three or more people; two answers
about one pair are no cycle.

A cycle is not infeasible: with no tolerance, all its people must be treated alike, which costs accuracy. Nothing here
is repaired.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from fairwise.judgments.answer import FIRST, NEITHER, SAME, SECOND, Answer, Ints, Oriented, orient
from fairwise.judgments.table import Judgments

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
        """First arc of each node."""
        return np.searchsorted(self.tail, np.arange(len(self.component) + 1))


class CyclePath(NamedTuple):
    """The arcs of a cycle, the first one one-sided, and whether it is known to be the shortest."""

    path: list[int]
    shortest: bool


def shortest_cycles(arcs: Arcs) -> list[CyclePath]:
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
    return [CyclePath(best[number], bool(proven[number]) or len(best[number]) == 3) for number in range(n_components)]


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
    predecessors = before.tolist()
    nodes = [end]
    while nodes[-1] != begin:
        nodes.append(predecessors[nodes[-1]])
    route = np.array(nodes[::-1], dtype=np.int64)
    size = high - low
    arc = np.searchsorted(tail * size + head, route[:-1] * size + route[1:])
    return [source, *(first + arc).tolist()]


@dataclass(frozen=True)
class Link:
    """``better`` at least as well as ``worse``, or the two the same, and the judges who said so."""

    better: Any
    worse: Any
    relation: Literal["at least as well as", "same as"]
    judges: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.better} {self.relation} {self.worse}"


@dataclass(frozen=True)
class Cycle:
    """One explicit cycle, and everybody who is tied up with it.

    Attributes
    ----------
    judge
        Whose answers go in circles; None for those of the panel together.
    links
        A cycle, each link beginning where the one before ends.
    shortest
        Whether it is known to be as short as any among these members; in a huge tangle the search is cut off.
    members
        Everybody in this cycle or in one that shares people with it: all are forced to be equal.
    judges
        Those whose answers are among the members.
    """

    judge: Any | None
    links: tuple[Link, ...]
    shortest: bool
    members: tuple[Any, ...]
    judges: tuple[Any, ...]

    @property
    def people(self) -> tuple[Any, ...]:
        """The people of the explicit cycle, in its order."""
        return tuple(link.better for link in self.links)

    def __str__(self) -> str:
        who = "the panel together" if self.judge is None else f"judge {self.judge}"
        more = len(self.members) - len(self.links)
        return f"{who}: {', '.join(map(str, self.links))}{f' (and {more} more people)' if more else ''}"


def cycles(rows: Oriented, *, within_judges: bool) -> tuple[Cycle, ...]:
    """Return one cycle for every tangle of orders, within each judge or over all judges together."""
    rows = rows.only(rows.answer != NEITHER)
    group = rows.judge if within_judges else np.zeros(len(rows.judge), dtype=np.int64)
    pair, pairs = pd.factorize(rows.pair)
    key, demand = pd.factorize(group * len(pairs) + pair)
    if not len(demand):
        return ()
    graph = _Graph.of(rows, group, key, len(demand))
    return tuple(graph.cycles(rows, within_judges=within_judges))


@dataclass(frozen=True, eq=False)
class _Graph:
    """Demands on each pair, once each, of which only the pairs inside a cycle are kept.

    ``row`` holds the rows of the table that ask for it, ``demand`` which of the pairs each of them is about. ``person``
    and ``group`` say who the nodes are; nodes and arcs are numbered component after component.
    """

    row: Ints
    demand: Ints
    person: Ints
    group: Ints
    component: Ints
    arcs: Arcs
    arc_demand: Ints

    @classmethod
    def of(cls, rows: Oriented, group: Ints, key: Ints, n_demands: int) -> "_Graph":
        example = np.empty(n_demands, dtype=np.int64)
        example[key] = np.arange(len(key))
        n_people = len(rows.people)
        sides = np.concatenate([group[example] * n_people + side[example] for side in (rows.first, rows.second)])
        codes, nodes = pd.factorize(sides, sort=True)
        ends = codes.reshape(2, -1)
        down = np.bincount(key, rows.answer != SECOND, minlength=n_demands) > 0
        up = np.bincount(key, rows.answer != FIRST, minlength=n_demands) > 0

        label = _strong_components(ends, down, up, len(nodes))
        inside = label[ends[0]] == label[ends[1]]
        tangled = np.unique(label[ends[0]][inside & (down != up)])
        keep = inside & np.isin(label[ends[0]], tangled)

        # Number the nodes that are left anew, one component after the other, each in the order of its smallest node.
        left = np.flatnonzero(np.isin(label, tangled))
        component, _ = pd.factorize(label[left])
        order = np.argsort(component, kind="stable")
        renumbered = np.empty(len(nodes), dtype=np.int64)
        renumbered[left[order]] = np.arange(len(left))
        nodes, component = nodes[left[order]], component[order].astype(np.int64)

        forward, backward = np.flatnonzero(keep & down), np.flatnonzero(keep & up)
        arc_demand = np.concatenate([forward, backward])
        tail = renumbered[np.concatenate([ends[0, forward], ends[1, backward]])]
        head = renumbered[np.concatenate([ends[1, forward], ends[0, backward]])]
        order = np.lexsort((head, tail))
        arcs = Arcs(tail[order], head[order], (down != up)[arc_demand[order]], component)
        kept = np.flatnonzero(keep[key])
        return cls(kept, key[kept], nodes % n_people, nodes // n_people, component, arcs, arc_demand[order])

    def cycles(self, rows: Oriented, *, within_judges: bool) -> Iterator[Cycle]:
        paths = shortest_cycles(self.arcs)
        links = iter(self._links(rows, np.array([arc for path, _ in paths for arc in path], dtype=np.int64)))
        # The arcs of a pair lie in one component, which is then also that of its rows.
        component_of = np.zeros(int(self.arc_demand.max(initial=-1)) + 1, dtype=np.int64)
        component_of[self.arc_demand] = self.component[self.arcs.tail]
        n_judges = max(len(rows.judges), 1)
        involved = np.unique(component_of[self.demand] * n_judges + rows.judge[self.row])
        members = _labels_by_part(rows.people, self.person, self.component, len(paths))
        judges = _labels_by_part(rows.judges, involved % n_judges, involved // n_judges, len(paths))
        for (path, shortest), everybody, everyone in zip(paths, members, judges, strict=True):
            own = everyone[0] if within_judges else None
            yield Cycle(own, tuple(islice(links, len(path))), shortest, everybody, everyone)

    def _links(self, rows: Oriented, path: Ints) -> Iterator[Link]:
        """Yield a link for each arc of the path, with the judges who ask for this direction."""
        better, worse = self.person[self.arcs.tail[path]], self.person[self.arcs.head[path]]
        order = np.argsort(self.demand, kind="stable")
        low, high = (
            np.searchsorted(self.demand[order], self.arc_demand[path], side=side) for side in ("left", "right")
        )
        link = np.repeat(np.arange(len(path)), high - low)
        row = self.row[order[np.arange(len(link)) + np.repeat(low - np.cumsum(high - low) + high - low, high - low)]]
        answer = rows.answer[row]
        asks = (answer == SAME) | (answer == np.where(better < worse, FIRST, SECOND)[link])
        equal = np.bincount(link, answer == SAME, minlength=len(path)) > 0
        n_judges = max(len(rows.judges), 1)
        who = np.unique(link[asks] * n_judges + rows.judge[row[asks]])
        judges = _labels_by_part(rows.judges, who % n_judges, who // n_judges, len(path))
        names = (rows.people.take(side).tolist() for side in (better, worse))
        for a, b, same, who_ask in zip(*names, equal.tolist(), judges, strict=True):
            yield Link(a, b, "same as" if same else "at least as well as", who_ask)


def _labels_by_part(index: pd.Index, codes: Ints, part: Ints, n_parts: int) -> Iterator[tuple[object, ...]]:
    """Yield the labels of each part's codes; ``part`` is sorted."""
    labels = index.take(codes).tolist()
    starts = np.searchsorted(part, np.arange(n_parts + 1)).tolist()
    return (tuple(labels[low:high]) for low, high in pairwise(starts))


def _strong_components(ends: Ints, down: NDArray[np.bool_], up: NDArray[np.bool_], n_nodes: int) -> NDArray[np.int32]:
    tail = np.concatenate([ends[0, down], ends[1, up]])
    head = np.concatenate([ends[1, down], ends[0, up]])
    graph = sparse.csr_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(n_nodes, n_nodes))
    _, label = csgraph.connected_components(graph, directed=True, connection="strong")
    return np.asarray(label, dtype=np.int32)


_ANSWERS = [str(answer) for answer in Answer]
_DIRECTIONS = {str(answer) for answer in Answer if answer.ordered}


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Answers that do not fit together.

    Two answers about a pair are *opposed* when one asks only for "A at least as well as B" and the other only for "B at
    least as well as A". `same` asks for both and `no_constraint` for nothing, so neither is opposed to anything.
    Nothing here is infeasible: opposed answers and cycles can all be kept by treating the people in them alike, which
    costs accuracy.

    Attributes
    ----------
    opposed
        One row per pair on which judges are opposed: a, b, n_for_a, n_for_b, and the judges themselves (for_a, for_b).
    contradictions
        One row per judge and pair, over all rounds and designs, with answers that differ: judge, a, b, kind (`opposed`,
        or else `changed`), and answers, rounds and designs in their order.
    cycles_of_judges
        Orders that go in circles within one judge.
    cycles_of_panel
        The same over the answers of all judges together.
    n_shared_pairs
        How many pairs two or more judges answered.
    """

    opposed: pd.DataFrame
    contradictions: pd.DataFrame
    cycles_of_judges: tuple[Cycle, ...]
    cycles_of_panel: tuple[Cycle, ...]
    n_shared_pairs: int

    def __str__(self) -> str:
        own = self.contradictions["kind"].value_counts()
        turning = len({cycle.judge for cycle in self.cycles_of_judges})
        tied = sum(len(cycle.members) for cycle in self.cycles_of_panel)
        lines = {
            "Pairs on which judges are opposed": f"{len(self.opposed)} of {self.n_shared_pairs} that several answered",
            "Pairs a judge ordered both ways": f"{own.get('opposed', 0)}",
            "Pairs a judge changed otherwise": f"{own.get('changed', 0)}",
            "Orders in circles within a judge": f"{len(self.cycles_of_judges)}, of {turning} judges",
            "Orders in circles over the panel": f"{len(self.cycles_of_panel)}, which tie {tied} people together",
        }
        return "\n".join(f"{what:<36}{number}" for what, number in lines.items())


def find_conflicts(judgments: Judgments) -> Conflicts:
    """List opposed answers, contradictions and cycles with the people and judges in them.

    Opposition between judges and cycles are about the rows that count; contradictions of a judge are about all rows,
    repeats and earlier rounds included. In every table a is the one of the two whose id comes first.
    """
    judgments = judgments.asked()
    frame = judgments.frame
    rows = orient(frame)
    counted = rows.only(judgments.counted()["row"].to_numpy(dtype=np.int64))
    shared = pd.DataFrame({"pair": counted.pair, "judge": counted.judge}).drop_duplicates()
    return Conflicts(
        opposed=_opposed(counted),
        contradictions=_contradictions(rows, frame),
        cycles_of_judges=cycles(counted, within_judges=True),
        cycles_of_panel=cycles(counted, within_judges=False),
        n_shared_pairs=int(shared.loc[shared.duplicated("pair"), "pair"].nunique()),
    )


def _opposed(rows: Oriented) -> pd.DataFrame:
    rows = rows.only((rows.answer == FIRST) | (rows.answer == SECOND))
    orders = pd.DataFrame({"pair": rows.pair, "answer": rows.answer, "judge": rows.judge}).drop_duplicates()
    each = orders.groupby("pair")
    both = (each["answer"].transform("nunique") > 1) & (each["judge"].transform("nunique") > 1)
    orders = orders[both].sort_values(["pair", "answer", "judge"])
    # Each pair has two parts: those for its first, then those for its second.
    begins = ~orders.duplicated(["pair", "answer"]).to_numpy()
    sides = _parts(rows.judges.take(orders["judge"].to_numpy(dtype=np.int64)).tolist(), begins)
    for_a, for_b = sides[::2], sides[1::2]
    return pd.DataFrame(
        {
            **_people(rows, orders["pair"].to_numpy(dtype=np.int64)[begins][::2]),
            "n_for_a": np.array([len(judges) for judges in for_a], dtype=np.int64),
            "n_for_b": np.array([len(judges) for judges in for_b], dtype=np.int64),
            "for_a": pd.Series(for_a, dtype=object),
            "for_b": pd.Series(for_b, dtype=object),
        }
    )


def _contradictions(rows: Oriented, frame: pd.DataFrame) -> pd.DataFrame:
    differing = pd.DataFrame({"judge": rows.judge, "pair": rows.pair, "answer": rows.answer})
    differing = differing[differing.duplicated(["judge", "pair"], keep=False)].join(frame[["round", "design"]])
    differing = differing[differing.groupby(["judge", "pair"])["answer"].transform("nunique") > 1]
    differing = differing.sort_values(["judge", "pair", "round", "design"])
    begins = ~differing.duplicated(["judge", "pair"]).to_numpy()
    answers = _parts([_ANSWERS[answer] for answer in differing["answer"]], begins)
    return pd.DataFrame(
        {
            "judge": rows.judges.take(differing["judge"].to_numpy(dtype=np.int64)[begins]),
            **_people(rows, differing["pair"].to_numpy(dtype=np.int64)[begins]),
            "kind": pd.Series(["opposed" if {*part} >= _DIRECTIONS else "changed" for part in answers], dtype=str),
            "answers": pd.Series(answers, dtype=object),
            "rounds": pd.Series(_parts(differing["round"].tolist(), begins), dtype=object),
            "designs": pd.Series(_parts(differing["design"].tolist(), begins), dtype=object),
        }
    )


def _people(rows: Oriented, pair: Ints) -> dict[str, pd.Index]:
    first, second = np.divmod(pair, max(len(rows.people), 1))
    return {"a": rows.people.take(first), "b": rows.people.take(second)}


def _parts(values: list[object], begins: NDArray[np.bool_]) -> list[tuple[object, ...]]:
    """Return the values in parts, given where each part begins."""
    edges = [*np.flatnonzero(begins).tolist(), len(values)]
    return [tuple(values[low:high]) for low, high in pairwise(edges)]
