"""How many people of each cell get label 1 from each of many classifiers, without asking every one about everyone.

A label is the sign of a sum in double precision and fixed order (``oracles.linear``). With ``m`` and ``s`` any centre
and spread of each column, the same sum is ``N |(1, u)| (a . v)``, where ``u = (x - m) / s``, ``v = (1, u) / |(1, u)|``,
and ``a`` is ``(b + w . m, s w) / N`` of length 1. So everyone is a point on a sphere, and so is every classifier. The
rounds of a game are near each other, or near each other's opposite: of classifiers within ``r`` of their centre ``c``
all agree about ``v`` where ``|c . v| > r``, which is one product for all of them.

Products with centres are of whole numbers, in parts of ``1 / L`` (:data:`LARGEST`). Rounding to these moves ``c`` and
``v`` by at most ``sqrt(D) / 2 L`` each, and their product, as neither is longer than 1, by ``sqrt(D) / L``. Others are
taken in single precision: rounding ``a`` and ``v``, and adding ``D`` products in any order, is wrong by at most
``(D + 6) 2**-24``, as both have length 1. The sum in double precision is within ``(2 D + 8) 2**-53 (1 + A / N)``
of the real one, in the same units, where ``A = |b| + sum_j |w_j m_j|``. Nearer to 0 the exact sum decides: counts are
equal to those of labels one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairwise.learning.large.count_kernels import LARGEST, add_counts
from fairwise.learning.large.lanes import AT_ONCE, LANES, UNROLLED
from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.learning.oracles.linear import LinearClassifiers

_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53
_NEVER = 2**31 - 1  # no product of whole numbers is so large
_SAFETY = 1.1
_TESTING, _TAKING, _ASKING = 0.3, 10.0, 0.6  # ns of a row: asking a centre, taking it alone if near, one member then
_ALONE = 0.27  # and one member of everyone
_DEEPEST = 50
_LINE = 64  # bytes
_FIRST_CACHE = 48 << 10  # bytes; rows that are scored side by side should stay there
_LARGEST_TILE = 256

Singles = NDArray[np.float32]
Pairs = NDArray[np.int32]
"""Vectors of whole numbers of 16 bits, two in each of 32; see ``lanes``."""


class Groups(NamedTuple):
    """Classifiers in groups: first those of several members, then classifiers alone.

    A group of several has the slots of blocks ``starts[g]`` to ``starts[g + 1]``, :data:`LANES` in each, of which
    the last ones may be empty; behind these a classifier alone has one.
    """

    centres: Pairs
    """``(G, P)``."""

    within: NDArray[np.int32]
    """``(G,)`` beyond this from 0 the sign of a centre's product is that of every member's sum."""

    starts: IntArray
    members: Singles
    """``(blocks, D, LANES)`` classifiers as points on the sphere, or their opposites."""

    margins: Singles
    """``(blocks, LANES)`` beyond this from 0 the sign of a member's product is certain."""

    flipped: NDArray[np.bool_]
    """``(S,)`` where the one in a slot is the opposite of its classifier."""


