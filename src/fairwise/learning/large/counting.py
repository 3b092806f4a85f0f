"""How many people of each cell get label 1 from each of many classifiers, without asking every one about everyone.

A label is the sign of a sum in double precision and fixed order (``oracles.linear``). With ``m`` and ``s`` any centre
and spread of each column, the same sum is ``N |(1, u)| (a . v)``, where ``u = (x - m) / s``, ``v = (1, u) / |(1, u)|``,
and ``a`` is ``(b + w . m, s w) / N`` of length 1. So everyone is a point on a sphere, and so is every classifier. The
rounds of a game are near each other, or near each other's opposite: of classifiers within ``r`` of their centre ``c``
all agree about ``v`` where ``|c . v| > r``, which is one product for all of them.

Products are in single precision: rounding ``a`` and ``v``, and adding ``D`` products in any order, is wrong by at most
``(D + 6) 2**-24``, as neither is longer than 1. The sum in double precision is within ``(2 D + 8) 2**-53 (1 + A / N)``
of the real one, in the same units, where ``A = |b| + sum_j |w_j m_j|``. Nearer to 0 the exact sum decides: counts are
equal to those of labels one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairwise.learning.large.count_kernels import add_counts
from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.learning.oracles.linear import LinearClassifiers

_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53
_SAFETY = 1.1
_CENTRE, _NEAR, _MEMBER = 0.8, 30.0, 3.0  # ns of a row: asking a centre; if near, copying it, then asking one member
_DEEPEST = 50

Singles = NDArray[np.float32]


class Groups(NamedTuple):
    """Classifiers in groups; group ``g`` has the slots ``starts[g]`` to ``starts[g + 1]``."""

    centres: Singles
    """``(G, D)``."""

    within: Singles
    """``(G,)`` beyond this from 0 the sign of a centre's product is that of every member's sum."""

    starts: IntArray
    members: Singles
    """``(T, D)`` classifiers as points on the sphere, or their opposites, by slot."""

    margins: Singles
    """``(T,)`` beyond this from 0 the sign of a member's product is certain."""

    flipped: NDArray[np.bool_]
    """``(T,)`` where the one in a slot is the opposite of its classifier."""


@dataclass(frozen=True, eq=False)
class LabelCounter:
    """Counts labels of linear classifiers over columns ``(d, n)`` of encoded rows."""

    mean: FloatArray
    inverse_spread: FloatArray
    order: IntArray
    """``(T,)`` the classifier in each slot."""

    exact: tuple[FloatArray, FloatArray]
    """The classifiers' ``coef`` ``(d, T)`` and ``intercept``, by slot."""

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
        flipped = points @ np.linalg.eigh(points.T @ points)[1][:, -1] < 0.0
        points[flipped] *= -1.0
        lists = _split(points, np.arange(len(points)), 0)[1]
        centres = np.array([points[own].mean(axis=0) for own in lists])
        radii = [
            np.sqrt(((points[own] - centre) ** 2).sum(axis=1).max()) for own, centre in zip(lists, centres, strict=True)
        ]
        within = _SAFETY * np.array(radii) + [float(margins[own].max()) for own in lists]
        order = np.concatenate(lists)
        groups = Groups(
            _in_single_precision(centres),
            _rounded_up(within),
            np.cumsum([0, *map(len, lists)]),
            _in_single_precision(points[order]),
            _rounded_up(margins[order]),
            flipped[order],
        )
        return cls(mean, 1.0 / spread, order, (np.ascontiguousarray(coef[order].T), intercept[order]), groups)

    def counts(self, pieces: Iterable[tuple[FloatArray, IntArray]], n_cells: int) -> tuple[IntArray, IntArray]:
        """Count people by cell ``(n_cells,)``, and those with label 1 from each classifier ``(n_cells, T)``.

        A piece has columns of encoded rows ``(d, n)`` and their cells ``(n,)``.
        """
        people = np.zeros(n_cells, dtype=np.int64)
        by_slot = np.zeros((n_cells, len(self.order)), dtype=np.int64)
        for columns, cell in pieces:
            people += np.bincount(cell, minlength=n_cells)
            add_counts(columns, cell, self.mean, self.inverse_spread, self.exact, self.groups, by_slot)
        return people, np.asarray(by_slot[:, np.argsort(self.order)])


def _rounded_up(values: FloatArray) -> Singles:
    return np.nextafter(values.astype(np.float32), np.float32(np.inf))


def _in_single_precision(points: FloatArray) -> Singles:
    """Pad the points with columns of zeros to a multiple of 4, which are multiplied at once."""
    return np.pad(points, ((0, 0), (0, -points.shape[1] % 4))).astype(np.float32)


def _split(points: FloatArray, own: IntArray, depth: int) -> tuple[float, list[IntArray]]:
    """Return the cheapest split found of these classifiers, and what it costs for each row.

    Two halves are those nearer to either of two members far apart. A centre's product with someone drawn evenly from
    the sphere has density about ``sqrt(D / 2 pi)`` at 0, which makes a share of ``2 r`` times that near.
    """
    alone = _CENTRE * len(own), list(own[:, None])
    if len(own) < 2 or depth > _DEEPEST:
        return alone
    members = points[own]
    from_centre = ((members - members.mean(axis=0)) ** 2).sum(axis=1)
    one = int(from_centre.argmax())
    from_one = ((members - members[one]) ** 2).sum(axis=1)
    from_other = ((members - members[int(from_one.argmax())]) ** 2).sum(axis=1)
    share = min(1.0, 2.0 * np.sqrt(points.shape[1] / (2.0 * np.pi) * from_centre[one]))
    together = _CENTRE + share * (_NEAR + _MEMBER * len(own)), [own]
    nearer = from_one < from_other
    if not nearer.any() or nearer.all():
        return min(alone, together, key=lambda way: way[0])
    (cost, left), (more, right) = (_split(points, own[side], depth + 1) for side in (nearer, ~nearer))
    return min(alone, together, (cost + more, left + right), key=lambda way: way[0])
