"""Judgments that contradict each other, turn in circles or come in thousands; limits that are just reached."""

from __future__ import annotations

from functools import partial
from math import log, sqrt
from typing import Any

import pytest
from tests.support.torture_fits import (
    CLOSE,
    ESTIMATORS,
    FOUR,
    Fit,
    Fitted,
    consistent,
    every_labelling,
    fit_case,
    for_each_estimator,
    optimum,
)
from tests.support.torturing import (
    Case,
    Refused,
    hold_on_one_and_two_threads,
    hold_to_what_is_expected,
    hold_when_done_again,
    parametrised,
)

# Four people in a row; a tree of depth 2 can label them in all 16 ways, so that its mixtures can give them any four
# probabilities. The first two have label 0, the others 1, and 1 is the good one.


def rules(name: str, *said: tuple[Any, ...], error: float | None = None, **settings: Any) -> Case:
    """Trees under these rules; the error by reasoning, and by a linear programme if none is given."""
    return fit_case(name, Fit(said=said, settings=settings), error)


def again(said: tuple[Any, ...], judges: int) -> tuple[tuple[Any, ...], ...]:
    return tuple((f"j{number}", *said) for number in range(judges))


ENDS = ("e", 0, 3, "same")
CIRCLE = (("u", 0, 3, "a_at_least_b"), ("v", 3, 2, "a_at_least_b"), ("w", 2, 0, "a_at_least_b"))
RING = tuple(("u", i, (i + 1) % 4, "a_at_least_b") for i in range(4))

