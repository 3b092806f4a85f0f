"""Bounds of theory for people and pairs not seen, and whether they say anything.

Setting of the paper's section 4: ``n`` people drawn independently, ``m`` ordered pairs drawn uniformly from them, a
class of VC dimension ``d``. *Error* and *fairness loss* of every mixture of classifiers at once are within
``deviation`` of their true values, except with probability ``failure``. All losses lie in [0, 1], so a deviation of 1
or more, or a failure probability of 1 or more, says nothing: such a bound is vacuous. Probabilities are kept as
logarithms, because the printed ones overflow.

Everything here speaks about people, not about judges: the fraction ``w`` of stakeholders behind a pair is taken as
known exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import e, exp, floor, inf, isfinite, log, sqrt
from typing import Literal

import pandas as pd

from fairwise.auditing import checks
from fairwise.errors import InputError

_MOST = 10**18  # people, pairs or dimensions: more than a formula in floats can tell apart
Version = Literal["stated", "corrected", "sharper"]


@dataclass(frozen=True)
class Bound:
    """``|sample - truth| <= deviation`` for every mixture at once, except with probability ``exp(log_failure)``.

    ``constant_known`` is False where the paper gives only an order of magnitude: the number is then no bound at all.
    """

    about: Literal["error", "fairness loss"]
    version: Version
    deviation: float
    log_failure: float
    constant_known: bool = True

    @property
    def failure(self) -> float:
        """The failure probability, at most 1."""
        return exp(min(self.log_failure, 0.0))

    @property
    def proved(self) -> bool:
        """Whether there is a proof: of what the paper states there is none without corrections."""
        return self.version != "stated"

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing that was not known before."""
        return self.deviation >= 1.0 or self.log_failure >= 0.0

    def __str__(self) -> str:
        name = f"{self.about.capitalize()}, {self.version}"
        if not self.constant_known:
            return f"{name}: of the order of {self.deviation:.3g}, with a constant that is not given; " + (
                "vacuous even with constant 1" if self.vacuous else "not a bound"
            )
        name += "" if self.proved else " (as printed, not as proved)"
        if not isfinite(self.deviation):
            return f"{name}: vacuous, no deviation below 1 is guaranteed with that probability"
        if self.deviation >= 1.0:
            return f"{name}: vacuous, within {self.deviation:.3g} of the truth, and losses are at most 1 anyway"
        if self.log_failure >= 0.0:
            return (
                f"{name}: vacuous, a deviation above {self.deviation:.3g} has probability at most "
                f"10^{self.log_failure / log(10):.0f}, and probabilities are at most 1 anyway"
            )
        return f"{name}: within {self.deviation:.3g} of the truth, except with probability {self.failure:.2g}"


def stated_fairness(n: int, m: int, d: int, eps: float) -> Bound:
    """The paper's theorem 4.1 as printed.

    ``P(deviation > 2 eps) <= 8 (2en/d)^(dk) exp(-n eps^2 / 32) + (2en/d)^(dk') exp(-8 m eps^2)`` with
    ``k = ln(2 n^2) / (8 eps^2) + 1`` and ``k' = 2 ln(2m) / eps^2 + 1``.
    """
    _check(n=n, m=m, d=d, eps=eps)
    labelings = d * log(2 * e * n / d)
    k = (log(2) + 2 * log(n)) / (8 * eps**2) + 1
    k_pairs = 2 * log(2 * m) / eps**2 + 1
    log_failure = _log_sum(log(8) + labelings * k - n * eps**2 / 32, labelings * k_pairs - 8 * m * eps**2)
    return Bound("fairness loss", "stated", 2 * eps, log_failure)


def corrected_fairness(n: int, m: int, d: int, eps: float) -> Bound:
    """Repair the steps of the same argument.

    ``P(deviation > 2 eps + 1/n) <= 4 (2en/d)^(dk) exp(-n eps^2 / 32) + 2 (en/d)^(dk') exp(-m eps^2 / 2)`` with
    ``k = floor(128 ln(4n) / eps^2) + 1`` and ``k' = floor(32 ln(2n) / eps^2) + 1``. Replacing a mixture by a sparse one
    lowers the threshold, to ``eps/4`` and ``eps/2``; the diagonal of S x S costs ``1/n``. Where the condition
    ``n >= 4 ln 2 / eps^2`` fails, the right hand side is above 1 anyway.
    """
    _check(n=n, m=m, d=d, eps=eps)
    k = floor(128 * log(4 * n) / eps**2) + 1
    k_pairs = floor(32 * log(2 * n) / eps**2) + 1
    log_failure = _log_sum(
        log(4) + d * k * log(2 * e * n / d) - n * eps**2 / 32,
        log(2) + d * k_pairs * log(e * n / d) - m * eps**2 / 2,
    )
    return Bound("fairness loss", "corrected", 2 * eps + 1 / n, log_failure)


