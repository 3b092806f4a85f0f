"""The dynamics against the regression oracle as one compiled loop, whose rounds cost nothing in ``n``.

A round needs the labels of judged people only. With ``Z_J`` their rows ``(m, 1 + d)`` and ``G`` the inverse Gram
matrix, the regression on costs ``c + s A.T lambda`` is ``beta0 + (G Z_J.T) (s A.T lambda)``, so a round is two
products of size ``m (1 + d)`` and one pass over the ``K`` pairs. The full table is read before (for ``G`` and
``beta0``) and after (for the errors of the classifiers used).
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def play(
    judged_rows,  # (m, d)
    base,  # (1 + d,) regression on the costs of errors alone
    response,  # (1 + d, m) change of the regression per unit of cost on each judged person
    reference,
    owed,
    sign,
    gamma,
    hard,  # (K,) rows on which no slack is allowed
    budget_start,  # (B + 1,) where each soft budget's entries begin in the next two
    budget_rows,
    budget_shares,
    budget_limits,
    n_rounds,
    lambda_bound,
    tau_bound,
    pair_step,
    budget_step,
):
    """Algorithm 2 with the regression oracle.

    Returns the classifiers ``(T, d)``, ``(T,)``; the largest violation of the running average after each round;
    the average multipliers; the average slack ``(K,)``; and the average label of each judged person ``(m,)``.
    """
    m, d = judged_rows.shape
    n_pairs = len(reference)
    n_budgets = len(budget_limits)
    coef = np.empty((n_rounds, d))
    intercept = np.empty(n_rounds)
    max_violation = np.zeros(n_rounds)
    theta = np.zeros(n_pairs)
    pairs = np.empty(n_pairs)
    slack = np.zeros(n_pairs)
    slack_price = np.empty(n_pairs)
    budgets = np.zeros(n_budgets)
    mean_pairs = np.zeros(n_pairs)
    mean_budgets = np.zeros(n_budgets)
    mean_slack = np.zeros(n_pairs)
    favored = np.zeros(m)  # how many rounds gave each judged person label 1
    on_people = np.empty(m)
    label = np.empty(m)
    for t in range(n_rounds):
        top = 0.0
        for k in range(n_pairs):
            top = max(top, theta[k])
        total = np.exp(-top)  # the option to charge no pair at all
        for k in range(n_pairs):
            pairs[k] = np.exp(theta[k] - top)
            total += pairs[k]
        on_people[:] = 0.0
        for k in range(n_pairs):
            pairs[k] *= lambda_bound / total
            mean_pairs[k] += pairs[k]
            on_people[reference[k]] += sign * pairs[k]
            on_people[owed[k]] -= sign * pairs[k]

        for i in range(1 + d):
            value = base[i]
            for p in range(m):
                value += response[i, p] * on_people[p]
            if i == 0:
                intercept[t] = -value
            else:
                coef[t, i - 1] = -value
        for p in range(m):
            score = intercept[t]
            for j in range(d):
                score += judged_rows[p, j] * coef[t, j]
            label[p] = 1.0 if score > 0.0 else 0.0
            favored[p] += label[p]

        if n_budgets > 0:
            slack_price[:] = -pairs
            for b in range(n_budgets):
                mean_budgets[b] += budgets[b]
                for e in range(budget_start[b], budget_start[b + 1]):
                    slack_price[budget_rows[e]] += budgets[b] * budget_shares[e]
            for k in range(n_pairs):
                slack[k] = 1.0 if slack_price[k] <= 0.0 and not hard[k] else 0.0
                mean_slack[k] += slack[k]
            for b in range(n_budgets):
                used = 0.0
                for e in range(budget_start[b], budget_start[b + 1]):
                    used += budget_shares[e] * slack[budget_rows[e]]
                budgets[b] = min(max(budgets[b] + budget_step * (used - budget_limits[b]), 0.0), tau_bound)

        worst = 0.0
        for k in range(n_pairs):
            i, j = reference[k], owed[k]
            theta[k] += pair_step * (sign * (label[i] - label[j]) - slack[k] - gamma)
            worst = max(worst, sign * (favored[i] - favored[j]))
        max_violation[t] = worst / (t + 1)
    mean_pairs /= n_rounds
    mean_budgets /= n_rounds
    mean_slack /= n_rounds
    favored /= n_rounds
    return coef, intercept, max_violation, mean_pairs, mean_budgets, mean_slack, favored
