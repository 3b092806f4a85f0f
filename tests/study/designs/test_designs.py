"""Who is shown which pairs: uniform, never identical people, never a pair twice, and the same everywhere."""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise, permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from fairwise.errors import InputError
from fairwise.study.schedules import DifferingPairs, IdenticalPairs, Schedules, ShownPair
from fairwise.study.settings import ShownColumn, StudySettings

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

RECORDS = st.lists(st.integers(0, 3), min_size=2, max_size=9).map(
    lambda records: {f"p{number}": record for number, record in enumerate(records)}
)


def asking(pairs: int, seed: int = 0) -> StudySettings:
    return StudySettings(title="t", columns=(ShownColumn(name="x", label="X"),), pairs=pairs, seed=seed)


def uniform(records: Mapping[str, Hashable], settings: StudySettings) -> Schedules:
    """Schedules about people of whom one thing is shown."""
    return Schedules({person: (record,) for person, record in records.items()}, settings, "pairs")


@given(RECORDS)
def test_every_ordered_pair_has_one_number(records: dict[str, int]) -> None:
    for pairs, alike in ((DifferingPairs(records), False), (IdenticalPairs(records), True)):
        every = [pairs[number] for number in range(pairs.ordered)]
        assert len(every) == len(set(every)) == 2 * len(pairs)
        assert set(every) == {(a, b) for a, b in permutations(records, 2) if (records[a] == records[b]) is alike}
        for number in (-1, pairs.ordered):
            with pytest.raises(IndexError):
                pairs[number]


@given(RECORDS.filter(lambda records: len(set(records.values())) > 1), st.data())
def test_no_identical_records_no_pair_twice_and_deterministic(records: dict[str, int], data: st.DataObject) -> None:
    pairs = DifferingPairs(records)
    wanted = data.draw(st.integers(1, len(pairs)))
    settings = asking(wanted, data.draw(st.integers(0, 2**63 - 1)))
    number = data.draw(st.integers(0, 10**6))
    shown = uniform(records, settings).of(number, 0)
    assert len(shown) == len({frozenset((pair.a, pair.b)) for pair in shown}) == wanted
    assert all(records[pair.a] != records[pair.b] for pair in shown)
    assert {(pair.design, pair.selection_probability) for pair in shown} == {("uniform", wanted / len(pairs))}
    assert shown == uniform(records, settings).of(number, data.draw(st.integers(0, 99)))


def test_the_schedule_is_written_down_and_must_never_change() -> None:
    """Studies are verified years later from their seed: other numbers here mean that this can no longer be done."""
    records = {str(person): person // 2 for person in range(1000)}
    shown = [(pair.a, pair.b) for pair in uniform(records, asking(4, seed=5)).of(17, 0)]
    assert shown == [("813", "592"), ("408", "822"), ("420", "988"), ("859", "678")]


def test_other_participants_and_other_seeds_see_other_pairs() -> None:
    records = {str(person): person for person in range(500)}
    drawn = [uniform(records, asking(20, seed)).of(number, 0) for seed in range(3) for number in range(3)]
    assert len(set(drawn)) == 9
    assert len({pair for shown in drawn for pair in shown}) > 170  # of 180: hardly any in common


def test_pairs_sides_and_places_are_uniform() -> None:
    records = {"a": 0, "b": 0, "c": 1, "d": 2, "e": 2}  # 8 pairs of different records
    schedules = uniform(records, asking(3))
    pairs = schedules.pairs
    drawn = [schedules.of(number, 0) for number in range(4000)]
    sided = Counter((pair.a, pair.b) for shown in drawn for pair in shown)
    assert len(sided) == pairs.ordered == 16
    assert chisquare(list(sided.values())).pvalue > 0.01
    for place in range(3):
        there = Counter(frozenset((shown[place].a, shown[place].b)) for shown in drawn)
        assert len(there) == len(pairs)
        assert chisquare(list(there.values())).pvalue > 0.01
    included = sum(sided[side] for side in (("a", "c"), ("c", "a"))) / len(drawn)
    assert included == pytest.approx(3 / 8, abs=0.03)


def test_participants_are_independent_of_each_other() -> None:
    schedules = uniform({name: name for name in "abc"}, asking(1))
    first = [schedules.of(number, 0)[0] for number in range(6001)]
    together = Counter(pairwise(first))
    assert len(together) == 36
    assert chisquare(list(together.values())).pvalue > 0.01


def test_three_people_and_every_pair() -> None:
    shown = uniform({"x": 1, "y": 2, "z": 3}, asking(3)).of(0, 0)
    assert {frozenset((pair.a, pair.b)) for pair in shown} == {frozenset("xy"), frozenset("xz"), frozenset("yz")}
    assert shown[0] == ShownPair(shown[0].a, shown[0].b, "uniform", 1.0)


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(InputError, match=r"^pairs: 4 pairs wanted, but only 3 pairs .* ask for at most 3, of all"):
        uniform({"x": 1, "y": 2, "z": 3}, asking(4))
    with pytest.raises(InputError, match="all look the same"):
        uniform({"x": 1, "y": 1}, asking(1))


def test_a_hundred_thousand_people_of_whom_all_but_one_look_the_same() -> None:
    schedules = uniform({str(person): person == 77_777 for person in range(100_000)}, asking(50))
    began = time.process_time()
    for number in range(20):
        assert all("77777" in (pair.a, pair.b) for pair in schedules.of(number, 0))
    assert time.process_time() - began < 1  # takes a hundredth of it; drawing until two differ would take minutes
