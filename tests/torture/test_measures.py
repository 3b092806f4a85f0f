"""Curves, bounds, plans and prices of next to nothing: formulas by hand, or a clear refusal."""

from __future__ import annotations

from functools import partial
from math import ceil, e, inf, log, nan, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from tests.support.torture_fits import FOUR, HALVES
from tests.support.torture_panels import ENDS, FREE, NOTHING, SPLIT, TWO, WEIGHTLESS
from tests.support.torturing import (
    Case,
    Refused,
    hold_on_one_and_two_threads,
    hold_to_what_is_expected,
    hold_when_done_again,
    parametrised,
)

from fairwise import Judgments, PairwiseFairClassifier, frontier, promise
from fairwise.auditing import (
    error_without_dearest,
    followed_by_judge,
    held_out,
    judge_correlation,
    lorenz,
    plan,
    price_by_person,
    removal_saving,
    theorems,
    violation_scorer,
)
from fairwise.auditing.theorems import hoeffding


def curve(judgments: Judgments, column: str = "error", **more: Any) -> Any:
    given: dict[str, Any] = {"gammas": [0, 0.5, 1], "estimator": "tree", "favorable_label": 1, "tol": 1e-8} | more
    return lambda: frontier(FOUR, list(HALVES), judgments, **given)[column]


z2 = float(norm.ppf(0.975)) ** 2
WILSON_0_OF_4 = z2 / (4 + z2)  # the upper end of Wilson's interval for no error among four
# A gap of gamma between the ends saves a quarter of it; see test_rules.py.
CASES = [
    Case("curve: same", curve(ENDS), [0.25, 0.125, 0]),
    Case("curve: its bounds", curve(ENDS, "lower_bound"), [0.25, 0.125, 0]),
    Case("curve: as wide as allowed", curve(ENDS, "max_violation"), [0, 0.5, 1]),
    Case("curve: nobody said anything", curve(NOTHING), [0, 0, 0]),
    Case("curve: nothing asked", curve(FREE), [0, 0, 0]),
    Case("curve: no weight", curve(WEIGHTLESS), [0, 0, 0]),
    Case("curve: one judge", curve(ENDS, by="judge"), [0.25, 0.125, 0]),
    Case("curve: each of two", curve(SPLIT, by="judge"), [0.25, 0.125, 0, 0, 0, 0]),
    Case("curve: over eta", curve(ENDS, gammas=[0], etas=[0, 0.25, 0.5, 1, None]), [0.25, 0.125, 0, 0, 0]),
    Case("curve: one point", curve(ENDS, gammas=[1e-300]), [0.25]),
    Case("curve: two processes", curve(SPLIT, by="judge", gammas=[0], n_jobs=2), [0.25, 0], slow=True),
    Case("curve: no error among four", curve(ENDS, "error_high", gammas=[1]), [WILSON_0_OF_4]),
    Case(
        "curve: four of 1e300 are four",
        curve(ENDS, "error_high", gammas=[1], sample_weight=[1e300] * 4),
        [WILSON_0_OF_4],
    ),
    Case(
        "curve: four of 5e-324 are four",
        curve(ENDS, "error_high", gammas=[1], sample_weight=[5e-324] * 4),
        [WILSON_0_OF_4],
    ),
    Case("curve refused: no judge", curve(NOTHING, by="judge"), Refused("there is no judge to trace a curve for")),
    Case("curve refused: no gamma", curve(ENDS, gammas=[]), Refused("at least one gamma and one eta")),
    Case("curve refused: gamma 2", curve(ENDS, gammas=[0, 2]), Refused("gamma=2 is not allowed")),
    Case("curve refused: NaN", curve(ENDS, gammas=[nan]), Refused("gamma=nan is not allowed")),
    Case("curve refused: a number", curve(ENDS, gammas=0.5), Refused("gammas=0.5 is not allowed: give a list")),
    Case("curve refused: no process", curve(ENDS, n_jobs=0), Refused("n_jobs=0 is not allowed")),
]


def bounds(n: Any, m: Any, d: int, **more: Any) -> Any:
    return lambda: theorems(n, m, d, **more)["deviation"]


def by_hand(n: int, m: int, d: int, delta: float = 0.05) -> list[float]:
    """The order of magnitude, with constants, nothing that is below 1 twice, and the sharper form."""
    half = n // 2
    pairs = 4 * sqrt(2 * d * log(e * half / d) / half) + 4 * sqrt(2 * d * log(e * n / d) / m)
    chance = sqrt((log(4) - log(delta)) / 2) * (1 / sqrt(n) + 1 / sqrt(m)) + 1 / n
    error = 2 * sqrt(2 * d * log(e * n / d) / n) + sqrt((log(2) - log(delta)) / (2 * n))
    return [sqrt((d - log(delta)) / n), error, inf, inf, pairs + chance]


