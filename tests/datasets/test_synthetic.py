import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairwise.datasets import make_people, signal_weights
from fairwise.errors import InputError

BEST_ERROR = math.atan(0.5) / math.pi


def test_the_same_seed_gives_the_same_people() -> None:
    people, outcome = make_people(500, 6, seed=3)
    again, outcome_again = make_people(500, 6, seed=3)
    pd.testing.assert_frame_equal(people, again)
    pd.testing.assert_series_equal(outcome, outcome_again)


def test_another_seed_gives_other_people() -> None:
    assert not make_people(500, 6, seed=3)[0].equals(make_people(500, 6, seed=4)[0])


def test_the_table_has_the_shape_asked_for() -> None:
    people, outcome = make_people(50, 3, seed=0)
    assert people.shape == (50, 3)
    assert list(people.columns) == ["feature_1", "feature_2", "feature_3"]
    assert people.index.name == "id"
    assert (people.index[0], people.index[-1]) == (1, 50)
    assert set(people.dtypes) == {np.dtype("float64")}
    assert outcome.name == "outcome"
    assert outcome.dtype == "int64"
    pd.testing.assert_index_equal(people.index, outcome.index)


@pytest.mark.parametrize("n", [2, 3, 10, 1001])
@pytest.mark.parametrize("d", [1, 5])
def test_both_labels_occur_in_halves(n: int, d: int) -> None:
    _, outcome = make_people(n, d, seed=1)
    assert set(outcome) == {0, 1}
    assert outcome.sum() == n // 2


@pytest.mark.parametrize("d", [1, 2, 20])
def test_the_signal_is_the_documented_one(d: int) -> None:
    weights = signal_weights(d)
    assert math.isclose(float(weights @ weights), 1.0)
    np.testing.assert_allclose(weights / weights[0], [(-1) ** j / (j + 1) for j in range(d)])
    people, outcome = make_people(40_000, d, seed=0)
    error = np.mean((people.to_numpy() @ weights > 0) != outcome)
    assert error == pytest.approx(BEST_ERROR, abs=0.01)


def test_a_model_learns_it_on_people_it_has_not_seen() -> None:
    people, outcome = make_people(5000, 8, seed=0)
    model = LogisticRegression().fit(people[:4000], outcome[:4000])
    assert 1 - model.score(people[4000:], outcome[4000:]) < BEST_ERROR + 0.04


def test_little_more_memory_is_used_than_the_table_needs() -> None:
    tracemalloc.start()
    try:
        people, _ = make_people(100_000, 20, seed=0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.3 * people.to_numpy().nbytes


@pytest.mark.parametrize(
    ("n", "d", "seed", "message"),
    [
        (1, 3, 0, "n is 1; allowed: an integer of at least 2"),
        (-5, 3, 0, "n is -5; allowed: an integer of at least 2"),
        (10.5, 3, 0, "n is 10.5; allowed: an integer of at least 2"),
        ("10", 3, 0, "n is '10'; allowed: an integer of at least 2"),
        (10, 0, 0, "d is 0; allowed: an integer of at least 1"),
        (10, None, 0, "d is None; allowed: an integer of at least 1"),
        (10, 3, -1, "seed is -1; allowed: an integer of at least 0"),
        (10, 3, None, "seed is None; allowed: an integer of at least 0"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(n: int, d: int, seed: int, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        make_people(n, d, seed)
    assert str(refusal.value) == message


def test_integers_of_numpy_are_integers() -> None:
    people, _ = make_people(10, 2, seed=0)
    same, _ = make_people(np.int64(10), np.int32(2), seed=np.uint8(0))  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(people, same)
