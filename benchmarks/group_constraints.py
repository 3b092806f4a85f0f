"""Statistical rules alone: our column generation against fairlearn's exponentiated gradient."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient, FalsePositiveRateParity
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks import compas
from benchmarks.row import Row, table
from fairwise import PairwiseFairClassifier

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray

MOMENTS = (DemographicParity, EqualizedOdds, FalsePositiveRateParity)
BOUNDS = (0.01, 0.05)
ATTRIBUTES = ("sex", "race")
CASES = tuple(product(ATTRIBUTES, MOMENTS, BOUNDS))
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Measured:
    """Error and largest violation of the randomised classifier on the training people, and what it took."""

    error: float
    violation: float
    seconds: float
    oracle_calls: int


@dataclass(frozen=True)
class Case:
    """One rule, solved by both."""

    rule: str
    bound: float
    us: Measured
    them: Measured

    @classmethod
    def measure(cls, attribute: str, moment: Any, bound: float) -> Case:
        them, gap = theirs(moment, bound, attribute)
        return cls(f"{moment.__name__}, {attribute}", bound, ours(moment, bound, attribute, gap), them)

    @property
    def ratio(self) -> float:
        return self.us.seconds / self.them.seconds

    @property
    def reached(self) -> bool:
        us, them = self.us, self.them
        return (
            us.error <= them.error + _ROUNDING
            and us.violation <= max(self.bound, them.violation) + _ROUNDING
            and self.ratio <= 1 / 2
            and us.oracle_calls <= them.oracle_calls
        )

    def line(self) -> list[str]:
        us, them = self.us, self.them
        return [
            self.rule,
            f"{self.bound:g}",
            f"{us.error:.4f} / {them.error:.4f}",
            f"{us.violation:.4f} / {them.violation:.4f}",
            f"{us.oracle_calls} / {them.oracle_calls}",
            self.times(),
        ]

    def times(self) -> str:
        return f"{self.us.seconds:.2f} / {self.them.seconds:.2f}{'' if self.reached else ' **no**'}"


def run() -> Row:
    ours(DemographicParity, BOUNDS[0], ATTRIBUTES[0], gap=1.0)  # load data and compiled code
    with threadpool_limits(1):
        single = [Case.measure(*case) for case in CASES]
    default = [Case.measure(*case) for case in CASES]
    header = ["rule", "bound", "error", "violation", "oracle calls", "seconds, one thread", "seconds, default threads"]
    lines = [[*one.line(), many.times()] for one, many in zip(single, default, strict=True)]
    return Row(
        what="statistical rules only, logistic regression, to fairlearn's own gap",
        bar="error and violation not above ExponentiatedGradient's, ≤ 1/2 of its time, no more oracle calls",
        measured=f"one thread: {_summary(single)}; default threads: {_summary(default)}",
        reached=all(case.reached for case in single + default),
        notes="Ours / fairlearn's, same encoded people. Errors and violations are expectations over the draws, on "
        "the training people; a violation is the rule's largest value, to be at most the bound (or fairlearn's, where "
        "that is above it). Where more threads slow the fits down, they do so for both, and the ratio of times comes "
        "close to that of oracle calls.\n\n" + table(header, lines),
    )


def _summary(cases: list[Case]) -> str:
    ratios = [case.ratio for case in cases]
    reached = sum(case.reached for case in cases)
    return f"{reached} of {len(cases)} cases, time ratio {np.median(ratios):.2f} (worst {max(ratios):.2f})"


def theirs(moment: Any, bound: float, attribute: str) -> tuple[Measured, float]:
    """With its default settings, and its final gap."""
    model = ExponentiatedGradient(_logistic(), moment(difference_bound=bound), eps=bound)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, about pandas' next version
        took = _fit(model, attribute)
    probability = model._pmf_predict(compas.encoded())[:, 1]  # noqa: SLF001 - there is no public way
    return _measured(probability, moment, bound, attribute, took, model.n_oracle_calls_), float(model.best_gap_)


def ours(moment: Any, bound: float, attribute: str, gap: float) -> Measured:
    rules = [moment(difference_bound=bound)]
    model = PairwiseFairClassifier(_logistic(), group_constraints=rules, tol=max(gap, 1e-6))
    took = _fit(model, attribute)
    probability = model.predict_proba(compas.encoded())[:, 1]
    return _measured(probability, moment, bound, attribute, took, model.certificate_.oracle_calls)


def _logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=1000)


def _fit(model: Any, attribute: str) -> float:
    people, outcome = compas.people()
    start = perf_counter()
    model.fit(compas.encoded(), outcome.to_numpy(), sensitive_features=people[attribute].to_numpy())
    return perf_counter() - start


def _measured(
    probability: FloatArray, moment: Any, bound: float, attribute: str, took: float, oracle_calls: int
) -> Measured:
    people, outcome = compas.people()
    rule = moment(difference_bound=bound)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rule.load_data(compas.encoded(), outcome.to_numpy(), sensitive_features=people[attribute].to_numpy())
        violation = float(rule.gamma(lambda _: probability).max())
    return Measured(float(np.abs(outcome.to_numpy() - probability).mean()), violation, took, oracle_calls)
