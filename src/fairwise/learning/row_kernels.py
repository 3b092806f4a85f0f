"""Compiled passes over rows.

Sums over many classifiers' values, kept as bytes; the encoding of a large column; and the sums over a block of a table
that is read in passes, which depend on nothing but the block.
"""

from __future__ import annotations

import numpy as np

from fairwise.learning.compiler import numba

_LANES = 64  # running sums side by side: several vectors of them, as each addition waits for the one before
_SLICE = 4200  # numbers in the columns of some rows, which a processor's first cache has room for
_BLOCK = 256
WIDTH = 8


@numba.njit(cache=True, nogil=True)
def mix(values, weights):
    """``weights @ values`` for values ``(k, K)``, without a float copy of them; the last may have no weight yet."""
    n_rows = values.shape[1]
    out = np.zeros(n_rows)
    for t in range(min(len(weights), len(values))):
        w = weights[t]
        if w != 0.0:
            for r in range(n_rows):
                out[r] += w * values[t, r]
    return out


@numba.njit(cache=True, nogil=True)
def combine(values, starts, rows, coefficients):
    """Sums ``sum_e coefficients[e] values[t, rows[e]]`` over each stretch of entries, ``(stretches, k)``."""
    k = len(values)
    n = len(starts) - 1
    out = np.zeros((n, k))
    for t in range(k):
        for c in range(n):
            total = 0.0
            for e in range(starts[c], starts[c + 1]):
                total += coefficients[e] * values[t, rows[e]]
            out[c, t] = total
    return out


@numba.njit(cache=True, nogil=True)
def total_excess(values, limits, rows, shares):
    """``sum_e shares[e] max(0, values[rows[e]] - limits[rows[e]])``."""
    total = 0.0
    for e in range(len(rows)):
        total += shares[e] * max(values[rows[e]] - limits[rows[e]], 0.0)
    return total


@numba.njit(cache=True, nogil=True)
def add_labels(rows, coef, intercept, cell, value, out):
    """Add ``value[p, l - 1]`` to ``out[cell[p], l - 1, t]`` where classifier ``t`` gives row ``p`` label ``l > 0``.

    ``coef`` is ``(d, labels - 1, T)``. Sums are added in the order of the columns and the first of equal ones wins, as
    in ``label_scores``; a column that is 0 adds nothing.
    """
    d, n_others, n_classifiers = coef.shape
    scores = np.empty((n_others, n_classifiers))
    best = np.empty(n_classifiers)
    label = np.empty(n_classifiers, dtype=np.intp)
    for p in range(len(rows)):
        for k in range(n_others):
            for t in range(n_classifiers):
                scores[k, t] = intercept[k, t]
        for j in range(d):
            x = rows[p, j]
            if x != 0.0:
                for k in range(n_others):
                    for t in range(n_classifiers):
                        scores[k, t] += coef[j, k, t] * x
        best[:] = 0.0
        label[:] = -1
        for k in range(n_others):
            for t in range(n_classifiers):
                if scores[k, t] > best[t]:
                    best[t] = scores[k, t]
                    label[t] = k
        for t in range(n_classifiers):
            if label[t] >= 0:
                out[cell[p], label[t], t] += value[p, label[t]]


@numba.njit(cache=True, nogil=True)
def scaled(values, fill, shift, scale, out):
    """Write ``(value - shift) / scale``, missing ones as ``fill``, and whether they are missing if ``out`` has room."""
    marks = out.shape[1] > 1
    for p in range(len(values)):
        missing = np.isnan(values[p])
        out[p, 0] = ((fill if missing else values[p]) - shift) / scale
        if marks:
            out[p, 1] = missing


@numba.njit(cache=True, nogil=True)
def scale_numbers(values, fill, shift, inverse, out):
    """Scale as :func:`scaled`, where ``1 / scale`` is ``inverse`` and rounds nothing; return whether all is finite."""
    finite = True
    for p in range(len(values)):
        x = ((fill if np.isnan(values[p]) else values[p]) - shift) * inverse
        out[p] = x
        finite &= np.abs(x) < np.inf
    return finite


@numba.njit(cache=True, nogil=True)
def add_votes(rows, columns, place, threshold, paid, out):
    """Add ``paid[t, leaf]`` of the leaf that each row ``(n, d)`` reaches in each tree ``t`` of depth 2, in their order.

    Node ``i`` of a tree asks whether ``columns[place[t, i]]`` is at most ``threshold[t, i]``. A block of these columns
    is laid out column by column, so that processors answer for several rows at once and without a branch.
    """
    n = len(rows)
    block = np.empty((len(columns), _BLOCK))
    for begin in range(0, n, _BLOCK):
        count = min(_BLOCK, n - begin)
        for q in range(count):
            for c in range(len(columns)):
                block[c, q] = rows[begin + q, columns[c]]
        sums = out[begin : begin + count]
        for t in range(len(place)):
            root, left, right = block[place[t, 0]], block[place[t, 1]], block[place[t, 2]]
            at_root, at_left, at_right = threshold[t, 0], threshold[t, 1], threshold[t, 2]
            first, second, third, fourth = paid[t, 0], paid[t, 1], paid[t, 2], paid[t, 3]
            for q in range(count):
                low = first if left[q] <= at_left else second
                high = third if right[q] <= at_right else fourth
                sums[q] += low if root[q] <= at_root else high


