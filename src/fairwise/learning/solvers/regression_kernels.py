"""The dynamics against the regression oracle as one compiled call, whose rounds cost nothing in ``n``.

A round needs the labels of judged people only. With ``Z_J`` their rows ``(m, 1 + d)`` and ``G`` the inverse Gram
matrix, the regression on costs ``c + s A.T lambda`` is ``beta0 + G Z_J.T (s A.T lambda)``, so a round is two products
of size ``m (1 + d)`` and two passes over the ``K`` pairs. The full table is read before (for ``G`` and ``beta0``) and
after (for the errors of the classifiers used).

Labels and slack are 0 or 1, so a pair's exponent is ``step (lead - gamma t)`` with a whole number ``lead``: powers come
from a short table.
"""

from __future__ import annotations

import numpy as np

from fairwise.learning.compiler import numba

_VANISHES = 750.0  # exp(-750) is 0
TILE = 128  # people whose sums run side by side


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
    gamma,
    budget_limits,  # (B,)
    pair_step,
    budget_step,
    n_rounds,
    lambda_bound,
    tau_bound,
):
    """Algorithm 2 with the regression oracle.

    Returns the classifiers ``(T, d)``, ``(T,)``; the largest violation of the running average after each round
    ``(T,)``; the average multipliers ``(K,)``, ``(B,)``; the average slack ``(K,)``; and the average label of each
    judged person ``(m,)``.
    """
    m, d = rows.shape
    n_pairs = len(reference)
    n_budgets = len(budget_limits)
    coef, intercept, max_violation = np.empty((n_rounds, d)), np.empty(n_rounds), np.empty(n_rounds)
    mean_pairs, mean_budgets, mean_slack = np.zeros(n_pairs), np.zeros(n_budgets), np.zeros(n_pairs)
    mean_label = np.empty(m)
    tiles = tiles_of(rows)
    reference, owed = reference.astype(np.uint32), owed.astype(np.uint32)
    direction = 1 if sign > 0.0 else -1
    powers = table_of_powers(pair_step, n_rounds)
    last = len(powers) - 1
    ahead = np.zeros(n_pairs, dtype=np.int32)  # rounds in which the pair was violated, less those it was overfulfilled
    forgiven = np.zeros(n_pairs, dtype=np.int32)  # rounds in which it had slack
    most = 0
    pairs = np.empty(n_pairs)  # multipliers up to the round's factor
    slack = np.zeros(n_pairs, dtype=np.int8)
    slack_price = np.empty(n_pairs)
    budgets = np.zeros(n_budgets)
    on_people = np.empty(len(tiles) * TILE)
    side_by_side = np.empty((1 + d, TILE))
    moments = np.empty(1 + d)
    beta = np.empty(1 + d)
    score = np.empty(TILE)
    label = np.empty(len(tiles) * TILE, dtype=np.int8)
    favored = np.zeros(len(tiles) * TILE, dtype=np.int32)  # how many rounds gave each judged person label 1
    for t in range(n_rounds):
        # lambda_k = lambda_bound exp(theta_k) / (1 + sum exp(theta)); 1 is the option to charge no pair at all.
        total = 0.0
        on_people[:] = 0.0
        for k in range(n_pairs):
            power = powers[min(most - (ahead[k] - forgiven[k]), last)]
            pairs[k] = power
            total += power
            on_people[reference[k]] += power
            on_people[owed[k]] -= power
        exponent = pair_step * (most - gamma * t)
        top = max(exponent, 0.0)
        factor = np.exp(exponent - top)
        factor *= lambda_bound / (np.exp(-top) + factor * total)

        weigh(tiles, on_people, side_by_side, moments)
        for i in range(1 + d):
            value = base[i]
            for j in range(1 + d):
                value += inverse_gram[i, j] * (sign * factor * moments[j])
            beta[i] = -value
        intercept[t] = beta[0]
        for j in range(d):
            coef[t, j] = beta[1 + j]
        label_people(tiles, beta, score, label, favored)

        if n_budgets > 0:
            for k in range(n_pairs):
                slack_price[k] = -factor * pairs[k]
            for b in range(n_budgets):
                mean_budgets[b] += budgets[b]
                for e in range(budget_start[b], budget_start[b + 1]):
                    slack_price[budget_rows[e]] += budgets[b] * budget_shares[e]
            for k in range(n_pairs):
                slack[k] = 1 if slack_price[k] <= 0.0 and not hard[k] else 0
                forgiven[k] += slack[k]
            for b in range(n_budgets):
                used = 0.0
                for e in range(budget_start[b], budget_start[b + 1]):
                    used += budget_shares[e] * slack[budget_rows[e]]
                budgets[b] = min(max(budgets[b] + budget_step * (used - budget_limits[b]), 0.0), tau_bound)

        worst = 0
        most = -3 * n_rounds
        for k in range(n_pairs):
            mean_pairs[k] += factor * pairs[k]
            ahead[k] += direction * (np.int32(label[reference[k]]) - np.int32(label[owed[k]]))
            most = max(most, ahead[k] - forgiven[k])
            worst = max(worst, ahead[k])
        max_violation[t] = worst / (t + 1)
    for k in range(n_pairs):
        mean_pairs[k] /= n_rounds
        mean_slack[k] = forgiven[k] / n_rounds
    for b in range(n_budgets):
        mean_budgets[b] /= n_rounds
    for p in range(m):
        mean_label[p] = favored[p] / n_rounds
    return coef, intercept, max_violation, mean_pairs, mean_budgets, mean_slack, mean_label


@numba.njit(cache=True, nogil=True)
def table_of_powers(step, n_rounds):
    """``exp(-step i)`` for as many ``i`` as occur, or until it is 0."""
    return np.exp(-step * np.arange(min(3.0 * n_rounds, _VANISHES / step) + 2.0))


@numba.njit(cache=True, nogil=True)
def tiles_of(rows):
    """The rows ``(m, d)`` by column within each few people, ``(tiles, d, TILE)``, and zeros behind the last."""
    m, d = rows.shape
    tiles = np.zeros((-(-m // TILE), d, TILE))
    for p in range(m):
        for j in range(d):
            tiles[p // TILE, j, p % TILE] = rows[p, j]
    return tiles


@numba.njit(cache=True, nogil=True)
def weigh(tiles, on_people, side_by_side, moments):
    """``moments = Z_J.T on_people``: each place in a tile has a sum of its own over all tiles; then those are added."""
    side_by_side[:] = 0.0
    for number in range(len(tiles)):
        charged = on_people[number * TILE : (number + 1) * TILE]
        for q in range(TILE):
            side_by_side[0, q] += charged[q]
        for j in range(len(moments) - 1):
            for q in range(TILE):
                side_by_side[1 + j, q] += charged[q] * tiles[number, j, q]
    for i in range(len(moments)):
        moments[i] = 0.0
        for q in range(TILE):
            moments[i] += side_by_side[i, q]


@numba.njit(cache=True, nogil=True)
def label_people(tiles, beta, score, label, favored):
    """Column by column over a few people: each one's sum has the order it would have alone, several go at once."""
    for number in range(len(tiles)):
        score[:] = beta[0]
        for j in range(len(beta) - 1):
            weight = beta[1 + j]
            for q in range(TILE):
                score[q] += tiles[number, j, q] * weight
        for q in range(TILE):
            label[number * TILE + q] = 1 if score[q] > 0.0 else 0
            favored[number * TILE + q] += label[number * TILE + q]