CASES = [
    # Two people who must be alike and are not cost half of one of four people, whatever the reason.
    rules("same", ENDS, error=0.25),
    rules(
        "at least as well, and the other way round",
        ("u", 0, 3, "a_at_least_b"),
        ("v", 0, 3, "b_at_least_a"),
        error=0.25,
    ),
    rules("same and strict", ENDS, ("v", 0, 3, "a_at_least_b"), error=0.25),
    rules("strict along the labels costs nothing", ("u", 3, 0, "a_at_least_b"), error=0.0),
    rules("strict against the labels", ("u", 0, 3, "a_at_least_b"), error=0.25),
    rules("said the other way round", ("u", 3, 0, "b_at_least_a"), error=0.25),
    rules("no constraint", ("u", 0, 3, "no_constraint"), error=0.0),
    rules("the same about those who are alike anyway", ("u", 0, 1, "same"), ("u", 2, 3, "same"), error=0.0),
    # In a circle all are alike: 0, 2 and 3 get label 1 and only 0 is wrong; in the ring everyone, so half are wrong.
    rules("a circle of three", *CIRCLE, error=0.25),
    rules("a circle of four", *RING, error=0.5),
    rules("a circle of four and both ways", *RING, ("v", 1, 0, "a_at_least_b"), error=0.5),
    rules(
        "a circle with same in it",
        ("u", 0, 3, "a_at_least_b"),
        ("u", 3, 2, "same"),
        ("u", 2, 0, "a_at_least_b"),
        error=0.25,
    ),
    rules("a path against the labels", ("u", 0, 1, "same"), ("u", 1, 2, "same"), ("u", 2, 3, "same"), error=0.5),
    rules("everyone with everyone", *((f"j{i}{k}", i, k, "same") for i in range(4) for k in range(i)), error=0.5),
    rules("all judgments on one person", *((f"j{k}", 0, k, "same") for k in (1, 2, 3)), error=0.5),
    rules("one person owed more than all", *((f"j{k}", 0, k, "a_at_least_b") for k in (1, 2, 3)), error=0.25),
    rules("one person owed less than all", *((f"j{k}", 3, k, "b_at_least_a") for k in (0, 1, 2)), error=0.25),
    rules("label 0 is good", ("u", 0, 3, "a_at_least_b"), error=0.0, favorable_label=0),
    rules("label 0 is good, against the labels", ("u", 3, 0, "a_at_least_b"), error=0.25, favorable_label=0),
    rules("two thousand say the same", *again((0, 3, "same"), 2000), error=0.25),
    rules("two thousand and one against", *again((0, 3, "same"), 2000), ("x", 0, 3, "no_constraint"), error=0.25),
    rules(
        "hundreds in opposite directions",
        *again((0, 3, "a_at_least_b"), 300),
        *((f"k{i}", 3, 0, "a_at_least_b") for i in range(300)),
        error=0.25,
    ),
]
# A gap of gamma between the two saves gamma / 4.
GAMMAS = (0.0, 1e-300, 1e-12, 1e-9, 1e-4, 0.1, 0.25, 1 / 3, 0.5, 0.999999, 1 - 1e-16, 1.0)
CASES += [rules(f"gamma {gamma!r}", ENDS, error=(1 - gamma) / 4, gamma=gamma) for gamma in GAMMAS]
CASES += [rules(f"a circle with gamma {gamma!r}", *CIRCLE, gamma=gamma) for gamma in GAMMAS]
CASES += [rules(f"a ring with gamma {gamma!r}", *RING, gamma=gamma) for gamma in (0.0, 1e-9, 0.2, 0.5, 1.0)]
# Mean excess is excess over twice the weight of all answers: with one answer eta gives a gap of 2 eta, with two 4 eta.
ETAS = (0.0, 1e-300, 1e-12, 1e-6, 0.01, 0.125, 0.25, 0.4999, 0.5, 0.5001, 1.0, None)
CASES += [rules(f"eta {eta}", ENDS, error=max(0.0, 1 - 2 * (1 if eta is None else eta)) / 4, eta=eta) for eta in ETAS]
SHOWN = ("e", 1, 2, "no_constraint")
CASES += [
    rules(f"eta {eta} of two answers", ENDS, SHOWN, error=max(0.0, 1 - 4 * (1 if eta is None else eta)) / 4, eta=eta)
    for eta in ETAS
]
CASES += [
    rules(f"eta {eta} and gamma 0.5", *CIRCLE, ENDS, eta=eta, gamma=0.5) for eta in (0.0, 0.05, 0.0625, 0.1, None)
]
CASES += [
    rules(f"eta {eta} by the panel's letter", *CIRCLE, ENDS, eta=eta, weighting="panel")
    for eta in (0.0, 0.01, 0.1, 1.0)
]
# A judge's budget is over twice the pairs shown to them.
BUDGETS = (0.0, 1e-12, 0.05, 0.25, 0.5, 1.0)
CASES += [
    rules(f"budget {b} of one judge", ENDS, error=max(0.0, 1 - 2 * b) / 4, eta=None, judge_budgets=b) for b in BUDGETS
]
CASES += [
    rules(f"budget {b} of each of four", *CIRCLE, ("x", 1, 2, "same"), eta=None, judge_budgets=b) for b in BUDGETS
]
CASES += [
    rules("a budget for one of two judges", ENDS, ("v", 1, 2, "same"), error=0.25, eta=None, judge_budgets={"e": 0.0}),
    rules("budgets for nobody", ENDS, error=0.0, eta=None, judge_budgets={}),
    rules(
        "a budget of a judge who asks for nothing", ("u", 0, 3, "no_constraint"), error=0.0, eta=None, judge_budgets=0.0
    ),
    rules("the panel and its judges", *CIRCLE, ENDS, eta=0.05, judge_budgets=0.1),
    rules("the panel's limit exactly that of its judge", ENDS, error=0.125, eta=0.25, judge_budgets=0.25),
    rules("a budget with thousands of judges", *again((0, 3, "same"), 1000), error=0.2, eta=None, judge_budgets=0.1),
    rules("eta with thousands of judges", *again((0, 3, "same"), 1000), error=0.2, eta=0.1),
]
# Without rules, and with gamma = 1, a model is the plain one: a line or a tree makes no error here.
for which in ESTIMATORS:
    plain = {"estimator": ESTIMATORS[which]}
    CASES += [
        rules(f"no judgments, {which}", error=0.0, **plain),
        rules(f"gamma 1, {which}", *CIRCLE, ENDS, error=0.0, gamma=1.0, **plain),
        rules(f"eta 1, {which}", *CIRCLE, error=0.0, eta=1.0, **plain),
        rules(f"no budget at all, {which}", *CIRCLE, ENDS, error=0.0, eta=None, **plain),
        rules(f"answers that ask for nothing, {which}", ("u", 0, 3, "no_constraint"), error=0.0, **plain),
    ]
    CASES += [
        rules(f"{name}, gamma {gamma}, {which}", *said, gamma=gamma, **plain)
        for name, said in (("ends", (ENDS,)), ("circle", CIRCLE), ("ring", RING))
        for gamma in (0.0, 0.3)
        if which != "tree"
    ]
