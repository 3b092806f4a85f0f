"""Mixtures of designs: exact counts, no pair twice but repeats, exact chances, and anchors shared alike."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, combinations_with_replacement
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.support.examples import examples

from fairwise.errors import InputError
from fairwise.study.schedules import PAUSE, Schedules, ShownPair
from fairwise.study.settings import StudySettings

COLUMNS = [{"name": "sex", "label": "Sex"}, {"name": "age", "label": "Age"}]
PEOPLE: dict[str, Any] = {f"p{k}": ("fm"[k % 2], k // 4) for k in range(40)}  # each record twice
Pair = frozenset[str]


def mixed(seed: int = 0, people: dict[str, Any] = PEOPLE, **design: Any) -> Schedules:
    content = {"title": "t", "columns": COLUMNS, "seed": seed, "design": {"uniform": 0, **design}}
    return Schedules(people, StudySettings.checked(content, "here"), "here")


def both(pair: ShownPair) -> Pair:
    return frozenset((pair.a, pair.b))


def of_design(shown: tuple[ShownPair, ...], *designs: str) -> list[ShownPair]:
    return [pair for pair in shown if pair.design in designs]


@st.composite
def designs(draw: st.DrawFn) -> dict[str, Any]:
    design: dict[str, Any] = {kind: draw(st.integers(0, 8)) for kind in ("uniform", "fixed", "stratified", "anchors")}
    design["anchor_pool"] = draw(st.integers(design["anchors"], 20)) if draw(st.booleans()) else 0
    design["strata"] = draw(st.sampled_from([["sex"], ["age"], ["sex", "age"]]))
    design["checks"] = draw(st.integers(0, 5))
    originals = sum(design[kind] for kind in ("uniform", "fixed", "stratified", "anchors"))
    design["repeats"] = draw(st.integers(0, originals))
    return {**design, "uniform": design["uniform"] + (originals == 0)}


@examples(60)
@given(designs(), st.integers(0, 2**63 - 1), st.integers(1, 10**6), st.integers(0, 10**4))
def test_exact_counts_and_no_pair_twice_but_repeats(design: dict[str, Any], seed: int, number: int, slot: int) -> None:
    shown = mixed(seed, **design).of(number, slot)
    kinds = {"anchors": "anchor", "repeats": "repeat", "checks": "check"}
    wanted = {
        kinds.get(kind, kind): count
        for kind, count in design.items()
        if kind not in {"anchor_pool", "strata"} and count
    }
    assert Counter(pair.design for pair in shown) == wanted
    once = [pair for pair in shown if pair.design != "repeat"]
    assert len({both(pair) for pair in once}) == len(once)
    for place, pair in enumerate(shown):
        if pair.design == "repeat":
            first = [(other.a, other.b) for other in shown].index((pair.b, pair.a))
            assert shown[first].design not in {"repeat", "check"}
            between = min(PAUSE, len(once) - design["repeats"])
            assert place - first > between + design["repeats"] - 1
    for pair in shown:
        assert (PEOPLE[pair.a] == PEOPLE[pair.b]) is (pair.design == "check")
        assert (pair.selection_probability is None) is (pair.design in {"repeat", "check"})
        assert pair.selection_probability is None or 0 < pair.selection_probability <= 1
    assert shown == mixed(seed, **design).of(number, slot)


@examples(30)
@given(st.integers(1, 7), st.integers(0, 20), st.integers(0, 50), st.integers(1, 40))
def test_consecutive_slots_use_anchors_equally_within_one(anchors: int, more: int, first: int, slots: int) -> None:
    schedules = mixed(anchors=anchors, anchor_pool=anchors + more)
    used: Counter[Pair] = Counter({frozenset(pair): 0 for pair in schedules.anchor_pool})
    for slot in range(first, first + slots):
        used.update(both(pair) for pair in schedules.of(1000 + slot, slot))
    assert len(used) == anchors + more
    assert max(used.values()) - min(used.values()) <= 1


def test_only_anchors_depend_on_the_slot_and_only_they_are_shared() -> None:
    schedules = mixed(uniform=10, fixed=4, stratified=5, strata=["sex"], anchors=3, anchor_pool=9, repeats=4, checks=2)
    here, there, next_one = schedules.of(1, 0), schedules.of(1, 1), schedules.of(2, 0)
    for design in ("uniform", "fixed", "stratified"):
        assert {*of_design(here, design)} == {*of_design(there, design)}
    assert {both(pair) for pair in of_design(here, "anchor")} == {both(pair) for pair in of_design(next_one, "anchor")}
    assert not {both(pair) for pair in of_design(here, "anchor")} & {both(pair) for pair in of_design(there, "anchor")}
    assert {both(pair) for pair in of_design(here, "fixed")} == {both(pair) for pair in of_design(next_one, "fixed")}
    for own in ("uniform", "stratified"):
        assert {both(pair) for pair in of_design(here, own)} != {both(pair) for pair in of_design(next_one, own)}


def test_what_is_the_studys_is_nobodys_own() -> None:
    schedules = mixed(uniform=30, stratified=20, strata=["age"], fixed=60, anchors=5, anchor_pool=60)
    shared = {frozenset(pair) for pair in (*schedules.fixed, *schedules.anchor_pool)}
    assert len(shared) == 120
    for number in range(20):
        own = {both(pair) for pair in of_design(schedules.of(number, number), "uniform", "stratified")}
        assert len(own) == 50
        assert not own & shared


def test_more_of_one_kind_leaves_the_others_as_they_were() -> None:
    less, more = mixed(uniform=9).of(5, 5), mixed(uniform=9, checks=3, repeats=4).of(5, 5)
    assert {*less} == {*of_design(more, "uniform")}


SMALL: dict[str, Any] = {f"p{k}": ("fm"[k > 1], k // 2) for k in range(9)}  # 2 people f, 7 m; 32 differing pairs
CHANCES = {
    "uniform": {"uniform": 5},
    "beside what is shared": {"uniform": 4, "fixed": 3, "anchors": 2, "anchor_pool": 5},
    "stratified": {"stratified": 5, "strata": ["sex"]},
    "stratified by almost everything": {"stratified": 7, "strata": ["sex", "age"], "fixed": 4},
    "uniform beside stratified": {"uniform": 4, "stratified": 8, "strata": ["sex"], "anchors": 2},
    "a combination that is used up": {"uniform": 2, "stratified": 25, "strata": ["sex"]},
}


@pytest.mark.parametrize("design", CHANCES.values(), ids=CHANCES)
def test_chances_are_those_with_which_pairs_are_shown(design: dict[str, Any]) -> None:
    times = 2000
    schedules = mixed(people=SMALL, **design)
    seen: dict[str, Counter[Pair]] = {}
    stated: dict[str, dict[Pair, float]] = {}
    for number in range(times):
        for pair in schedules.of(number, number):
            seen.setdefault(pair.design, Counter())[both(pair)] += 1
            chance = pair.selection_probability
            assert chance is not None
            assert stated.setdefault(pair.design, {}).setdefault(both(pair), chance) == chance
    for kind, chances in stated.items():
        setting = {"anchor": "anchors"}.get(kind, kind)
        assert sum(chances.values()) == pytest.approx(design[setting])
        uncertain = [pair for pair, chance in chances.items() if chance < 1 and kind != "anchor"]
        assert all(seen[kind][pair] == times for pair, chance in chances.items() if chance == 1)
        # Nothing is drawn twice, so that counts differ less than the statistic supposes: a lenient test, never unfair.
        expected = [times * chances[pair] for pair in uncertain]
        counted = [seen[kind][pair] for pair in uncertain]
        assert not uncertain or chisquare(counted, expected).pvalue > 0.01
        assert all(abs(n - e) < 5 * e**0.5 for n, e in zip(counted, expected, strict=True))


def test_every_pair_and_every_person_can_come_on_either_side() -> None:
    every = {frozenset(two) for two in combinations(SMALL, 2) if SMALL[two[0]] != SMALL[two[1]]}
    schedules = mixed(people=SMALL, uniform=5, stratified=3, strata=["sex"], fixed=3, anchors=2, anchor_pool=4)
    shown = [pair for number in range(300) for pair in schedules.of(number, number)]
    assert {both(pair) for pair in shown} == every
    assert {(pair.a, pair.b) for pair in shown} >= {(pair.b, pair.a) for pair in shown}
    alike = [pair for number in range(100) for pair in mixed(people=SMALL, uniform=1, checks=1).of(number, 0)]
    assert len({(pair.a, pair.b) for pair in alike if pair.design == "check"}) == 8


def test_stratified_pairs_are_spread_over_combinations_of_strata() -> None:
    schedules = mixed(stratified=17, strata=["age"])
    for number in range(20):
        spread = Counter(tuple(sorted((PEOPLE[pair.a][1], PEOPLE[pair.b][1]))) for pair in schedules.of(number, 0))
        assert set(spread.values()) == {1}
    schedules = mixed(stratified=8, strata=["sex"])
    for number in range(20):
        spread = Counter(tuple(sorted((PEOPLE[pair.a][0], PEOPLE[pair.b][0]))) for pair in schedules.of(number, 0))
        assert set(spread) == set(combinations_with_replacement("fm", 2))
        assert sorted(spread.values()) == [2, 3, 3]


def test_places_of_kinds_are_chance_but_repeats_come_late() -> None:
    schedules = mixed(uniform=28, anchors=6, repeats=5, checks=2)
    everyone = [schedules.of(number, number) for number in range(400)]
    for design in ("anchor", "check"):
        halves = Counter(place < 20 for shown in everyone for place, pair in enumerate(shown) if pair.design == design)
        assert 0.35 < halves[True] / halves.total() < 0.7
    repeats = Counter(place for shown in everyone for place, pair in enumerate(shown) if pair.design == "repeat")
    assert min(repeats) >= 26
    assert len(repeats) == 15  # anywhere in the last part


def test_a_mixture_is_written_down_and_must_never_change() -> None:
    """Studies are verified years later from their seed: another order here means that this can no longer be done."""
    design: dict[str, Any] = {"uniform": 3, "fixed": 2, "stratified": 2, "strata": ["sex"], "anchors": 2}
    shown = mixed(5, **design, anchor_pool=5, repeats=2, checks=1).of(17, 3)
    assert " ".join(f"{pair.a}-{pair.b}-{pair.design[0]}" for pair in shown) == WRITTEN_DOWN


WRITTEN_DOWN = (
    "p11-p29-f p38-p21-a p9-p5-u p33-p17-s p36-p4-f p0-p36-a p19-p1-u p23-p6-s p25-p17-u p26-p24-c p29-p11-r p21-p38-r"
)

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "not enough pairs": (
        {"uniform": 10, "fixed": 10, "anchors": 3, "anchor_pool": 13},
        (
            "here: 33 pairs wanted, but only 32 pairs of people differ in what is shown; ask for at most 32, "
            "of all kinds together"
        ),
    ),
    "nobody alike": (
        {"uniform": 1, "checks": 5},
        "here: design.checks = 5, but only 4 pairs of people are identical in what is shown; ask for at most 4",
    ),
}


@pytest.mark.parametrize(("design", "part"), REFUSED.values(), ids=REFUSED)
def test_studies_without_enough_pairs_are_refused(design: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError) as caught:
        mixed(people=SMALL, **design)
    assert str(caught.value) == part


def test_too_many_strata_are_refused() -> None:
    people = {str(k): ("f", k) for k in range(51)}
    with pytest.raises(InputError, match=r"^here: design.strata divide the people into 51 groups; at most 50"):
        mixed(people=people, stratified=1, strata=["age"])