@numba.njit(cache=True, nogil=True)
def column_sums(values):
    """Count missing values; return the least, the greatest and the sum of the others, the sum as two numbers.

    Together they are exact to 100 bits and more: the same in any order of rows, once rounded.
    Several running sums keep what each addition rounds away (Knuth's two-sum).
    """
    n = len(values)
    high, low, missing = np.zeros(_LANES), np.zeros(_LANES), np.zeros(_LANES)
    least, greatest = np.full(_LANES, np.inf), np.full(_LANES, -np.inf)
    whole = n - n % _LANES
    for start in range(0, whole, _LANES):
        _add_values(values[start : start + _LANES], _LANES, missing, least, greatest, high, low)
    _add_values(values[whole:], n - whole, missing, least, greatest, high, low)
    sum_high, sum_low = 0.0, 0.0
    for lane in range(_LANES):
        sum_high, sum_low = add_pairs(sum_high, sum_low, high[lane], low[lane])
    return int(missing.sum()), least.min(), greatest.max(), sum_high, sum_low


@numba.njit(cache=True, nogil=True, inline="always")
def _add_values(values, n, missing, least, greatest, high, low):
    """One value to each lane; loops over few arrays at a time, which compilers make vectors of."""
    for lane in range(n):
        missing[lane] += 1.0 if np.isnan(values[lane]) else 0.0
    for lane in range(n):  # NaN is neither less nor greater
        least[lane] = values[lane] if values[lane] < least[lane] else least[lane]  # noqa: FURB136
        greatest[lane] = values[lane] if values[lane] > greatest[lane] else greatest[lane]  # noqa: FURB136
    for lane in range(n):
        x = 0.0 if np.isnan(values[lane]) else values[lane]
        before = high[lane]
        total = before + x
        part = total - before
        low[lane] += (before - (total - part)) + (x - part)
        high[lane] = total


@numba.njit(cache=True, nogil=True)
def add_pairs(high, low, other_high, other_low):
    """The sum of two numbers that are each given as a rounded one and the rest."""
    total = high + other_high
    part = total - high
    rest = (high - (total - part)) + (other_high - part) + low + other_low
    rounded = total + rest
    return rounded, rest - (rounded - total)


@numba.njit(cache=True, nogil=True)
def fill_number(values, centre, out):
    """Write ``values - centre``, and 0 for missing ones."""
    for p in range(len(values)):
        out[p] = 0.0 if np.isnan(values[p]) else values[p] - centre


@numba.njit(cache=True, nogil=True)
def places_marked(numbers, marks):
    """Return the places of numbers whose last bits are marked; the length of ``marks`` is a power of two."""
    places = np.empty(len(numbers), dtype=np.intp)
    last_bits = len(marks) - 1
    count = 0
    for p in range(len(numbers)):
        places[count] = p
        count += marks[numbers[p] & last_bits]
    return places[:count].copy()


@numba.njit(cache=True, nogil=True)
def label_codes(values, most):
    """Number the different whole numbers in the order of their first places; return codes and numbers.

    Of more than ``most`` different ones the last found takes the place of those that follow.
    """
    labels = np.empty(most + 1, dtype=values.dtype)
    codes = np.empty(len(values), dtype=np.intp)
    n_labels = 0
    for p in range(len(values)):
        code = 0
        while code < n_labels and labels[code] != values[p]:
            code += 1
        if code == n_labels:
            code = min(code, most)
            labels[code] = values[p]
            n_labels = code + 1
        codes[p] = code
    return codes, labels[:n_labels]


@numba.njit(cache=True, nogil=True)
def add_column_products(columns, cell, gram, by_cell):
    """Add ``Z.T Z`` to ``gram`` ``(k, k)`` and each row to its cell's in ``by_cell``, where ``Z.T`` is ``columns``."""
    k, n = columns.shape
    step = max(_SLICE // k // WIDTH * WIDTH, WIDTH)
    for start in range(0, n, step):
        end = min(start + step, n)
        for i in range(k):
            for j in range(i, k):
                gram[i, j] += _dot(columns[i, start:end], columns[j, start:end])
        for p in range(start, end):
            own = by_cell[cell[p]]
            for j in range(k):
                own[j] += columns[j, p]
    for i in range(k):
        for j in range(i):
            gram[i, j] = gram[j, i]


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _dot(a, b):
    """Added side by side, which rounds less than one after another."""
    total = 0.0
    for p in range(len(a)):
        total += a[p] * b[p]
    return total


@numba.njit(cache=True, nogil=True)
def add_products(matrix, k, cell, gram, by_cell):
    """Add ``Z.T Z`` to ``gram`` (k, k) and each row to its cell's in ``by_cell``, where Z is the first k columns.

    Both are as wide as ``matrix``, whose columns of zeros up to a multiple of :data:`WIDTH` let the inner loop run
    without a remainder. Zeros are left out: of many columns most are marks of categories.
    """
    n, width = matrix.shape
    for p in range(n):
        for i in range(k):
            x = matrix[p, i]
            if x != 0.0:
                for j in range(width):
                    gram[i, j] += x * matrix[p, j]
        for j in range(width):
            by_cell[cell[p], j] += matrix[p, j]


@numba.njit(cache=True, nogil=True)
def add_breakpoints(rows, cell, coef, intercept, edges, people):
    """Count each row where its label changes along each coordinate; see ``large.problem.histogram``."""
    n, d = rows.shape
    n_edges = edges.shape[1]
    for p in range(n):
        score = intercept
        for j in range(d):
            score += rows[p, j] * coef[j]
        for i in range(1 + d):
            x = 1.0 if i == 0 else rows[p, i - 1]
            if x == 0.0:
                continue  # no step along this coordinate changes anything
            at = -score / x
            low, high = 0, n_edges  # how many edges are not beyond it
            while low < high:
                middle = (low + high) // 2
                if edges[i, middle] <= at:
                    low = middle + 1
                else:
                    high = middle
            people[i, cell[p], low] += 1
