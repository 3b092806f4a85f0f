"""Pairs that share people: the interval knows that they are not independent."""

from __future__ import annotations

import numpy as np
import pytest

from fairwise.auditing.estimates import Averages
from fairwise.auditing.parts import Part, part_of
from fairwise.auditing.splits import Asked
from fairwise.auditing.theorems import hoeffding

TRUTH = 1 / 3  # mean of |x - y| for uniform x and y


def measured(rng: np.random.Generator, n_people: int, n_pairs: int) -> Part:
    """Random pairs of people with uniform scores, all asked to be treated the same."""
    every = np.stack(np.triu_indices(n_people, k=1), axis=1)
    a, b = rng.choice(every, n_pairs, replace=False).T
    score = rng.random(n_people)
    values = np.stack([np.abs(score[a] - score[b])] * 4, axis=1)
    averages = Averages(values, np.ones_like(values), np.zeros(4, dtype=bool), np.zeros_like(a), np.arange(n_pairs))
    asked = Asked(averages.judge, averages.pair, a, b, n_people)
    chosen = np.ones(n_pairs, dtype=bool)
    part = part_of(averages, score, asked, "person", people=np.arange(n_people), answers=chosen)
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
