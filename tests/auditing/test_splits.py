"""Nothing that should be new in the held-out part was in the training part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from fairwise.auditing.intervals import AnswerMeans
from fairwise.auditing.splits import AnswerIndex, Split, SplitSide, _classes_of_disjoint_pairs, measure_side, splits
from fairwise.auditing.theorems import hoeffding

if TYPE_CHECKING:
    from fairwise.auditing.splits import By


def random_panel(seed: int, n_people: int = 60, n_judges: int = 8, n_answers: int = 50) -> AnswerIndex:
    rng = np.random.default_rng(seed)
    a = rng.integers(n_people, size=n_answers)
    b = (a + rng.integers(1, n_people, size=n_answers)) % n_people
    low, high = np.minimum(a, b), np.maximum(a, b)
    _, pair = np.unique(low * n_people + high, return_inverse=True)
    judge = rng.permutation(np.arange(n_answers) % n_judges)
    # Five judged people are not in the table.
    return AnswerIndex(judge=judge, pair=pair, a=a, b=b, n_people=n_people - 5)


def made(asked: AnswerIndex, by: By, folds: int | None = None, seed: int = 0) -> list[Split]:
    return list(splits(asked, by, test_size=0.3, folds=folds, n_repeats=3, seed=seed))


@examples(30)
@given(seed=st.integers(0, 1000))
def test_people_are_on_one_side(seed: int) -> None:
    asked = random_panel(seed)
    for by in ("pair", "person", "judge"):
        for split in made(asked, by):
            together = np.concatenate([split.train_people, split.test_people])
            assert sorted(together.tolist()) == list(range(asked.n_people))
            assert not (split.train & split.test).any()


@examples(30)
@given(seed=st.integers(0, 1000), folds=st.sampled_from([None, 4]))
def test_what_is_new_is_new(seed: int, folds: int | None) -> None:
    asked = random_panel(seed)
    for split in made(asked, "judge", folds):
        assert not set(asked.judge[split.train]) & set(asked.judge[split.test])
        assert split.dropped == 0
    for split in made(asked, "pair", folds):
        assert not set(asked.pair[split.train]) & set(asked.pair[split.test])
        assert split.dropped == 0
    for split in made(asked, "person", folds):
        sides = [{*asked.a[chosen], *asked.b[chosen]} for chosen in (split.train, split.test)]
        assert not sides[0] & sides[1]
        assert not sides[0] & set(split.test_people.tolist())
        assert not sides[1] & set(split.train_people.tolist())


@pytest.mark.parametrize("by", ["pair", "person", "judge"])
def test_folds_hold_everyone_out_once(by: By) -> None:
    asked = random_panel(7)
    held = np.concatenate([split.test_people for split in made(asked, by, folds=4)])
    assert sorted(held.tolist()) == list(range(asked.n_people))
    if by != "person":
        assert np.sum([split.test for split in made(asked, by, folds=4)], axis=0).tolist() == [1] * 50


def test_parts_have_about_the_size_asked_for() -> None:
    asked = random_panel(3, n_people=1005, n_judges=20, n_answers=400)
    for split in made(asked, "judge"):
        assert len(split.test_people) == pytest.approx(300, abs=6)
        assert len(set(asked.judge[split.test])) == 6
    for split in made(asked, "person"):
        assert len(split.test_people) == pytest.approx(300, abs=30)
    assert len({tuple(split.test_people) for split in made(asked, "judge")}) == 3
    assert made(asked, "judge")[0].test.tolist() == made(asked, "judge")[0].test.tolist()


def test_linked_people_stay_together_so_that_nothing_is_dropped() -> None:
    """100 pairs of people who are in no other pair."""
    a = np.arange(0, 200, 2)
    asked = AnswerIndex(judge=a % 5, pair=np.arange(100), a=a, b=a + 1, n_people=300)
    for split in made(asked, "person"):
        assert split.dropped == 0
        assert split.test.sum() == pytest.approx(30, abs=1)


def test_where_everyone_is_linked_the_pairs_between_are_dropped_and_counted() -> None:
    a = np.arange(199)
    asked = AnswerIndex(judge=a % 5, pair=a, a=a, b=a + 1, n_people=200)
    for split in made(asked, "person"):
        assert split.dropped > 0
        assert split.train.sum() + split.test.sum() + split.dropped == 199


def test_pairs_that_share_people_are_worth_fewer() -> None:
    pair = np.arange(4)
    assert _classes_of_disjoint_pairs(pair, np.array([0, 2, 4, 6]), np.array([1, 3, 5, 7])) == 1
    assert _classes_of_disjoint_pairs(pair, np.array([0, 0, 0, 0]), np.array([1, 2, 3, 4])) == 5
    again = np.array([0, 0, 0, 1])  # the same pair three times
    assert _classes_of_disjoint_pairs(again, np.array([0, 0, 0, 2]), np.array([1, 1, 1, 3])) == 1


TRUTH = 1 / 3  # mean of |x - y| for uniform x and y


def measured(rng: np.random.Generator, n_people: int, n_pairs: int) -> SplitSide:
    """Random pairs of people with uniform scores, all asked to be treated the same."""
    every = np.stack(np.triu_indices(n_people, k=1), axis=1)
    a, b = rng.choice(every, n_pairs, replace=False).T
    score = rng.random(n_people)
    values = np.stack([np.abs(score[a] - score[b])] * 4, axis=1)
    averages = AnswerMeans(values, np.ones_like(values), np.zeros(4, dtype=bool), np.zeros_like(a), np.arange(n_pairs))
    asked = AnswerIndex(averages.judge, averages.pair, a, b, n_people)
    chosen = np.ones(n_pairs, dtype=bool)
    part = measure_side(averages, score, asked, "person", people=np.arange(n_people), answers=chosen)
    return part.with_interval(0.95)


@pytest.mark.parametrize(("n_people", "n_pairs"), [(20, 30), (60, 40), (30, 200)])
def test_intervals_by_person_cover_about_as_often_as_they_say(n_people: int, n_pairs: int) -> None:
    rng = np.random.default_rng(0)
    parts = [measured(rng, n_people, n_pairs) for _ in range(300)]
    covered = np.mean([part.low[1] <= TRUTH <= part.high[1] for part in parts])
    assert 0.90 < covered < 0.99
    guaranteed = [abs(part.value[1] - TRUTH) <= hoeffding(part.independent_units[1]) for part in parts]
    assert np.mean(guaranteed) >= 0.95
    errors = np.mean([part.low[0] <= 0.5 <= part.high[0] for part in parts])
    assert 0.90 < errors < 0.99