CASES += [
    Case("bounds at n = 2", bounds(2, 1, 1), by_hand(2, 1, 1)),
    Case("bounds at n = 3", bounds(3, 2, 1), by_hand(3, 2, 1)),
    Case("bounds at n = 2 d", bounds(10, 1, 5), by_hand(10, 1, 5)),
    Case(
        "bounds at the smallest delta",
        bounds(10, 10, 2, delta=5e-324),
        by_hand(10, 10, 2, 5e-324),
    ),
    Case(
        "bounds of numpy's numbers are those of Python's",
        lambda: np.subtract(bounds(np.int64(5 * 10**9), np.int64(10**9), 3)(), bounds(5 * 10**9, 10**9, 3)()),
        [0, 0, 0, 0, 0],
    ),
    Case("bounds of 10**18 people say something", lambda: max(bounds(10**18, 10**18, 2)()) < 0.01, 1),
    Case(
        "bounds refused: n = 1", bounds(1, 1, 1), Refused("n=1 people for d=1: counting labelings needs at least 2 d")
    ),
    Case(
        "bounds refused: nobody",
        bounds(0, 1, 1),
        Refused("n=0 is not allowed: it must be a whole number of at least 1"),
    ),
    Case("bounds refused: no pair", bounds(10, 0, 1), Refused("m=0 is not allowed")),
    Case(
        "bounds refused: 10**400 people", bounds(10**400, 1, 1), Refused("n=1000.*0000 is not allowed.*at most 1,000")
    ),
    Case("bounds refused: half a person", bounds(2.5, 1, 1), Refused("n=2.5 is not allowed")),
    Case("bounds refused: certain", bounds(10, 1, 1, delta=0), Refused("delta=0 is not allowed")),
    Case("hoeffding of nothing", lambda: [hoeffding(0), hoeffding(-1), hoeffding(nan)], [inf, inf, inf]),
    Case("hoeffding of one", lambda: hoeffding(1), sqrt(log(40) / 2)),
    Case("hoeffding of 1e308", lambda: hoeffding(1e308), 0.0),
]


def needed(**asked: Any) -> Any:
    return lambda: plan(n_simulations=0, **asked)["judges_needed"]


CASES += [
    Case("plan: answers of a judge all alike", needed(correlation=1, rate=0.5, wanted=0.1), [ceil(z2 * 0.25 / 0.01)]),
    Case(
        "plan: answers as if of anyone", needed(correlation=0, rate=0.5, wanted=0.1, pairs=1), [ceil(z2 * 0.25 / 0.01)]
    ),
    Case(
        "plan: hardly correlated", needed(correlation=5e-324, rate=0.5, wanted=0.1, pairs=1), [ceil(z2 * 0.25 / 0.01)]
    ),
    Case("plan: simulated, hardly correlated", lambda: len(plan(3, correlation=5e-324, n_simulations=3)), 1),
    Case("plan: one judge is enough for very little", needed(wanted=0.999), [1]),
    Case(
        "plan refused: too exact",
        needed(wanted=1e-9),
        Refused(r"wanted=1e-09 is not allowed: it would need 8e\+16 judges"),
    ),
    Case("plan refused: endlessly exact", needed(wanted=1e-200), Refused("wanted=1e-200 is not allowed")),
    Case("plan refused: no judge", needed(judges=0), Refused("judges=0 is not allowed")),
    Case(
        "plan refused: a billion judges", needed(judges=10**9), Refused("judges=1000000000 is not.*at most 10,000,000")
    ),
    Case("plan refused: seed", needed(seed=-1), Refused("seed=-1 is not allowed")),
    Case(
        "correlation of constant answers",
        lambda: judge_correlation(pd.DataFrame({"judge": list("uuvv"), "excess": 0.1})),
        0,
    ),
    Case(
        "correlation refused: one judge",
        lambda: judge_correlation(pd.DataFrame({"judge": ["u"], "excess": 0})),
        Refused("two judges"),
    ),
    Case("game plan: no pair", lambda: promise(0, lambda_bound=1, tau_bound=1, n_rounds=4).nu, 0.0),
    Case("game plan: one round", lambda: promise(3, lambda_bound=2, tau_bound=1, n_rounds=1).nu, 4 * sqrt(log(4) / 2)),
    Case("game plan: no price", lambda: promise(3, lambda_bound=0, tau_bound=0, n_rounds=1).pair_excess, inf),
    Case(
        "game plan refused: endless", lambda: promise(3, lambda_bound=1, tau_bound=1, nu=1e-200), Refused("nu=1e-200")
    ),
    Case("game plan refused: neither", lambda: promise(3, lambda_bound=1, tau_bound=1), Refused("Give n_rounds or nu")),
    Case("shares of nothing", lambda: lorenz([])["total"], [0]),
    Case("shares of zeros", lambda: lorenz([0, 0])["total"], [0, 0, 0]),
    Case("shares of 1e308", lambda: lorenz([1e308, 1e308])["total"], [0, 0.5, 1]),
    Case("shares of 5e-324", lambda: lorenz([5e-324, 0])["total"], [0, 1, 1]),
    *(
        Case(f"shares refused: {odd}", partial(lorenz, [1, odd]), Refused("finite numbers that are not negative"))
        for odd in (nan, inf, -1)
    ),
]

