"""The compiled rounds of ``large_games``, which says what sides, turns and places are."""

from __future__ import annotations

import numpy as np

from fairwise.learning.compiler import numba
from fairwise.learning.solvers.regression_kernels import TILE

_ANCHORS = 4
_REACH = 0.03  # how far from an anchor a classifier may be
_CERTAIN = 1e-9  # more than rounding changes in a score of length 1, where classifiers are at most so long:
_LONGEST = 1e5
_SUM_AGAIN = 256  # rounds after which sums are taken anew: what additions round away does not pile up
_UNSURE = 2
_SINGLE = 2.0**-24


@numba.njit(cache=True, nogil=True)
def play_rounds(rows, units, frame, inverse_gram, base, edges, sign, gamma, step, n_rounds, bound, powers):
    """All rounds of a game over people's ``rows`` ``(m, d)``.

    ``frame`` is a centre and a spread of each column, and ``units`` what :func:`unit_rows` makes of both. ``edges`` are
    ends ``(E, 2)``, kinds, where each person's begin in a list of them, and differences ``(E, d)``. Returns classifiers
    ``(T, 1 + d)``, the largest violation of the running average after each round, the sum of the multipliers of both
    rows of each edge ``(E, 2)``, and how many rounds gave each person label 1.
    """
    m, d = rows.shape
    n_edges = len(edges[0])
    zero = 2 * n_rounds
    direction = 1 if sign > 0.0 else -1
    place, turn = np.full(n_edges, zero), np.zeros(n_edges, dtype=np.int64)
    number, sums = np.zeros((9, 2 * zero + 1), dtype=np.int64), np.zeros((9, 2 * zero + 1, d))
    used = np.array([zero, zero])
    charged, entered, before = np.zeros((3, 2 * zero + 1, 2)), np.zeros((n_edges, 2)), np.zeros((n_edges, 2))
    where = place, turn, number, sums, used, charged, entered, before
    people = np.zeros(m, dtype=np.int8), np.zeros((m, 3), dtype=np.int64)
    anchors = (
        np.zeros((_ANCHORS, 1 + d)),
        np.full(_ANCHORS, -1),
        np.zeros((_ANCHORS, m), dtype=np.int8),
        np.zeros((_ANCHORS, m + 1), dtype=np.int32),
        np.zeros((_ANCHORS, m + 1), dtype=np.float32),
        np.zeros(_ANCHORS, dtype=np.int64),
    )
    changed, unsure = np.empty(m + 1, dtype=np.int32), np.empty(m + 1, dtype=np.int32)
    responses, violations = np.empty((n_rounds, 1 + d)), np.empty(n_rounds)
    point, last_point, last = np.zeros(1 + d), np.zeros(1 + d), (-1, 1)
    walked, turned, most = 0, 0, 0
    _sum_edges(edges, where)
    for t in range(n_rounds):
        total, moments = _add_charges(where, zero, walked, most, powers)
        exponent = step * (most - gamma * t)
        least = max(exponent, 0.0)
        factor = np.exp(exponent - least)
        factor *= bound / (np.exp(-least) + factor * total)
        _charge(where, zero, walked, most, powers, factor)
        beta = responses[t]
        for i in range(1 + d):
            value = base[i]
            for j in range(d):
                value += inverse_gram[i, 1 + j] * (sign * factor * moments[j])
            beta[i] = -value
        length = _measure(beta, frame, point)
        opposite = length > 0.0 and _dot(point, last_point) < 0.0
        if opposite:
            point *= -1.0
        last_point[:] = point
        count, last = _find_changes(
            rows, units, beta, point, length, anchors, last, people[0], opposite, t, changed, unsure
        )
        _change_sides(changed[:count], people, edges, where, (t, turned, walked, zero))
        turned += opposite
        walked += -direction if opposite else direction
        if (t + 1) % _SUM_AGAIN == 0:
            _sum_edges(edges, where)
        most = _largest_lead(where, zero, walked)
        violations[t] = max(most, 0) / (t + 1)
    for e in range(n_edges):
        for back in range(2):
            before[e, back] += charged[turn[e] + 1, place[e], back] - entered[e, back]
    for p in range(m):
        _count_rounds(people[0][p], people[1][p], n_rounds, turned)
    return responses, violations, before, people[1][:, 0]


