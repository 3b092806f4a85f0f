"""Settings and judgments that mean nothing: each is refused with its name, its value and what is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.torture_fits import FOUR, Fit
from tests.support.torturing import (
    Case,
    Refused,
    hold_on_one_and_two_threads,
    hold_to_what_is_expected,
    hold_when_done_again,
    parametrised,
)

from fairwise import Judgments

ENDS = (("u", 0, 3, "same"),)
TO_1 = "is not allowed: it must be a number from 0 to 1"
SETTINGS: list[tuple[str, Any, str]] = [
    *(("gamma", value, rf"gamma={value} {TO_1}") for value in (-1, -5e-324, 1.0000001, np.nan, np.inf, True)),
    ("gamma", "0.1", rf"gamma='0.1' {TO_1}"),
    ("gamma", None, rf"gamma=None {TO_1}"),
    ("gamma", [0.1], rf"gamma=\[0.1\] {TO_1}"),
    *(("eta", value, rf"eta={value} {TO_1} or None for no panel budget") for value in (-1e-300, 2, np.nan, np.inf)),
    *(("judge_budgets", value, f"judge_budgets: {value} for 'every judge'") for value in (-1, 1.5, np.nan, np.inf)),
    ("judge_budgets", {"u": np.inf}, "judge_budgets: inf for 'u' is not allowed: give a number from 0 to 1"),
    ("judge_budgets", {"z": 0.1}, "judge_budgets names 'z', who gave no answer that counts"),
    ("judge_budgets", {"relation": {"affected": 0}}, "judge_budgets names 'relation', no attribute of these judges"),
    *(("tol", value, f"tol={value} is not allowed: it must be a number above 0") for value in (0, -1, np.nan, np.inf)),
    ("lambda_bound", 1e308, r"lambda_bound=1e\+308 is not allowed: it must be a number above 0 and at most 1e\+09"),
    ("lambda_bound", 0, "lambda_bound=0 is not allowed"),
    ("tau_bound", np.inf, "tau_bound=inf is not allowed"),
    ("nu", 0, "nu=0 is not allowed: it must be a number above 0"),
    ("n_rounds", 0, "n_rounds=0 is not allowed: it must be a whole number of at least 1"),
    ("n_rounds", 1.5, "n_rounds=1.5 is not allowed"),
    ("max_depth", 0, "max_depth=0 is not allowed: it must be a whole number from 1 to 4"),
    ("max_depth", 5, "max_depth=5 is not allowed"),
    ("max_depth", 2.0, "max_depth=2.0 is not allowed"),
    ("max_thresholds", 0, "max_thresholds=0 is not allowed"),
    ("estimator", "forest", "estimator='forest' is not allowed. Allowed: 'linear'"),
    ("estimator", None, "estimator=None cannot be fitted as a classifier"),
    ("solver", "simplex", "solver='simplex' is not allowed. Allowed: 'column-generation', 'no-regret'"),
    ("solver", np.array(["a", "b"]), "solver=array.* is not allowed"),
    ("weighting", None, "weighting=None is not allowed"),
    ("favorable_label", 2, "favorable_label=2 is not one of the outcomes: give 0 or 1"),
    ("favorable_label", np.nan, "favorable_label=nan is not one of the outcomes"),
    ("favorable_label", np.array([0, 1]), "favorable_label=array.* is not one of the outcomes"),
    ("random_state", -1, "random_state=-1 is not allowed"),
    ("random_state", 2**40, "random_state=1099511627776 is not allowed"),
    ("random_state", 1.5, "random_state=1.5 is not allowed"),
]
CASES = [
    Case(f"{name}={str(value)[:20]}", Fit(said=ENDS, settings={name: value}), Refused(words))
    for name, value, words in SETTINGS
]
ORDERED = Fit(said=(("u", 0, 3, "a_at_least_b"),), settings={"favorable_label": None})
CASES += [Case("an order without a good label", ORDERED, Refused("Some answers are ordered.*favorable_label=0 or 1"))]


def said(**changed: Any) -> Any:
    """Judgments of one row about the four people, with something changed."""
    row = {"judge": "u", "a": 0, "b": 3, "answer": "same"} | changed
    return lambda: Judgments([row], people=FOUR)


NOT_A_WEIGHT = "column weight: .* is not a weight; allowed: a number, 0 or more"
JUDGMENTS: list[tuple[str, dict[str, Any], str]] = [
    ("a person with themself", {"b": 0}, "row 0 .*column b: 0 is also a; a pair needs two different people"),
    ("the same as text", {"b": "0"}, "column b: '0' is also a"),
    ("the same as a float", {"b": 0.0}, "column b: 0.0 is also a"),
    ("the same as minus zero", {"b": -0.0}, "is also a"),
    ("nobody", {"a": None}, "column a: empty is nobody"),
    ("not a number", {"a": np.nan}, "column a: empty is nobody"),
    ("a stranger", {"a": 99}, "row 0 .*column a: '99' is not the id of anyone in people"),
    ("an endless id", {"a": np.inf}, "'inf' is not the id of anyone"),
    ("an id beyond 2**53", {"a": 2**53 + 1}, f"'{2**53 + 1}' is not the id of anyone"),
    ("an id of 30 digits", {"a": 10**30}, "is not the id of anyone"),
    ("an id with zeros in front", {"a": "00"}, "'00' is not the id of anyone"),
    ("no judge", {"judge": None}, "column judge: empty is no judge"),
    ("a blank judge", {"judge": " "}, "is no judge"),
    ("no answer", {"answer": None}, "column answer: empty is not an answer"),
    ("a number for an answer", {"answer": 1}, "column answer: 1 is not an answer"),
    ("nearly an answer", {"answer": "smae"}, "did you mean 'same'"),
    *((f"weight {value}", {"weight": value}, NOT_A_WEIGHT) for value in (np.nan, np.inf, -np.inf, -1e-300, "1_0")),
    ("weight 10**400", {"weight": 10**400}, NOT_A_WEIGHT),
    ("weight True", {"weight": True}, NOT_A_WEIGHT),
    *((f"round {value}", {"round": value}, "is not a round; allowed: whole numbers from 1") for value in (0, -1, 1.5)),
    ("round 10**18", {"round": 10**18}, "is not a round"),
    ("seconds before they began", {"seconds": -1}, "column seconds: -1 is not a duration"),
    ("endless seconds", {"seconds": np.inf}, "is not a duration"),
    ("no chance of being shown", {"selection_probability": 0}, "is not a probability; allowed: above 0 and at most 1"),
    ("more than a certain chance", {"selection_probability": 1.0000001}, "is not a probability"),
]
CASES += [Case(name, said(**changed), Refused(words)) for name, changed, words in JUDGMENTS]

TWICE = [{"judge": "u", "a": 0, "b": 3, "answer": "same"}, {"judge": "u", "a": 3, "b": 0, "answer": "a_at_least_b"}]
CASES += [
    Case("one pair twice", lambda: Judgments(TWICE), Refused("row 1.*judge 'u' already answered about 3 and 0")),
    Case("judged but unknown when fitting", Fit(said=(("u", 0, 99, "same"),)), Refused("'99' is not the id of anyone")),
    Case("a position beyond the end", Fit(FOUR.to_numpy(), said=(("u", 0, 4, "same"),)), Refused("allowed: 0 to 3")),
    Case(
        "a position before the start", Fit(FOUR.to_numpy(), said=(("u", 0, -1, "same"),)), Refused("'-1' is not a row")
    ),
]


@parametrised(CASES)
def test_what_means_nothing_is_refused_by_name(case: Case) -> None:
    hold_to_what_is_expected(case)


@pytest.mark.slow
@parametrised(CASES)
def test_refusals_are_the_same_when_done_again(case: Case) -> None:
    hold_when_done_again(case)


@pytest.mark.slow
@parametrised(CASES[::3])
def test_refusals_are_the_same_on_one_and_two_threads(case: Case) -> None:
    hold_on_one_and_two_threads(case)
