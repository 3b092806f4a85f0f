"""The compiled steps of ``large_games`` that other games do not have."""

from __future__ import annotations

import numba
import numpy as np

from fairwise.learning.solvers.regression_kernels import TILE, label_people

CHUNK = 8 * TILE  # people whose rows fit into a processor's own cache


@numba.njit(cache=True, nogil=True)
def play_chunks(first, last, tiles, edges, labels, direction, powers, top, before, factor, beta):
    """Label the people of some chunks, charge the edges among them, and add up what that charges people.

    Returns the sum and the largest lead as :func:`charge_edges` does, and ``Z.T c`` as :func:`weigh_some` does.
    """
    starts, ends, exists, lead, mean = edges
    label, favored = labels
    width = CHUNK // TILE
    on_people = np.zeros((1, CHUNK))
    total, most, moments = 0.0, -len(powers), np.zeros(len(beta))
    for c in range(first, last):
        own = tiles[c * width : (c + 1) * width]
        here = label[c * CHUNK : (c + 1) * CHUNK]
        label_some(own, beta, here, favored[c * CHUNK : (c + 1) * CHUNK])
        a, b = starts[c], starts[c + 1]
        some = ends[a:b], exists[a:b], lead[a:b], mean[a:b]
        charged, largest = charge_edges(some, here, direction, powers, top, before, factor, on_people[0])
        total += charged
        most = max(most, largest)
        moments += weigh_some(own, on_people)
    return total, most, moments


@numba.njit(cache=True, nogil=True)
def charge_edges(edges, label, direction, powers, top, before, factor, on_people):
    """End one round and begin the next, on some of the edges: their ends, which rows exist, leads and mean multipliers.

    Add the multipliers of the round that ends, ``factor`` times ``powers[before - lead]``, to ``mean``; move leads by
    its labels; write what the next one's, up to their factor, charge people to ``on_people``. Returns the sum of these
    and the largest lead of a row.
    """
    ends, exists, lead, mean = edges
    last = len(powers) - 1
    total = 0.0
    most = -len(powers)
    on_people[:] = 0.0
    for e in range(len(ends)):
        one, other = ends[e, 0], ends[e, 1]
        forth, back = exists[e, 0], exists[e, 1]
        old = lead[e]
        mean[e, 0] += factor * (forth * powers[min(before - old, last)])
        mean[e, 1] += factor * (back * powers[min(before + old, last)])
        new = old + direction * (np.int32(label[one]) - np.int32(label[other]))
        lead[e] = new
        if forth > 0.0:
            most = max(most, new)
        if back > 0.0:
            most = max(most, -new)
        price_forth = forth * powers[min(top - new, last)]
        price_back = back * powers[min(top + new, last)]
        total += price_forth + price_back
        on_people[one] += price_forth - price_back
        on_people[other] -= price_forth - price_back
    return total, most


@numba.njit(cache=True, nogil=True)
def weigh_some(tiles, on_people):
    """``Z.T c`` ``(1 + d,)`` of these people, where the rows of ``on_people`` are parts of what they are charged."""
    moments = np.zeros(1 + tiles.shape[1])
    charged = np.empty(TILE)
    for number in range(len(tiles)):
        here = on_people[:, number * TILE : (number + 1) * TILE]
        charged[:] = here[0]
        for part in range(1, len(on_people)):
            charged += here[part]
        moments[0] += charged.sum()
        for j in range(tiles.shape[1]):
            moments[1 + j] += _dot(charged, tiles[number, j])
    return moments


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _dot(a, b):
    total = 0.0
    for q in range(TILE):
        total += a[q] * b[q]
    return total


@numba.njit(cache=True, nogil=True)
def label_some(tiles, beta, label, favored):
    """Write these people's labels, and count them."""
    label_people(tiles, beta, np.empty(TILE), label, favored)