@numba.njit(cache=True, nogil=True)
def unit_rows(rows, centre, spread):
    """``(1, (x - centre) / spread)`` of each row, divided by its length, in single precision.

    By column within each few people, ``(tiles, 1 + d, TILE)``, and zeros behind the last.
    """
    m, d = rows.shape
    units = np.zeros((-(-m // TILE), 1 + d, TILE), dtype=np.float32)
    unit = np.ones(1 + d)
    for p in range(m):
        square = 1.0
        for j in range(d):
            unit[1 + j] = (rows[p, j] - centre[j]) / spread[j]
            square += unit[1 + j] * unit[1 + j]
        shrink = 1.0 / np.sqrt(square)
        for j in range(1 + d):
            units[p // TILE, j, p % TILE] = unit[j] * shrink
    return units


@numba.njit(cache=True, nogil=True)
def _sum_edges(edges, where):
    """Count the edges in each place anew, and add up their differences."""
    _, kind, _, _, differences = edges
    place, turn, number, sums, used, _, _, _ = where
    number[:] = 0
    sums[:, used[0] : used[1] + 1] = 0.0
    used[0], used[1] = place.min(), place.max()
    for e in range(len(kind)):
        group = 3 * kind[e] + turn[e] + 1
        number[group, place[e]] += 1
        own, difference = sums[group, place[e]], differences[e]
        for j in range(len(difference)):
            own[j] += difference[j]


@numba.njit(cache=True, nogil=True)
def _add_charges(where, zero, walked, most, powers):
    """The sum of all multipliers up to their factor, and ``X.T c`` of what they charge people."""
    _, _, number, sums, used, _, _, _ = where
    last = len(powers) - 1
    total, moments = 0.0, np.zeros(sums.shape[2])
    for group in range(9):
        for at in range(used[0], used[1] + 1):
            if number[group, at]:
                lead = at - zero + (group % 3 - 1) * walked
                forth = powers[min(most - lead, last)] if group // 3 != 1 else 0.0
                back = powers[min(most + lead, last)] if group // 3 != 0 else 0.0
                total += number[group, at] * (forth + back)
                own = sums[group, at]
                for j in range(len(moments)):
                    moments[j] += (forth - back) * own[j]
    return total, moments


@numba.njit(cache=True, nogil=True)
def _charge(where, zero, walked, most, powers, factor):
    """Add this round's multipliers to what the rows of an edge were charged if it was in each place all the time."""
    _, _, number, _, used, charged, _, _ = where
    last = len(powers) - 1
    for way in range(3):
        for at in range(used[0], used[1] + 1):
            lead = at - zero + (way - 1) * walked
            if number[way, at] or number[6 + way, at]:
                charged[way, at, 0] += factor * powers[min(most - lead, last)]
            if number[3 + way, at] or number[6 + way, at]:
                charged[way, at, 1] += factor * powers[min(most + lead, last)]


@numba.njit(cache=True, nogil=True)
def _largest_lead(where, zero, walked):
    """The largest lead of a row; one that goes back has minus that of its edge."""
    _, _, number, _, used, _, _, _ = where
    most = -2 * zero
    for group in range(9):
        for at in range(used[0], used[1] + 1):
            if number[group, at]:
                lead = at - zero + (group % 3 - 1) * walked
                if group // 3 != 1:
                    most = max(most, lead)
                if group // 3 != 0:
                    most = max(most, -lead)
    return most


@numba.njit(cache=True, nogil=True)
def _measure(beta, frame, point):
    """Write a classifier as a point on the sphere, and return its length; 0 where rounding could matter."""
    centre, spread = frame
    point[0], size = beta[0], abs(beta[0])
    for j in range(len(centre)):
        point[0] += beta[1 + j] * centre[j]
        size += abs(beta[1 + j] * centre[j])
        point[1 + j] = beta[1 + j] * spread[j]
    length = np.sqrt(_dot(point, point))
    if not (length > 0.0 and size < _LONGEST * length):
        point[:] = 0.0
        return 0.0
    point /= length
    return length


@numba.njit(cache=True, nogil=True)
def _dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@numba.njit(cache=True, nogil=True)
def _find_changes(rows, units, beta, point, length, anchors, last, side, opposite, t, changed, unsure):
    """List everyone who changes sides: returns how many, which anchor was asked, and with which sign."""
    points, asked, sides, near, ratios, n_near = anchors
    count = 0
    if length == 0.0:
        unsure[:-1] = np.arange(len(rows))
        return _ask_exactly(unsure[:-1], rows, beta, False, side, changed, count), (-1, 1)
    certain = 1.1 * (len(point) + 6) * _SINGLE + _CERTAIN
    k, sign, distance = _nearest(points, asked, point)
    if distance > _REACH:
        k, sign, distance, last = int(np.argmin(asked)), 1, 0.0, (-1, 1)
        points[k] = point
        n_near[k] = _set_anchor(units, point.astype(np.float32), _REACH + certain, sides[k], near[k], ratios[k])
    asked[k] = t
    if last != (k, sign):
        for p in range(len(rows)):
            own = sides[k, p]
            changed[count] = p
            count += own != _UNSURE and side[p] != (own if sign > 0 else 1 - own)
    limit = distance + certain
    n_unsure = 0
    for i in range(n_near[k]):
        p, ratio = near[k, i], sign * ratios[k, i]
        sure = abs(ratio) > limit
        unsure[n_unsure] = changed[count] = p
        n_unsure += not sure
        count += sure and side[p] != (ratio > 0.0)
    return _ask_exactly(unsure[:n_unsure], rows, beta, opposite, side, changed, count), (k, sign)


@numba.njit(cache=True, nogil=True)
def _nearest(points, asked, point):
    """The anchor nearest to a point or to its opposite, the sign with which it is, and how far."""
    best, sign, least = 0, 1, np.inf
    for k in range(len(points)):
        if asked[k] >= 0:
            own = 1 if _dot(points[k], point) >= 0.0 else -1
            away = 0.0
            for i in range(len(point)):
                away += (own * points[k, i] - point[i]) ** 2
            if away < least:
                best, sign, least = k, own, away
    return best, sign, np.sqrt(least)


@numba.njit(cache=True, nogil=True)
def _set_anchor(units, point, limit, sides, near, ratios):
    """Write the sides that no classifier within reach sees otherwise, and list the other people with their scores."""
    count = 0
    score = np.empty(TILE, dtype=np.float32)
    for number in range(len(units)):
        score[:] = 0.0
        for j in range(len(point)):
            weight, unit = point[j], units[number, j]
            for q in range(TILE):
                score[q] += weight * unit[q]
        first = number * TILE
        n = min(TILE, len(sides) - first)
        for q in range(n):
            sides[first + q] = _UNSURE if abs(score[q]) <= limit else score[q] > 0.0
        for q in range(n):
            near[count], ratios[count] = first + q, score[q]
            count += sides[first + q] == _UNSURE
    return count


@numba.njit(cache=True, nogil=True)
def _ask_exactly(who, rows, beta, opposite, side, changed, count):
    """List those of these people who change sides; sums are added in the order of the columns, four side by side."""
    last = len(who) - 1
    score = np.empty(4)
    for start in range(0, len(who), 4):
        one, two = rows[who[start]], rows[who[min(start + 1, last)]]
        three, four = rows[who[min(start + 2, last)]], rows[who[min(start + 3, last)]]
        a, b, c, d = beta[0], beta[0], beta[0], beta[0]
        for j in range(rows.shape[1]):
            weight = beta[1 + j]
            a += one[j] * weight
            b += two[j] * weight
            c += three[j] * weight
            d += four[j] * weight
        score[0], score[1], score[2], score[3] = a, b, c, d
        for q in range(min(4, len(who) - start)):
            p = who[start + q]
            changed[count] = p
            count += side[p] != ((score[q] > 0.0) != opposite)
    return count


@numba.njit(cache=True, nogil=True)
def _change_sides(who, people, edges, where, now):
    """From this round on these people are on the other side, and their edges are in other places."""
    side, rounds = people
    ends, kind, begins, touching, differences = edges
    place, turn, number, sums, used, charged, entered, before = where
    t, turned, walked, zero = now
    for p in who:
        _count_rounds(side[p], rounds[p], t, turned)
        side[p] = 1 - side[p]
        for i in range(begins[p], begins[p + 1]):
            e = touching[i]
            at, way = place[e], turn[e]
            lead = at - zero + way * walked
            new_way = np.int64(side[ends[e, 0]]) - np.int64(side[ends[e, 1]])
            new = lead - new_way * walked + zero
            old_group, group = 3 * kind[e] + way + 1, 3 * kind[e] + new_way + 1
            for back in range(2):
                before[e, back] += charged[way + 1, at, back] - entered[e, back]
                entered[e, back] = charged[new_way + 1, new, back]
            number[old_group, at] -= 1
            number[group, new] += 1
            left = 1.0 if number[old_group, at] else 0.0
            own, other, difference = sums[old_group, at], sums[group, new], differences[e]
            for j in range(len(difference)):
                own[j] = left * (own[j] - difference[j])
            for j in range(len(difference)):
                other[j] += difference[j]
            place[e], turn[e] = new, new_way
            used[0], used[1] = min(used[0], new), max(used[1], new)


@numba.njit(cache=True, nogil=True)
def _count_rounds(side, rounds, t, turned):
    """Add the rounds since a person's side was last set, of which some were turned, to those that gave label 1."""
    turned_since = turned - rounds[2]
    rounds[0] += t - rounds[1] - turned_since if side else turned_since
    rounds[1], rounds[2] = t, turned
