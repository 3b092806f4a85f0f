"""The dynamics against the regression oracle as one compiled call for many games, whose rounds cost nothing in ``n``.

A round needs the labels of judged people only. With ``Z_J`` their rows ``(m, 1 + d)`` and ``G`` the inverse Gram
matrix, the regression on costs ``c + s A.T lambda`` is ``beta0 + G Z_J.T (s A.T lambda)``, so a round is two products
of size ``m (1 + d)`` and two passes over the ``K`` pairs. The full table is read before (for ``G`` and ``beta0``) and
after (for the errors of the classifiers used).

Labels and slack are 0 or 1, so a pair's exponent is ``step (lead - gamma t)`` with a whole number ``lead``: powers come
from a short table.
"""

from __future__ import annotations

import numba
import numpy as np

_VANISHES = 750.0  # exp(-750) is 0


@numba.njit(cache=True, nogil=True)
def play(
    rows,  # (m, d) judged people
    inverse_gram,  # (1 + d, 1 + d)
    base,  # (1 + d,) regression on the costs of errors alone
    reference,
    owed,
    sign,
    hard,  # (K,) rows on which no slack is allowed
    budget_start,  # (B + 1,) where each soft budget's entries begin in the next two
    budget_rows,
    budget_shares,
    gammas,  # (games,)
    budget_limits,  # (games, B)
    pair_steps,  # (games,)
    budget_step,
    n_rounds,
    lambda_bound,
    tau_bound,
):
    """Algorithm 2 with the regression oracle, for games that differ in gamma and in the limits of their budgets.

    Returns for each game the classifiers ``(T, d)``, ``(T,)``; the largest violation of the running average after each
    round ``(T,)``; the average multipliers ``(K,)``, ``(B,)``; the average slack ``(K,)``; and the average label of
    each judged person ``(m,)``. A game does not depend on which others are played beside it.
    """
    games = len(gammas)
    m, d = rows.shape
    n_pairs = len(reference)
    n_budgets = len(budget_start) - 1
    coef = np.empty((games, n_rounds, d))
    intercept = np.empty((games, n_rounds))
    max_violation = np.empty((games, n_rounds))
    mean_pairs = np.zeros((games, n_pairs))
    mean_budgets = np.zeros((games, n_budgets))
    mean_slack = np.zeros((games, n_pairs))
    mean_label = np.empty((games, m))
    for game in range(games):
        _play_one(
            rows,
            inverse_gram,
            base,
            reference,
            owed,
            sign,
            hard,
            budget_start,
            budget_rows,
            budget_shares,
            gammas[game],
            budget_limits[game],
            pair_steps[game],
            budget_step,
            n_rounds,
            lambda_bound,
            tau_bound,
            coef[game],
            intercept[game],
            max_violation[game],
            mean_pairs[game],
            mean_budgets[game],
            mean_slack[game],
            mean_label[game],
        )
    return coef, intercept, max_violation, mean_pairs, mean_budgets, mean_slack, mean_label


@numba.njit(cache=True, nogil=True)
def _play_one(
    rows,
    inverse_gram,
    base,
    reference,
    owed,
    sign,
    hard,
    budget_start,
    budget_rows,
    budget_shares,
    gamma,
    budget_limits,
    pair_step,
    budget_step,
    n_rounds,
    lambda_bound,
    tau_bound,
    coef,
    intercept,
    max_violation,
    mean_pairs,
    mean_budgets,
    mean_slack,
    mean_label,
):
    m, d = rows.shape
    n_pairs = len(reference)
    n_budgets = len(budget_limits)
    direction = 1 if sign > 0.0 else -1
    powers = np.exp(-pair_step * np.arange(min(3.0 * n_rounds, _VANISHES / pair_step) + 2.0))
    last = len(powers) - 1
    lead = np.zeros(n_pairs, dtype=np.int32)
    most = 0
    pairs = np.ones(n_pairs)  # multipliers, first up to a common factor
    total = float(n_pairs)
    slack = np.zeros(n_pairs, dtype=np.int8)
    slack_price = np.empty(n_pairs)
    budgets = np.zeros(n_budgets)
    on_people = np.empty(m)
    moments = np.empty(1 + d)
    beta = np.empty(1 + d)
    label = np.empty(m, dtype=np.int32)
    favored = np.zeros(m, dtype=np.int32)  # how many rounds gave each judged person label 1
    for t in range(n_rounds):
        # lambda_k = lambda_bound exp(theta_k) / (1 + sum exp(theta)); 1 is the option to charge no pair at all.
        exponent = pair_step * (most - gamma * t)
        top = max(exponent, 0.0)
        factor = np.exp(exponent - top)
        factor *= lambda_bound / (np.exp(-top) + factor * total)
        on_people[:] = 0.0
        for k in range(n_pairs):
            pairs[k] *= factor
            mean_pairs[k] += pairs[k]
            on_people[reference[k]] += pairs[k]
            on_people[owed[k]] -= pairs[k]

        moments[:] = 0.0
        for p in range(m):
            charged = on_people[p]
            moments[0] += charged
            for j in range(d):
                moments[1 + j] += charged * rows[p, j]
        for i in range(1 + d):
            value = base[i]
            for j in range(1 + d):
                value += inverse_gram[i, j] * (sign * moments[j])
            beta[i] = -value
        intercept[t] = beta[0]
        coef[t] = beta[1:]
        for p in range(m):
            score = beta[0]
            for j in range(d):
                score += rows[p, j] * beta[1 + j]
            label[p] = 1 if score > 0.0 else 0
            favored[p] += label[p]

        if n_budgets > 0:
            for k in range(n_pairs):
                slack_price[k] = -pairs[k]
            for b in range(n_budgets):
                mean_budgets[b] += budgets[b]
                for e in range(budget_start[b], budget_start[b + 1]):
                    slack_price[budget_rows[e]] += budgets[b] * budget_shares[e]
            for k in range(n_pairs):
                slack[k] = 1 if slack_price[k] <= 0.0 and not hard[k] else 0
                mean_slack[k] += slack[k]
            for b in range(n_budgets):
                used = 0.0
                for e in range(budget_start[b], budget_start[b + 1]):
                    used += budget_shares[e] * slack[budget_rows[e]]
                budgets[b] = min(max(budgets[b] + budget_step * (used - budget_limits[b]), 0.0), tau_bound)

        worst = 0
        most = -3 * n_rounds
        for k in range(n_pairs):
            i, j = reference[k], owed[k]
            lead[k] += direction * (label[i] - label[j]) - slack[k]
            most = max(most, lead[k])
            worst = max(worst, direction * (favored[i] - favored[j]))
        max_violation[t] = worst / (t + 1)
        total = 0.0
        for k in range(n_pairs):
            pairs[k] = powers[min(most - lead[k], last)]
            total += pairs[k]
    for k in range(n_pairs):
        mean_pairs[k] /= n_rounds
        mean_slack[k] /= n_rounds
    for b in range(n_budgets):
        mean_budgets[b] /= n_rounds
    for p in range(m):
        mean_label[p] = favored[p] / n_rounds
