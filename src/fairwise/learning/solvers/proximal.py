"""Multipliers for very many rows that do not jump about: a proximal bundle method on the dual.

With one soft budget and no hard row the multipliers are ``tau`` and ``lambda_k = tau shares_k u_k``, ``0 <= u_k <= 1``.
A mixture ``p`` fixes ``u`` on rows it keeps or breaks, but most rows lie on their limit, as where classifiers agree
about two people; there the linear programme takes any ``u``, and each oracle call corrects a few of them. So ``u`` is
held near a centre ``c`` of the best multipliers so far::

    maximise over u    min over p of errors @ p + tau sum_k shares_k (u_k (values_k @ p - limit_k) - r/2 (u_k - c_k)^2)

whose maximum over ``u`` is ``u_k = clip(c_k + (values_k @ p - limit_k) / r, 0, 1)``. What is left is a smooth convex
programme over the mixture, which Newton steps on the few columns that matter solve. Then ``tau`` is the best for that
``u``, and the oracle is asked there. If the bound is better by a share of what the columns known promised, the centre
moves; if not, the answer is one column more, and the next ``u`` knows of it.
"""

from __future__ import annotations

import numpy as np

from fairwise.learning.oracles.base import FloatArray
from fairwise.learning.problem import Problem
from fairwise.learning.row_kernels import mix
from fairwise.learning.solvers.master import Master
from fairwise.learning.solvers.proximal_kernels import charge, curvature, descend_simplex, weigh
from fairwise.learning.solvers.solution import Multipliers

_STIFFNESS = 0.25  # the letter r: how far above its limit a row must be to be charged 1 more
_CENTRE = 0.5  # of every row, at first
_SERIOUS = 0.1  # share of the gain promised that moves the centre
_NEWTON_STEPS = 30
_ENTERING = 10  # columns that a Newton step may bring in
_PAIR_STEPS = 2000
_ENOUGH = 1e-4  # share of the decrease promised that a step must reach
_SHORTEST = 1e-3


class ProximalMultipliers:
    """Where to ask next; keeps its centre and the last mixture."""

    def __init__(self, problem: Problem) -> None:
        (budget,) = problem.soft_budgets
        self._shares = np.zeros(len(problem))
        self._shares[budget.rows] = budget.shares
        self._centre = np.full(len(problem), _CENTRE)
        self._charged = self._centre.copy()
        self._weights = np.empty(0)

    @staticmethod
    def suit(problem: Problem) -> bool:
        """Whether the rules are one soft budget's alone."""
        return len(problem.soft_budgets) == 1 and not problem.hard.any()

    def begin(self, at: Multipliers) -> None:
        """Put the centre at multipliers that are thought to be nearly the best."""
        whole = float(at.budgets[0]) * self._shares
        self._centre = np.clip(at.rows / np.where(whole > 0.0, whole, np.inf), 0.0, 1.0)

    def propose(self, problem: Problem, known: Master, tau: float, precision: float) -> tuple[Multipliers, float]:
        """Multipliers to ask at, and the Lagrangian there if nothing were cheaper than the columns known.

        The mixture is within ``precision`` of the best.
        """
        limits, (budget,) = problem.row_limits, problem.soft_budgets
        self._descend(known, limits, tau, precision)
        on_rows = self._shares * self._charged
        slopes = weigh(known.values, on_rows) - on_rows @ limits - budget.limit
        tau = best_scale(known.errors, slopes)
        return Multipliers(tau * on_rows, np.array([tau])), float((known.errors + tau * slopes).min())

    def learn(self, bound: float, best: float, promised: float) -> None:
        """What the oracle's answer there came to: the bound, the best before, and what was promised."""
        if bound > best + _SERIOUS * max(promised - best, 0.0):
            self._centre = self._charged.copy()

    def _descend(self, known: Master, limits: FloatArray, tau: float, precision: float) -> None:
        weights = np.append(self._weights, np.zeros(len(known) - len(self._weights)))
        if not weights.any():
            weights[np.argmin(known.errors)] = 1.0
        over = mix(known.values, weights) - limits
        value = float(known.errors @ weights) + tau * self._charge(over)
        for _ in range(_NEWTON_STEPS):
            slope = known.errors + tau * weigh(known.values, self._shares * self._charged)
            if slope @ weights - slope.min() <= precision:
                break
            which = np.union1d(np.flatnonzero(weights), np.argsort(slope, kind="stable")[:_ENTERING])
            curve = curvature(known.values, which, self._shares, self._charged) * (tau / _STIFFNESS)
            there = weights[which].copy()
            descend_simplex(slope[which] - curve @ there, curve, there, precision / 10, _PAIR_STEPS)
            direction = -weights
            direction[which] += there
            towards, decrease, step = mix(known.values, direction), float(slope @ direction), 1.0
            while True:
                nearer, ahead = weights + step * direction, over + step * towards
                there_value = float(known.errors @ nearer) + tau * self._charge(ahead)
                if there_value <= value + _ENOUGH * step * decrease or step < _SHORTEST:
                    break
                step /= 2
            if there_value >= value:  # rounding
                self._charge(over)
                break
            weights, over, value = nearer, ahead, there_value
        self._weights = np.where(weights > 1e-12, weights, 0.0)
        self._weights /= self._weights.sum()

    def _charge(self, over: FloatArray) -> float:
        return float(charge(over, self._shares, self._centre, _STIFFNESS, self._charged))


def best_scale(errors: FloatArray, slopes: FloatArray) -> float:
    """The ``tau >= 0`` at which the least of ``errors + tau * slopes`` is largest; some slope must be negative.

    The least of lines is concave. A rising and a falling one meet above its maximum, or at it if no other is below.
    """
    rising = int(np.lexsort((slopes, errors))[0])
    falling = int(np.argmin(slopes))
    tau = 0.0
    while slopes[rising] > 0.0:
        tau = float((errors[falling] - errors[rising]) / (slopes[rising] - slopes[falling]))
        lines = errors + tau * slopes
        lowest = int(np.argmin(lines))
        if lines[lowest] >= lines[rising] - 1e-15 or lowest in (rising, falling):
            break
        if slopes[lowest] > 0.0:
            rising = lowest
        else:
            falling = lowest
    return tau