# Everyone in a ring is alike.
CASES += for_each_estimator("a ring", lambda one: Fit(said=RING, settings={"estimator": one}), 0.5)


def promised(fit: Fit, rounds: int, bound: float, fitted: Fitted) -> None:
    """What the theorem says of so many rounds with an exact oracle, and a bound that is one."""
    consistent(fit, fitted)
    least = optimum(fit, every_labelling(fit))
    told = fitted.certificate
    assert told["lower_bound"] <= least + CLOSE
    n_rows = len(fit.excess_weights())
    nu = bound * 2 * sqrt(log(n_rows + 1) / 2) / sqrt(rounds)
    assert told["error"] <= least + nu + CLOSE
    assert told["max_violation"] <= fit.rules["gamma"] + (1 + nu) / bound + CLOSE


def played(name: str, *said: tuple[Any, ...], rounds: int = 400, bound: float = 10.0, **settings: Any) -> Case:
    game = {"solver": "no-regret", "n_rounds": rounds, "lambda_bound": bound}
    fit = Fit(said=said, settings=game | settings)
    exact = fit.rules["estimator"] == "tree"
    return Case(name, fit, partial(promised, fit, rounds, bound) if exact else partial(consistent, fit))


CASES += [
    played(f"game: {name}, gamma {gamma!r}", *said, gamma=gamma)
    for name, said in (("ends", (ENDS,)), ("circle", CIRCLE), ("ring", RING))
    for gamma in (0.0, 1e-12, 0.3, 1.0)
]
CASES += [
    played(f"game: {name}, {which}", *said, estimator=ESTIMATORS[which], rounds=20)
    for which in ESTIMATORS
    for name, said in (("ends", (ENDS,)), ("circle", CIRCLE), ("ring", RING))
    if which != "tree"
]
CASES += [
    played("game: one round", ENDS, rounds=1),
    played("game: two rounds", *RING, rounds=2),
    played("game: hardly any price", ENDS, bound=1e-300),
    played("game: the highest price", ENDS, bound=1e9, rounds=50),
    played("game: gamma 1", *RING, gamma=1.0),
    played("game: nothing asked", ("u", 0, 3, "no_constraint")),
]
ASKED = {"solver": "no-regret", "nu": 1e-200}
CASES += [
    Case("game refused: endless accuracy", Fit(said=(ENDS,), settings=ASKED), Refused("nu=1e-200 is not allowed")),
    Case("game refused: 1e9 rounds", played("", ENDS, rounds=10**9).run, Refused("at most 10,000,000 rounds")),
    Case("game refused: 10**400 rounds", played("", ENDS, rounds=10**400).run, Refused("n_rounds=1000.* not allowed")),
]


@parametrised(CASES)
def test_hard_rules_are_kept_at_the_least_cost(case: Case) -> None:
    hold_to_what_is_expected(case)


@pytest.mark.slow
@parametrised(CASES)
def test_hard_rules_give_the_same_when_done_again(case: Case) -> None:
    hold_when_done_again(case)


@pytest.mark.slow
@parametrised(CASES[::3])
def test_hard_rules_give_the_same_on_one_and_two_threads(case: Case) -> None:
    hold_on_one_and_two_threads(case)


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_everyone_in_a_circle_is_treated_alike(estimator: Any) -> None:
    given = Fit(FOUR, said=CIRCLE, settings={"estimator": estimator})().probability
    assert max(given[[0, 2, 3]]) - min(given[[0, 2, 3]]) <= CLOSE


def test_fewer_classifiers_and_deciding_without_chance_break_no_rule() -> None:
    model = Fit(said=(*CIRCLE, ENDS), settings={"gamma": 0.2}).model()
    for simpler in (model.simplify(), model.simplify(max_classifiers=1), model.derandomize()):
        assert simpler.certificate_.max_violation <= 0.2 + CLOSE
    assert set(model.derandomize().predict_proba(FOUR)[:, 1]) <= {0.0, 1.0}
