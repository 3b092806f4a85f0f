"""The compiled rounds of ``large_games``, which says what sides, turns and places are."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from fairwise.learning.compiler import numba
from fairwise.learning.solvers.regression_kernels import TILE

_LARGEST = 32767  # parts of 1: half the memory of single precision, which everyone is read from in every round
_UNROLLED = 3  # columns
_CERTAIN = 1e-9  # more than rounding changes in a score of length 1, where classifiers are at most so long:
_LONGEST = 1e5
_SUM_AGAIN = 256  # rounds after which sums are taken anew: what additions round away does not pile up
_SINGLE = 2.0**-24
_LINES = (0, 64, 128)  # where the first lines of a row begin, in bytes; a processor guesses others
_BYTES, _INT = ir.IntType(8).as_pointer(), ir.IntType(32)
_TO_READ, _MOST_LOCAL, _DATA = _INT(0), _INT(3), _INT(1)


def _prefetch(typing: Any, array: Any, row: Any, offset: Any) -> Any:  # noqa: ARG001
    """Begin to load the bytes that lie ``offset`` behind the beginning of ``array[row]``, and others of their line.

    What a loop takes in no order would be waited for each time. Nothing happens where there is no such row.
    """

    def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        values = context.make_array(signature.args[0])(context, builder, arguments[0])
        size = cgutils.unpack_tuple(builder, values.strides)[0]
        at = builder.add(builder.mul(arguments[1], size), arguments[2])
        place = builder.gep(builder.bitcast(values.data, _BYTES), [at])
        kinds = ir.FunctionType(ir.VoidType(), [_BYTES, _INT, _INT, _INT])
        load = builder.module.declare_intrinsic("llvm.prefetch", (_BYTES,), kinds)
        builder.call(load, [place, _TO_READ, _MOST_LOCAL, _DATA])
        return context.get_dummy_value()

    return numba.types.none(array, numba.types.int64, numba.types.int64), make


prefetch: Any = intrinsic(_prefetch)  # to whoever calls it, it has one argument less


@numba.njit(cache=True, nogil=True)
def play_rounds(rows, units, frame, inverse_gram, base, edges, sign, gamma, step, n_rounds, bound, powers):
    """All rounds of a game over people's ``rows`` ``(m, d)``.

    ``frame`` is a centre and a spread of each column, and ``units`` what :func:`unit_rows` makes of both. ``edges`` are
    ends ``(E, 2)``, kinds, where each person's begin in a list of them, this list with one more at its end, and
    differences ``(E, d)``. Returns classifiers ``(T, 1 + d)``, the largest violation of the running average after each
    round, the sum of the multipliers of both rows of each edge ``(E, 2)``, and how many rounds gave everyone label 1.
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
    people = np.full(len(units) * TILE, -1, dtype=np.int8), np.zeros((m, 3), dtype=np.int64)
    changed = np.empty(m + 1, dtype=np.int32)
    certain = 1.1 * ((d + 7) * _SINGLE + 0.5 * np.sqrt(d + 1) / _LARGEST) + _CERTAIN
    responses, violations = np.empty((n_rounds, 1 + d)), np.empty(n_rounds)
    point, last_point = np.zeros(1 + d), np.zeros(1 + d)
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
        limit = np.float32(certain if length > 0.0 else np.inf)
        count = _find_changes(rows, units, beta, point, limit, people[0], opposite, changed)
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
    """``(1, (x - centre) / spread)`` of each row, divided by its length, as whole numbers of :data:`_LARGEST` parts.

    By column within each few people, ``(tiles, D, TILE)``, and zeros behind the last column and person.
    """
    m, d = rows.shape
    width = -(-(1 + d) // _UNROLLED) * _UNROLLED
    units = np.zeros((-(-m // TILE), width, TILE), dtype=np.int16)
    unit = np.ones(1 + d)
    for p in range(m):
        square = 1.0
        for j in range(d):
            unit[1 + j] = (rows[p, j] - centre[j]) / spread[j]
            square += unit[1 + j] * unit[1 + j]
        shrink = _LARGEST / np.sqrt(square)
        for j in range(1 + d):
            units[p // TILE, j, p % TILE] = np.int16(np.rint(unit[j] * shrink))
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
def _find_changes(rows, units, beta, point, limit, side, opposite, changed):
    """List everyone who changes sides, and return how many; a product beyond ``limit`` from 0 is certain."""
    weights = np.zeros(units.shape[1], dtype=np.float32)
    weights[: len(point)] = point / _LARGEST
    towards = np.empty(TILE, dtype=np.float32)  # how far everyone is on their side
    count = 0
    for number in range(len(units)):
        first = number * TILE
        if not _ask(units[number], weights, side[first : first + TILE], limit, towards):
            continue
        start = end = count
        for q in range(min(TILE, len(rows) - first)):
            changed[end] = first + q
            end += not towards[q] > limit
        for i in range(start, end):
            p = changed[i]
            changed[count] = p
            certain = towards[p - first] < -limit
            count += certain or (side[p] > 0) != ((_score(rows[p], beta) > 0.0) != opposite)
    return count


@numba.njit(cache=True, nogil=True, inline="always")
def _ask(units, weights, side, limit, towards):
    """Write products with a few people times their sides, and return how many are not beyond the limit."""
    towards[:] = 0.0
    for j in range(0, len(weights), _UNROLLED):
        one, two, three = weights[j], weights[j + 1], weights[j + 2]
        first, second, third = units[j], units[j + 1], units[j + 2]
        for q in range(TILE):
            towards[q] += one * np.float32(first[q]) + two * np.float32(second[q]) + three * np.float32(third[q])
    count = 0
    for q in range(TILE):
        towards[q] *= np.float32(side[q])
        count += not towards[q] > limit
    return count


@numba.njit(cache=True, nogil=True)
def _score(row, beta):
    """Added in the order of the columns, as everywhere."""
    score = beta[0]
    for j in range(len(row)):
        score += row[j] * beta[1 + j]
    return score


@numba.njit(cache=True, nogil=True)
def _change_sides(who, people, edges, where, now):
    """From this round on these people are on the other side, and their edges are in other places."""
    side, rounds = people
    ends, kind, begins, touching, differences = edges
    place, turn, number, sums, used, charged, entered, before = where
    t, turned, walked, zero = now
    for n, p in enumerate(who):
        _prefetch_ahead(who, n, rounds, edges, where)
        _count_rounds(side[p], rounds[p], t, turned)
        side[p] = -side[p]
        for i in range(begins[p], begins[p + 1]):
            e = touching[i]
            at, way = place[e], turn[e]
            lead = at - zero + way * walked
            new_way = (np.int64(side[ends[e, 0]]) - np.int64(side[ends[e, 1]])) // 2
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
def _prefetch_ahead(who, n, rounds, edges, where):
    """Ask for what will be needed about those who come soon, and an edge of theirs: they are anywhere in memory."""
    ends, kind, begins, touching, differences = edges
    place, turn, _, _, _, _, entered, before = where
    last = len(who) - 1
    far, nearer, near = who[min(n + 16, last)], who[min(n + 12, last)], who[min(n + 6, last)]
    prefetch(rounds, far, 0)
    prefetch(begins, far, 0)
    prefetch(touching, begins[nearer], 0)
    e = touching[begins[near]]  # whoever has none gets another's, to which nothing happens
    prefetch(ends, e, 0)
    prefetch(kind, e, 0)
    prefetch(place, e, 0)
    prefetch(turn, e, 0)
    prefetch(before, e, 0)
    prefetch(entered, e, 0)
    for line in _LINES:
        prefetch(differences, e, line)


@numba.njit(cache=True, nogil=True)
def _count_rounds(side, rounds, t, turned):
    """Add the rounds since a person's side was last set, of which some were turned, to those that gave label 1."""
    turned_since = turned - rounds[2]
    rounds[0] += t - rounds[1] - turned_since if side > 0 else turned_since
    rounds[1], rounds[2] = t, turned