def sharper_fairness(n: int, m: int, d: int, delta: float) -> Bound:
    """Bound by contraction instead of sparse mixtures: mixtures then cost nothing.

    With ``n' = floor(n/2)`` and probability ``1 - delta``, the deviation is at most
    ``4 sqrt(2 d ln(en'/d) / n') + sqrt(ln(4/delta) / 2n) + 4 sqrt(2 d ln(en/d) / m) + sqrt(ln(4/delta) / 2m) + 1/n``:
    Rademacher complexity of ``n'`` disjoint pairs of people, then of the ``m`` pairs drawn from them; the loss is
    1-Lipschitz in the difference of two probabilities, each with at most ``(en/d)^d`` labelings.
    """
    _check(n=n, m=m, d=d, delta=delta)
    half = n // 2
    chance = log(4) - log(delta)
    deviation = (
        4 * sqrt(2 * d * log(e * half / d) / half)
        + sqrt(chance / (2 * n))
        + 4 * sqrt(2 * d * log(e * n / d) / m)
        + sqrt(chance / (2 * m))
        + 1 / n
    )
    return Bound("fairness loss", "sharper", deviation, log(delta))


def stated_error(n: int, d: int, delta: float) -> Bound:
    """The paper's theorem on error: ``O(sqrt((d + ln(1/delta)) / n))``, here with 1 for the constant it leaves open."""
    _check(n=n, d=d, delta=delta)
    return Bound("error", "stated", sqrt((d - log(delta)) / n), log(delta), constant_known=False)


def corrected_error(n: int, d: int, delta: float) -> Bound:
    """With constants: ``2 sqrt(2 d ln(en/d) / n) + sqrt(ln(2/delta) / 2n)``, for all mixtures, as error is linear."""
    _check(n=n, d=d, delta=delta)
    deviation = 2 * sqrt(2 * d * log(e * n / d) / n) + sqrt((log(2) - log(delta)) / (2 * n))
    return Bound("error", "corrected", deviation, log(delta))


def smallest_deviation(theorem: Callable[[int, int, int, float], Bound], n: int, m: int, d: int, delta: float) -> Bound:
    """The bound at the smallest ``eps`` whose failure probability is at most ``delta``; infinite above ``eps = 1``.

    For :func:`stated_fairness` and :func:`corrected_fairness`, whose failure probability falls with ``eps``.
    """
    _check(n=n, m=m, d=d, delta=delta)
    low, high = 0.0, 1.0
    best = theorem(n, m, d, high)
    if best.log_failure > log(delta):
        return Bound(best.about, best.version, inf, log(delta))
    for _ in range(60):
        middle = (low + high) / 2
        tried = theorem(n, m, d, middle)
        if tried.log_failure <= log(delta):
            high, best = middle, tried
        else:
            low = middle
    return best


def theorems(n: int, m: int, d: int, delta: float = 0.05) -> pd.DataFrame:
    """Every bound at once: about, version, deviation, failure, vacuous, proved, and the sentence that says it.

    Parameters
    ----------
    n, m : int
        People, and ordered pairs drawn from them (each unordered pair shown is two).
    d : int
        VC dimension of the class; for linear thresholds, features plus 1.
    delta : float
        With which probability the bounds may fail.
    """
    bounds = [
        stated_error(n, d, delta),
        corrected_error(n, d, delta),
        smallest_deviation(stated_fairness, n, m, d, delta),
        smallest_deviation(corrected_fairness, n, m, d, delta),
        sharper_fairness(n, m, d, delta),
    ]
    columns = ("about", "version", "deviation", "failure", "vacuous", "proved")
    lines = [{name: getattr(bound, name) for name in columns} | {"says": str(bound)} for bound in bounds]
    return pd.DataFrame(lines)


def hoeffding(units: float, delta: float = 0.05) -> float:
    """``sqrt(ln(2/delta) / 2m)``: how far the mean of ``m`` independent numbers in [0, 1] is from its expectation."""
    chance = log(2) - log(checks.fraction("delta", delta, ends=False))
    return sqrt(chance / 2 / units) if units > 0 else inf


def _log_sum(first: float, second: float) -> float:
    larger, smaller = max(first, second), min(first, second)
    return larger + log(1 + exp(smaller - larger))


def _check(*, d: int, n: int, m: int = 1, eps: float = 1.0, delta: float = 0.5) -> None:
    for name, count in {"n": n, "m": m, "d": d}.items():
        checks.whole(name, count, 1, _MOST)
    checks.fraction("delta", delta, ends=False)
    if checks.fraction("eps", eps) == 0:
        raise InputError("eps=0 is not allowed: it must be above 0")
    if n < 2 * d:
        raise InputError(f"n={n} people for d={d}: counting labelings needs at least 2 d people")
