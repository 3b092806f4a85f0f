"""Cycles, against a search over everything on small graphs."""

import itertools
from collections import deque
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.judgments import Answer, Judgments, find_conflicts
from fairwise.judgments.conflicts import Cycle

A_FIRST = "a_at_least_b"


def row(judge: Any, a: Any, b: Any, answer: str = A_FIRST) -> dict[str, Any]:
    return {"judge": judge, "a": a, "b": b, "answer": answer}


def arcs(rows: list[dict[str, Any]]) -> set[tuple[Any, Any]]:
    """Who is to be treated at least as well as whom."""
    found = set()
    for r in rows:
        if r["answer"] in {"same", "a_at_least_b"}:
            found.add((r["a"], r["b"]))
        if r["answer"] in {"same", "b_at_least_a"}:
            found.add((r["b"], r["a"]))
    return found


def way(edges: set[tuple[Any, Any]], start: Any, end: Any) -> int | None:
    """The number of arcs from start to end, if one can get there."""
    far = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for head in (b for a, b in edges if a == node):
            if head not in far:
                far[head] = far[node] + 1
                queue.append(head)
    return far.get(end)


def tangles(edges: set[tuple[Any, Any]]) -> dict[frozenset[Any], int]:
    """Members of every component with a one-sided pair inside, and the length of its shortest cycle."""
    nodes = {node for edge in edges for node in edge}
    found: dict[frozenset[Any], int] = {}
    for a, b in edges:
        back = way(edges, b, a)
        if (b, a) in edges or back is None:
            continue
        members = frozenset(n for n in nodes if way(edges, a, n) is not None and way(edges, n, a) is not None)
        found[members] = min(found.get(members, len(nodes)), back + 1)
    return found


def check(cycles: tuple[Cycle, ...], rows: list[dict[str, Any]]) -> None:
    edges = arcs(rows)
    expected = tangles(edges)
    assert {frozenset(cycle.members): len(cycle.links) for cycle in cycles} == expected
    assert len(cycles) == len(expected)
    for cycle in cycles:
        assert cycle.shortest
        assert len(cycle.links) >= 3
        assert len(set(cycle.people)) == len(cycle.links)
        assert {*cycle.people} <= {*cycle.members}
        for link, following in itertools.pairwise([*cycle.links, cycle.links[0]]):
            assert link.worse == following.better
        one_sided = [link for link in cycle.links if (link.worse, link.better) not in edges]
        assert one_sided
        for link in cycle.links:
            about = [r for r in rows if {r["a"], r["b"]} == {link.better, link.worse}]
            assert {*link.judges} == {r["judge"] for r in about if (link.better, link.worse) in arcs([r])}
            assert (link.relation == "same as") == any(r["answer"] == "same" for r in about)
        inside = [r for r in rows if {r["a"], r["b"]} <= {*cycle.members} and r["answer"] != "no_constraint"]
        assert {*cycle.judges} == {r["judge"] for r in inside}


people = st.integers(0, 6)
answers = st.sampled_from([*Answer, *[Answer.A_AT_LEAST_B] * 4])
rows_drawn = st.lists(
    st.tuples(st.sampled_from([1, 2]), people, people, answers).filter(lambda r: r[1] != r[2]),
    unique_by=lambda r: (r[0], frozenset(r[1:3])),
    max_size=16,
)


@given(rows_drawn)
def test_they_are_what_searching_everything_finds(said: list[tuple[Any, ...]]) -> None:
    rows = [row(*one) for one in said]
    found = find_conflicts(Judgments(rows))
    check(found.cycles_of_panel, rows)
    for judge in (1, 2):
        own = tuple(cycle for cycle in found.cycles_of_judges if cycle.judge == judge)
        check(own, [r for r in rows if r["judge"] == judge])
        assert all(cycle.judges == (judge,) for cycle in own)


@pytest.mark.parametrize("seed", range(30))
def test_they_are_what_searching_everything_finds_in_larger_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    every = np.array(list(itertools.combinations(range(30), 2)))
    pairs = rng.permuted(rng.choice(every, size=rng.integers(30, 60), replace=False), axis=1).tolist()
    said = rng.choice([A_FIRST, "same"], p=[0.85, 0.15], size=len(pairs)).tolist()
    rows = [row(f"j{rng.integers(4)}", a, b, answer) for (a, b), answer in zip(pairs, said, strict=True)]
    check(find_conflicts(Judgments(rows)).cycles_of_panel, rows)


