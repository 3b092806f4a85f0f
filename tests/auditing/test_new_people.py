"""Errors on people left out: of a model, of the plain one, and of the same outcome for everyone."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import held_out, held_out_errors
from fairwise.auditing.held_out import answer_index
from fairwise.auditing.splits import mean_interval, splits
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.results.certificate import HeldOutErrors

KINDS = 12


def town(seed: int, n: int = 40) -> tuple[pd.DataFrame, pd.Series[Any], Judgments]:
    """A few people and what three judges say about them; the outcome hangs on a column, or on nothing."""
    rng = np.random.default_rng([17, seed])
    people = pd.DataFrame({"x": rng.integers(0, 5, n), "z": rng.integers(0, 3, n)}, index=[f"c{k}" for k in range(n)])
    reason = people["x"] * float(seed % 3 > 0) + rng.normal(0, 1, n)
    outcome = pd.Series((reason > reason.median()).astype(int), people.index)
    rows = []
    for judge in range(3):
        order = rng.permutation(people.index)[:12].tolist()
        rows += [
            {"judge": f"j{judge}", "a": a, "b": b, "answer": rng.choice(["same", "a_at_least_b"])}
            for a, b in zip(order[::2], order[1::2], strict=True)
        ]
    return people, outcome, Judgments(rows, people=people)


@pytest.mark.parametrize("seed", range(KINDS))
def test_the_error_is_that_of_held_out_by_pair(seed: int) -> None:
    people, outcome, judgments = town(seed)
    model = PairwiseFairClassifier("tree", max_depth=1, gamma=0.1, eta=[0.0, 0.02, None][seed % 3], favorable_label=1)
    found = held_out_errors(model, people, outcome, judgments, n_repeats=2, seed=seed)
    known = held_out(model, people, outcome, judgments, n_repeats=2, seed=seed).overall.loc["error"]
    numbers = found.error, found.training, found.low, found.high
    assert numbers == pytest.approx(tuple(known[["held_out", "training", "low", "high"]].astype(float)))
    for name, one in (("plain", found.plain), ("constant", found.constant)):
        assert one.gain == pytest.approx(one.error - found.error)
        assert one.gain_low <= one.gain <= one.gain_high
        assert (name in found.not_beaten) == (not one.gain_low > 0)
    assert HeldOutErrors.from_json(json.loads(json.dumps(asdict(found)))) == found


def numbers_of(errors: HeldOutErrors) -> list[float]:
    return [errors.error, errors.training, errors.low, errors.high, *asdict(errors.plain).values()]


@pytest.mark.parametrize("seed", range(4))
def test_weights_count_in_all_models_and_means(seed: int) -> None:
    people, outcome, judgments = town(seed, n=80)
    model = PairwiseFairClassifier("tree", max_depth=1, gamma=1.0, eta=0.0, favorable_label=1)  # nothing binds
    weight = pd.Series(np.where(outcome == 1, 20.0, 1.0), people.index)
    errors = held_out_errors(model, people, outcome, judgments, fit_params={"sample_weight": weight}, n_repeats=1)
    assert errors.plain.error == pytest.approx(errors.error)
    assert errors.plain.gain == pytest.approx(0)
    assert errors.plain.gain_low <= 0 <= errors.plain.gain_high
    asked = judgments.asked()
    index = answer_index(asked, PairRows.from_judgments(asked), people, len(people))
    (split,) = splits(index, "pair", test_size=0.3, folds=None, n_repeats=1, seed=0)
    new = outcome.iloc[split.test_people]
    assert errors.constant.error == pytest.approx(np.average(new == 0, weights=np.where(new == 1, 20.0, 1.0)))
    same = held_out_errors(model, people, outcome, judgments, fit_params={"sample_weight": weight * 0 + 3}, n_repeats=1)
    alone = held_out_errors(model, people, outcome, judgments, n_repeats=1)
    assert numbers_of(same) == pytest.approx(numbers_of(alone))


def test_groups_are_known_to_the_model_with_rules_alone() -> None:
    people, outcome, judgments = town(1, n=80)
    model = PairwiseFairClassifier(
        "tree", max_depth=1, gamma=1.0, favorable_label=1, group_constraints=[DemographicParity(difference_bound=0.0)]
    )
    groups = pd.Series(np.arange(80) % 2, people.index, name="group")
    params = {"sensitive_features": groups.to_frame(), "sample_weight": np.ones(80)}
    errors = held_out_errors(model, people, outcome, judgments, fit_params=params, n_repeats=1)
    assert (
        errors.plain.error
        == held_out_errors(
            model.set_params(group_constraints=None), people, outcome, judgments, n_repeats=1
        ).plain.error
    )


def test_a_model_that_beats_only_the_constant() -> None:
    """With many people, an outcome that a column tells, and answers that ask for little."""
    people, outcome, judgments = town(1, n=600)
    found = held_out_errors(
        PairwiseFairClassifier("tree", max_depth=1, gamma=0.5, favorable_label=1), people, outcome, judgments
    )
    assert list(found.not_beaten) == ["plain"]
    people, outcome, judgments = town(0, n=600)  # an outcome that nothing tells
    nothing = held_out_errors(
        PairwiseFairClassifier("tree", max_depth=1, gamma=0.5, favorable_label=1), people, outcome, judgments
    )
    assert list(nothing.not_beaten) == ["constant", "plain"]


def test_too_few_people_to_leave_some_out() -> None:
    people, _, judgments = town(3)
    one = judgments.frame.iloc[:1]
    few = people.loc[[one["a"].iloc[0], one["b"].iloc[0]]]
    with pytest.raises(InputError, match="with one class there is nothing to learn from"):
        held_out_errors(
            PairwiseFairClassifier("tree", max_depth=1, favorable_label=1),
            few,
            pd.Series([0, 1], few.index),
            Judgments(one, people=few),
        )


def test_intervals_of_differences_hold_the_mean() -> None:
    """Of 400 samples of 40 differences each, whose mean is known, at least 93 in 100."""
    rng = np.random.default_rng(9)
    hits = []
    for _ in range(400):
        gain = rng.uniform(-0.3, 0.3)
        chances = [(1 - abs(gain)) / 2 * 0.6 + max(-gain, 0), (1 - abs(gain)) / 2 * 0.6 + max(gain, 0)]
        values = rng.choice([-1.0, 1.0, 0.0], 40, p=[*chances, 1 - sum(chances)])
        _, low, high = mean_interval((values + 1) / 2, 0.95)
        hits.append(2 * low - 1 <= chances[1] - chances[0] <= 2 * high - 1)
    assert np.mean(hits) >= 0.93
    assert np.isnan(mean_interval(np.array([0.4]), 0.95)[1:]).all()
