"""What the theorem promises, as numbers before anything runs."""

from __future__ import annotations

from math import inf, log, sqrt
from typing import Any

import pytest

from fairwise import promise
from fairwise.errors import InputError


def test_rounds_for_an_accuracy_are_those_of_the_corrected_theorem() -> None:
    """T = ((C_lambda R sqrt(ln(K + 1) / 2) + C_tau) / nu)^2, with R = 3 where slack is in play and 2 where not."""
    with_slack = promise(100, lambda_bound=5.0, tau_bound=2.0, n_budgets=1, nu=0.2)
    assert with_slack.n_rounds == pytest.approx(((5 * 3 * sqrt(log(101) / 2) + 2) / 0.2) ** 2, abs=1)
    without = promise(100, lambda_bound=5.0, tau_bound=2.0, nu=0.2)
    assert without.n_rounds == pytest.approx((5 * 2 * sqrt(log(101) / 2) / 0.2) ** 2, abs=1)


def test_rounds_and_accuracy_are_two_ways_to_say_one_thing() -> None:
    by_accuracy = promise(40, lambda_bound=3.0, tau_bound=1.0, n_budgets=2, nu=0.25)
    by_rounds = promise(40, lambda_bound=3.0, tau_bound=1.0, n_budgets=2, n_rounds=by_accuracy.n_rounds)
    assert by_rounds == by_accuracy
    assert by_accuracy.nu <= 0.25
    one_less = promise(40, lambda_bound=3.0, tau_bound=1.0, n_budgets=2, n_rounds=by_accuracy.n_rounds - 1)
    assert one_less.nu > 0.25


def test_the_guarantee_follows_from_the_accuracy() -> None:
    numbers = promise(10, lambda_bound=4.0, tau_bound=2.0, n_budgets=1, n_rounds=500)
    assert numbers.error_excess == numbers.nu
    assert numbers.pair_excess == pytest.approx((1 + numbers.nu) / 4)
    assert numbers.budget_excess == pytest.approx((1 + numbers.nu) / 2)


def test_steps_are_those_that_the_regret_bound_is_about() -> None:
    numbers = promise(10, lambda_bound=4.0, tau_bound=2.0, n_budgets=1, n_rounds=500)
    assert numbers.pair_step == pytest.approx(sqrt(8 * log(11) / 500) / 3)
    assert numbers.budget_step == pytest.approx(2 / sqrt(500))


def test_without_pairs_one_round_is_enough() -> None:
    assert promise(0, lambda_bound=1.0, tau_bound=1.0, nu=0.1).n_rounds == 1


def test_a_player_without_means_promises_nothing_about_its_rows() -> None:
    numbers = promise(5, lambda_bound=0.0, tau_bound=0.0, n_rounds=10)
    assert numbers.pair_excess == numbers.budget_excess == inf


def test_it_needs_to_know_one_of_the_two() -> None:
    with pytest.raises((TypeError, ValueError), match="n_rounds or nu"):
        promise(5, lambda_bound=1.0, tau_bound=1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_pairs", -1), ("lambda_bound", -1.0), ("tau_bound", -1.0), ("n_budgets", -1), ("n_rounds", 0), ("nu", 0.0)],
)
def test_numbers_that_make_no_sense_are_refused_by_name(name: str, value: float) -> None:
    given: dict[str, Any] = {"n_pairs": 5, "lambda_bound": 1.0, "tau_bound": 1.0}
    if name not in {"n_rounds", "nu"}:
        given["nu"] = 0.1
    with pytest.raises(InputError, match=name):
        promise(**given | {name: value})
