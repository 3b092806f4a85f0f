"""Statistical rules alone: our column generation against fairlearn's exponentiated gradient."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient, FalsePositiveRateParity
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks import compas
from benchmarks.rivals import Duel, Measured, median_times_faster
from benchmarks.row import Row, seconds
from fairwise import PairwiseFairClassifier

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray

MOMENTS = (DemographicParity, EqualizedOdds, FalsePositiveRateParity)
BOUNDS = (0.01, 0.05)
ATTRIBUTES = ("sex", "race")
CASES = tuple(product(ATTRIBUTES, MOMENTS, BOUNDS))
_ROUNDING = 1e-6
_FASTER = 3.0
_FITS = 3  # of each, of which the median counts


def run() -> Row:
    ours(DemographicParity, BOUNDS[0], ATTRIBUTES[0], gap=1e-3)  # load data and compiled code
    with threadpool_limits(1):
        single = [duel(*case, "one thread") for case in CASES]
    default = [duel(*case, "default threads") for case in CASES]
    everything = (*single, *default)
    calls = median((each.them.oracle_calls or 0) / (each.us.oracle_calls or 1) for each in everything)
    return Row(
        what="statistical rules only, logistic regression, to fairlearn's own gap",
        bar=f"in every case error and violation not above ExponentiatedGradient's, at most 1/{_FASTER:g} of its time, "
        "no more oracle calls",
        measured=f"one thread: {_summary(single)}; default threads: {_summary(default)}",
        reached=all(each.reached for each in everything),
        notes="The same encoded people. Errors and violations are expectations over the draws, on the training people; "
        f"the held-out error is that of the same settings on people not fitted to, in {compas.N_FOLDS} folds; a "
        "violation is the rule's largest value, to be at most the bound (or fairlearn's, where that is above it). "
        f"Seconds are medians of {_FITS} fits. "
        "Where more threads slow the fits down, they do so for both, and the ratio of times comes close to that of "
        "oracle calls.",
        ratios={
            "times faster than ExponentiatedGradient": median_times_faster(everything),
            "its oracle calls / ours": calls,
        },
        duels=everything,
    )


def duel(attribute: str, moment: Any, bound: float, threads: str) -> Duel:
    them, gap = theirs(moment, bound, attribute)
    us = ours(moment, bound, attribute, gap)
    us, them = (
        replace(each, held_out=held_out_error(model, attribute))
        for each, model in ((us, our_model(moment, bound, gap)), (them, their_model(moment, bound)))
    )
    reached = (
        us.error <= them.error + _ROUNDING
        and us.violation <= max(bound, them.violation) + _ROUNDING
        and us.seconds <= them.seconds / _FASTER
        and (us.oracle_calls or 0) <= (them.oracle_calls or 0)
    )
    return Duel(f"{moment.__name__} ≤ {bound:g}, {attribute}, {threads}", us, them, reached)


def _summary(duels: list[Duel]) -> str:
    slowest = min(each.times_faster for each in duels)
    reached = sum(each.reached for each in duels)
    return f"{reached} of {len(duels)} cases, {median_times_faster(duels):.1f} times faster (least {slowest:.1f})"


def theirs(moment: Any, bound: float, attribute: str) -> tuple[Measured, float]:
    """With its default settings, and its final gap."""
    model = their_model(moment, bound)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, about pandas' next version
        took = _fit(model, attribute)
    probability = _probability(model, compas.encoded())
    return _measured(probability, moment, bound, attribute, took, model.n_oracle_calls_), float(model.best_gap_)


def ours(moment: Any, bound: float, attribute: str, gap: float) -> Measured:
    model = our_model(moment, bound, gap)
    took = _fit(model, attribute)
    probability = _probability(model, compas.encoded())
    return _measured(probability, moment, bound, attribute, took, model.certificate_.oracle_calls)


def their_model(moment: Any, bound: float) -> ExponentiatedGradient:
    return ExponentiatedGradient(_logistic(), moment(difference_bound=bound), eps=bound)


def our_model(moment: Any, bound: float, gap: float) -> PairwiseFairClassifier:
    rules = [moment(difference_bound=bound)]
    return PairwiseFairClassifier(_logistic(), group_constraints=rules, tol=max(gap, 1e-6))


def held_out_error(model: Any, attribute: str) -> float:
    """Over people who were not fitted to, each of them once."""
    people, outcome = compas.people()
    rows, labels, groups = compas.encoded(), outcome.to_numpy(), people[attribute].to_numpy()
    wrong, folds = np.empty(len(labels)), compas.fold_numbers()
    for fold in range(compas.N_FOLDS):
        left_out = folds == fold
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows[~left_out], labels[~left_out], sensitive_features=groups[~left_out])
            wrong[left_out] = np.abs(labels[left_out] - _probability(model, rows[left_out]))
    return float(wrong.mean())


def _probability(model: Any, rows: FloatArray) -> FloatArray:
    if isinstance(model, PairwiseFairClassifier):
        return np.asarray(model.predict_proba(rows)[:, 1])
    return np.asarray(model._pmf_predict(rows)[:, 1])  # noqa: SLF001 - there is no public way


def _logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=1000)


def _fit(model: Any, attribute: str) -> float:
    people, outcome = compas.people()
    given = compas.encoded(), outcome.to_numpy()
    groups = people[attribute].to_numpy()
    return median(seconds(lambda: model.fit(*given, sensitive_features=groups)) for _ in range(_FITS))


def _measured(
    probability: FloatArray, moment: Any, bound: float, attribute: str, took: float, oracle_calls: int
) -> Measured:
    people, outcome = compas.people()
    rule = moment(difference_bound=bound)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rule.load_data(compas.encoded(), outcome.to_numpy(), sensitive_features=people[attribute].to_numpy())
        violation = float(rule.gamma(lambda _: probability).max())
    return Measured(took, oracle_calls, float(np.abs(outcome.to_numpy() - probability).mean()), violation)