def test_a_cycle_in_words() -> None:
    rows = [row("ann", "x", "y"), row("ann", "y", "z", "same"), row("ann", "z", "x"), row("bea", "x", "w", "same")]
    found = find_conflicts(Judgments(rows))
    (own,) = found.cycles_of_judges
    assert own.judge == "ann"
    assert str(own) == "judge ann: x at least as well as y, y same as z, z at least as well as x"
    (shared,) = found.cycles_of_panel
    assert shared.judge is None
    assert shared.members == ("w", "x", "y", "z")
    assert shared.judges == ("ann", "bea")
    assert str(shared) == (
        "the panel together: x at least as well as y, y same as z, z at least as well as x (and 1 more people)"
    )
    assert "Orders in circles over the panel    1, which tie 4 people together" in str(found)


def test_going_in_circles_takes_two_judges_or_more() -> None:
    rows = [row("ann", 1, 2), row("bea", 2, 3), row("cal", 3, 1)]
    found = find_conflicts(Judgments(rows))
    assert found.cycles_of_judges == ()
    (cycle,) = found.cycles_of_panel
    assert [link.judges for link in cycle.links] == [("ann",), ("bea",), ("cal",)]


def test_two_answers_about_one_pair_are_no_cycle() -> None:
    rows = [row("ann", 1, 2), row("bea", 2, 1), row("ann", 3, 4), row("bea", 3, 4, "same")]
    assert find_conflicts(Judgments(rows)).cycles_of_panel == ()


def test_an_order_among_equals_is_a_cycle() -> None:
    rows = [row("ann", 1, 2, "same"), row("ann", 2, 3, "same"), row("ann", 3, 1)]
    (cycle,) = find_conflicts(Judgments(rows)).cycles_of_judges
    assert cycle.members == (1, 2, 3)


def test_where_another_judge_asks_for_equality_anyway_the_circle_adds_nothing() -> None:
    circle = [row("ann", 1, 2), row("ann", 2, 3), row("ann", 3, 1)]
    rows = [*circle, *(row("bea", r["a"], r["b"], "same") for r in circle)]
    found = find_conflicts(Judgments(rows))
    assert len(found.cycles_of_judges) == 1
    assert found.cycles_of_panel == ()


def ring(n: int) -> pd.DataFrame:
    return pd.DataFrame({"judge": 0, "a": np.arange(n), "b": (np.arange(n) + 1) % n, "answer": A_FIRST})


def test_a_search_cut_off_still_gives_a_cycle_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairwise.judgments.conflicts._STEPS_IN_ALL", 10)
    with_detour = pd.concat([ring(50), pd.DataFrame([row(0, 30, 49), row(0, 0, 20)])])
    (cycle,) = find_conflicts(Judgments(with_detour)).cycles_of_panel
    assert not cycle.shortest
    assert len(cycle.members) == 50
    assert len(cycle.links) in {13, 31, 32, 50}
    for link, following in itertools.pairwise([*cycle.links, cycle.links[0]]):
        assert link.worse == following.better


def test_a_ring_is_its_own_shortest_cycle() -> None:
    (cycle,) = find_conflicts(Judgments(ring(200))).cycles_of_panel
    assert cycle.shortest
    assert sorted(cycle.people) == list(range(200))


@pytest.mark.slow
def test_a_million_judgments() -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    table = pd.DataFrame({"judge": np.arange(n) % 10_000, "a": rng.integers(5_000, size=n)})
    table["b"] = (table["a"] + rng.integers(1, 5_000, size=n)) % 5_000
    table["answer"] = rng.choice([*map(str, Answer)], size=n)
    low, high = table[["a", "b"]].min(axis=1), table[["a", "b"]].max(axis=1)
    table = table[~table.assign(low=low, high=high).duplicated(["judge", "low", "high"])]
    found = find_conflicts(Judgments(table))
    assert len(found.cycles_of_panel) == 1
    assert len(found.cycles_of_panel[0].members) == 5_000
    assert all(cycle.shortest for cycle in (*found.cycles_of_judges, *found.cycles_of_panel))
