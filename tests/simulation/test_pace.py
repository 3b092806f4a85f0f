"""How long simulated people take: what is assumed is what comes out."""

from __future__ import annotations

import numpy as np
import pytest

from fairwise.bots import participant
from fairwise.errors import InputError
from fairwise.simulation.pace import PACE_SPREAD, THOUGHT_SPREAD, minutes_for


def test_half_of_all_single_thoughts_take_less_than_the_usual_one() -> None:
    assert minutes_for(1, 12).median == pytest.approx(12 / 60, rel=0.05)


def test_many_thoughts_take_their_average_and_leave_people_different() -> None:
    found = minutes_for(400, 6)
    assert found.median == pytest.approx(400 * 6 / 60 * np.exp(THOUGHT_SPREAD**2 / 2), rel=0.03)
    assert found.high / found.median == pytest.approx(np.exp(1.645 * PACE_SPREAD), rel=0.06)
    assert found.median / found.low == pytest.approx(np.exp(1.645 * PACE_SPREAD), rel=0.06)


def test_twice_as_slow_takes_twice_as_long() -> None:
    slow, quick = minutes_for(50, 20, seed=3), minutes_for(50, 10, seed=3)
    assert slow.low == pytest.approx(2 * quick.low)
    assert slow.high == pytest.approx(2 * quick.high)


def test_the_same_seed_gives_the_same_people() -> None:
    assert minutes_for(50, seed=1) == minutes_for(50, seed=1) != minutes_for(50, seed=2)


def test_thoughts_vary_as_those_of_bots() -> None:
    assert THOUGHT_SPREAD == participant._SPREAD


@pytest.mark.parametrize(("pairs", "seconds"), [(0, 10), (50, 0), (50, -1), (50, np.inf), (50, np.nan)])
def test_refused(pairs: int, seconds: float) -> None:
    with pytest.raises(InputError, match="allowed"):
        minutes_for(pairs, seconds)
