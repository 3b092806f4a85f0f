"""What the paper's theorem promises for the no-regret dynamics, as numbers, before anything runs.

Corrected (``docs/errata.md``): with ``K`` ordered pairs in force and gains of range ``R``, exponentiated gradient with
step ``mu = sqrt(8 ln(K + 1) / T) / R`` has regret at most ``C_lambda R sqrt(T ln(K + 1) / 2)``; each budget's gradient
ascent has regret at most ``C_tau sqrt(T)``. Their sum over ``T`` is ``nu``, and an equilibrium of that quality has
error at most ``OPT + nu``, pairs at most ``gamma + slack + (1 + nu) / C_lambda`` and budgets at most
``limit + (1 + nu) / C_tau``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log, sqrt
from reprlib import repr as shortened

from fairwise.errors import InputError, quote

_MOST = 1e100  # rounds, and any other number of a guarantee: far beyond what can be played, and its square is a number


@dataclass(frozen=True)
class Guarantee:
    """What ``n_rounds`` rounds guarantee with an exact oracle; a heuristic one adds its own regret to ``nu``."""

    n_rounds: int
    nu: float
    error_excess: float
    pair_excess: float
    budget_excess: float
    pair_step: float
    budget_step: float
    lambda_bound: float
    tau_bound: float


def promise(
    n_pairs: int,
    *,
    lambda_bound: float,
    tau_bound: float,
    n_budgets: int = 0,
    gain_range: float | None = None,
    n_rounds: int | None = None,
    nu: float | None = None,
) -> Guarantee:
    """The guarantee for ``n_rounds`` rounds, or for as many as the accuracy ``nu`` needs.

    ``n_budgets`` counts the budgets that leave slack (0 where eta is 0: slack is then dropped from the game, and the
    range of the gains is 2 instead of 3; statistical rules beside the pairs may widen it: ``gain_range``).

    >>> promise(100, lambda_bound=10, tau_bound=1, nu=0.1).n_rounds
    92303
    """
    if gain_range is None:
        gain_range = 3.0 if n_budgets else 2.0
    bounds = {"n_pairs": n_pairs, "lambda_bound": lambda_bound, "tau_bound": tau_bound, "n_budgets": n_budgets}
    for name, value in bounds.items():
        if not 0 <= value <= _MOST:
            allowed = f"it must be a number that is not negative and at most {_MOST:g}"
            raise InputError(f"{name}={shortened(value)} is not allowed: {allowed}.")
    for name, number in (("n_rounds", n_rounds), ("nu", nu), ("gain_range", gain_range)):
        if number is not None and not 0 < number <= _MOST:
            raise InputError(f"{name}={shortened(number)} is not allowed: it must be above 0 and at most {_MOST:g}.")
    per_root_round = lambda_bound * gain_range * sqrt(log(n_pairs + 1) / 2) + n_budgets * tau_bound
    if n_rounds is None:
        if nu is None:
            raise InputError("Give n_rounds or nu.")
        if per_root_round / nu > sqrt(_MOST):
            raise InputError(f"nu={quote(nu)} is not allowed: it would need more than {_MOST:g} rounds.")
        n_rounds = max(1, ceil((per_root_round / nu) ** 2))
    nu = per_root_round / sqrt(n_rounds)
    return Guarantee(
        n_rounds=n_rounds,
        nu=nu,
        error_excess=nu,
        pair_excess=(1 + nu) / lambda_bound if lambda_bound else inf,
        budget_excess=(1 + nu) / tau_bound if tau_bound else inf,
        pair_step=sqrt(8 * log(n_pairs + 1) / n_rounds) / gain_range,
        budget_step=tau_bound / sqrt(n_rounds),
        lambda_bound=float(lambda_bound),
        tau_bound=float(tau_bound),
    )