@dataclass(frozen=True, eq=False)
class LabelCounter:
    """Counts labels of linear classifiers over columns ``(d, n)`` of encoded rows."""

    mean: FloatArray
    inverse_spread: FloatArray
    slot: IntArray
    """``(T,)`` of each classifier."""

    exact: tuple[FloatArray, FloatArray]
    """The classifiers' ``coef`` ``(d, S)`` and ``intercept``, by slot."""

    groups: Groups

    @classmethod
    def of(cls, classifiers: LinearClassifiers, gram: FloatArray) -> LabelCounter:
        """``gram`` is ``Z.T Z`` of everyone's rows with a 1 in front: where they are, and how far apart."""
        coef, intercept = classifiers.coef, classifiers.intercept
        with np.errstate(all="ignore"):  # what cannot be measured is always asked exactly
            mean = gram[0, 1:] / gram[0, 0]
            square = np.diag(gram)[1:] / gram[0, 0]
            spread = np.sqrt(np.maximum(square - mean**2, 1e-12 * square))
            spread[~(spread > 0.0)] = 1.0
            points = np.column_stack([intercept + coef @ mean, coef * spread])
            length = np.sqrt((points**2).sum(axis=1))
            size = (np.abs(intercept) + np.abs(coef) @ np.abs(mean)) / length
            points /= length[:, None]
        width = points.shape[1]
        margins = _SAFETY * ((width + 6) * _SINGLE + (2 * width + 8) * _DOUBLE * (1.0 + size))
        measured = np.isfinite(points).all(axis=1) & np.isfinite(margins)
        points[~measured], margins[~measured] = 0.0, np.inf
        flipped = points @ _main_direction(points) < 0.0
        points[flipped] *= -1.0
        lists = sorted(_split(points, np.arange(len(points))), key=lambda own: len(own) == 1)
        centres = np.array([points[own].mean(axis=0) for own in lists])
        radii = [
            np.sqrt(((points[own] - centre) ** 2).sum(axis=1).max()) if len(own) > 1 else 0.0
            for own, centre in zip(lists, centres, strict=True)
        ]
        own_margin = [float(margins[own].max()) for own in lists]
        within = _SAFETY * np.sqrt(width) / LARGEST + (1.0 + _SINGLE) * np.array(radii) + own_margin
        starts, slot, n_slots = _slots(lists)
        in_blocks = starts[-1], LANES
        padded = _padded(points)
        members = _at(slot, n_slots, padded, 0.0)[: LANES * starts[-1]].reshape(*in_blocks, padded.shape[1])
        groups = Groups(
            _pairs(centres),
            np.minimum(np.ceil(within * LARGEST**2) + 1, _NEVER).astype(np.int32),
            starts,
            _aligned_copy(members.swapaxes(1, 2)),
            _aligned_copy(_at(slot, n_slots, _rounded_up(margins), -1.0)[: LANES * starts[-1]].reshape(in_blocks)),
            _at(slot, n_slots, flipped, False),
        )
        exact = np.ascontiguousarray(_at(slot, n_slots, coef, 0.0).T), _at(slot, n_slots, intercept, 0.0)
        return cls(mean, 1.0 / spread, slot, exact, groups)

    def start(self, n_cells: int) -> Tally:
        """Nobody counted yet."""
        pairs, width = self.groups.centres.shape[1], self.groups.members.shape[1]
        tile = min(max(_FIRST_CACHE // (4 * width) // AT_ONCE * AT_ONCE, AT_ONCE), _LARGEST_TILE)
        space = _aligned((2 * pairs, tile)), _aligned((tile, width)), _aligned((pairs, tile)).view(np.int32)
        given = np.zeros((n_cells, len(self.groups.flipped)), dtype=np.int64)
        return Tally(self, np.zeros(n_cells, dtype=np.int64), given, space)


@dataclass(frozen=True, eq=False)
class Tally:
    """What was counted so far."""

    counter: LabelCounter
    people: IntArray
    """``(n_cells,)`` rows of each cell."""

    by_slot: IntArray
    space: tuple[Singles, Singles, Pairs]

    def add(self, columns: FloatArray, cell: IntArray) -> None:
        """Count more rows, columns of ``(d, n)``, in these cells ``(n,)``."""
        by = self.counter
        self.people[:] += np.bincount(cell, minlength=len(self.people))
        add_counts(columns, cell, by.mean, by.inverse_spread, by.exact, by.groups, self.space, self.by_slot)

    def counts(self) -> IntArray:
        """``(n_cells, T)`` how many rows of each cell get label 1 from each classifier."""
        return np.asarray(self.by_slot[:, self.counter.slot])


def _slots(lists: Sequence[IntArray]) -> tuple[IntArray, IntArray, int]:
    """Where each group's blocks begin, the slot of each classifier, and how many slots there are; see `Groups`."""
    large = [own for own in lists if len(own) > 1]
    starts = np.cumsum([0, *(-(-len(own) // LANES) for own in large)])
    slot = np.empty(sum(map(len, lists)), dtype=np.intp)
    for own, start in zip(large, starts, strict=False):
        slot[own] = LANES * start + np.arange(len(own))
    alone = lists[len(large) :]
    slot[[own[0] for own in alone]] = LANES * starts[-1] + np.arange(len(alone))
    return starts, slot, int(LANES * starts[-1] + len(alone))


def _at(slot: IntArray, n_slots: int, values: NDArray[Any], empty: float) -> NDArray[Any]:
    """Each classifier's values in its slot."""
    out = np.full((n_slots, *values.shape[1:]), empty, dtype=values.dtype)
    out[slot] = values
    return out


def _rounded_up(values: FloatArray) -> Singles:
    return np.nextafter(values.astype(np.float32), np.float32(np.inf))


def _padded(points: FloatArray) -> Singles:
    """In single precision, with columns of zeros up to a multiple of what is added at once."""
    width = -(-points.shape[1] // UNROLLED) * UNROLLED
    padded = np.zeros((len(points), width), dtype=np.float32)
    padded[:, : points.shape[1]] = points
    return padded


def _pairs(points: FloatArray) -> Pairs:
    """As whole numbers, with a 0 behind the last where their number is odd."""
    whole = np.zeros((len(points), points.shape[1] + points.shape[1] % 2), dtype=np.int32)
    whole[:, : points.shape[1]] = np.rint(points * LARGEST)
    return np.asarray((whole[:, 1::2] << 16) | (whole[:, ::2] & 0xFFFF))


def _aligned(shape: tuple[int, ...]) -> Singles:
    """Zeros that begin at a cache line, so that no vector is spread over two: that would double the time."""
    size = 4 * int(np.prod(shape))
    raw = np.zeros(size + _LINE, dtype=np.uint8)
    start = -raw.ctypes.data % _LINE
    return raw[start : start + size].view(np.float32).reshape(shape)


def _aligned_copy(values: Singles) -> Singles:
    copy = _aligned(values.shape)
    copy[:] = values
    return copy


def _main_direction(points: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.eigh(points.T @ points)[1][:, -1])


def _split(points: FloatArray, own: IntArray) -> Iterator[IntArray]:
    return iter(_best(points, own, 0)[1])


def _best(points: FloatArray, own: IntArray, depth: int) -> tuple[float, list[IntArray]]:
    """The cheapest way found to split these, and what it costs for each row.

    Two halves are those nearer to either of two members far apart. A centre's product with someone drawn evenly from
    the sphere has density about ``sqrt(D / 2 pi)`` at 0, which makes a share of ``2 r`` times that near.
    """
    alone = _ALONE * len(own), list(own[:, None])
    if len(own) < 2 or depth > _DEEPEST:
        return alone
    members = points[own]
    centre = members.mean(axis=0)
    from_centre = ((members - centre) ** 2).sum(axis=1)
    one = int(from_centre.argmax())
    from_one = ((members - members[one]) ** 2).sum(axis=1)
    from_other = ((members - members[int(from_one.argmax())]) ** 2).sum(axis=1)
    share = min(1.0, 2.0 * np.sqrt(points.shape[1] / (2.0 * np.pi) * from_centre[one]))
    together = _TESTING + share * (_TAKING + _ASKING * len(own)), [own]
    nearer = from_one < from_other
    if not nearer.any() or nearer.all():
        return min(alone, together, key=lambda way: way[0])
    (cost, left), (more, right) = (_best(points, own[side], depth + 1) for side in (nearer, ~nearer))
    return min(alone, together, (cost + more, left + right), key=lambda way: way[0])