PLAIN = PairwiseFairClassifier("tree", gamma=0.0, favorable_label=1)


def fitted(judgments: Judgments) -> PairwiseFairClassifier:
    return PairwiseFairClassifier("tree", gamma=0.0, favorable_label=1).fit(FOUR, list(HALVES), judgments=judgments)


def tried(judgments: Judgments, **more: Any) -> Any:
    return lambda: held_out(PLAIN, FOUR, pd.Series(HALVES), judgments, n_repeats=1, **more)


def shown_with(chance: float) -> Judgments:
    """Two judges with one pair each, of which the first had this chance of being shown."""
    first = {"judge": "u", "a": 0, "b": 1, "answer": "same", "selection_probability": chance}
    second = {"judge": "v", "a": 2, "b": 3, "answer": "same", "selection_probability": 0.5}
    return Judgments([first, second], people=FOUR)


def of_each_half(chance: float) -> Any:
    return tried(shown_with(chance), by="judge", folds=2)().overall["held_out"]


CASES += [
    *(
        Case(
            f"held out refused: {name} by {by}",
            tried(judgments, by=by),
            Refused(f"by='{by}': no answer is left for the"),
        )
        for name, judgments in (("nothing", NOTHING), ("one answer", ENDS))
        for by in ("pair", "person", "judge")
    ),
    # An answer alone on its side counts whole, however rare its pair.
    Case("held out: a pair hardly ever shown", lambda: of_each_half(5e-324) - of_each_half(0.5), [0, 0, 0, 0]),
    Case("score of nothing asked", lambda: violation_scorer(FREE)(fitted(FREE), FOUR), 0),
    Case("score of nobody", lambda: violation_scorer(NOTHING)(fitted(FREE), FOUR), 0),
    Case("score of a broken pair", lambda: violation_scorer(ENDS)(fitted(FREE), FOUR), -1),
    Case("price of nothing asked", lambda: fitted(FREE).prices_["price"], [0]),
    Case("price of a pair is a quarter", lambda: fitted(ENDS).prices_["price"], [0.25]),
    Case("price of a pair asked twice is shared", lambda: fitted(TWO).prices_["price"], [0.125, 0.125]),
    Case("price by person", lambda: price_by_person(fitted(ENDS).prices_), [0.25, 0.25]),
    Case("prices of nobody", lambda: len(followed_by_judge(fitted(NOTHING).prices_)), 0),
    Case(
        "saved by giving up nothing",
        lambda: removal_saving(fitted(FREE), FOUR, list(HALVES), FREE)["saving"],
        [0],
    ),
    Case(
        "saved by giving up all",
        lambda: removal_saving(fitted(ENDS), FOUR, list(HALVES), ENDS)["saving"],
        [0.25],
    ),
    Case(
        "error without the dearest",
        lambda: error_without_dearest(fitted(ENDS), FOUR, list(HALVES), ENDS, [0, 1])["error"],
        [0.25, 0],
    ),
]


@parametrised(CASES)
def test_measures_of_next_to_nothing_are_right_or_refused(case: Case) -> None:
    hold_to_what_is_expected(case)


@pytest.mark.slow
@parametrised(CASES)
def test_measures_give_the_same_when_done_again(case: Case) -> None:
    hold_when_done_again(case)


@pytest.mark.slow
@parametrised(CASES[::3])
def test_measures_give_the_same_on_one_and_two_threads(case: Case) -> None:
    hold_on_one_and_two_threads(case)
