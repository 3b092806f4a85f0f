"""Columns from which participants could read the outcome, which they are never to see.

A column tells the outcome if it says the same under another name; or if one threshold on its numbers, or one of its
values, tells for certain that it was some decisions and not the others, or an amount above another.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from fairwise.tables.rows import text_of

Codes = NDArray[np.intp]

# Two columns that split so many people alike are one column under two names.
_NO_COINCIDENCE = 20
# So many people on either side are not parted by accident.
_NO_ACCIDENT = 8
NEVER_SHOWN = "which participants never see; leave it out of what is shown"


def telling_columns(
    people: pa.Table, outcome: str, results: pa.ChunkedArray, *, amounts: bool = False
) -> dict[str, str]:
    """Return every column from which the outcome can be read, and how, as the end of a sentence.

    Where outcomes are ``amounts``, two columns in which everybody differs do not yet say the same.
    """
    found = {}
    values: NDArray[np.object_] = np.array(results.to_pylist(), dtype=object)
    codes, kinds = pd.factorize(values, use_na_sentinel=False)
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64) if amounts else None
    for name in people.column_names:
        column = people[name]
        if _says_the_same(_split(column), codes):
            found[name] = f"this tells everyone's outcome, {outcome!r}, {NEVER_SHOWN}"
        elif numbers is not None:
            if (above := _threshold_of_amounts(column, numbers)) is not None:
                more, amount = above
                found[name] = (
                    f"everyone with {outcome} above {amount:g} has a {more} number here than everyone else, so that "
                    f"one threshold tells much of the outcome, {NEVER_SHOWN}"
                )
        elif (parted := _threshold_of_labels(column, codes)) is not None:
            higher, lower = (_listed(outcome, kinds, side) for side in parted)
            found[name] = (
                f"everyone with {higher} has a higher number here than everyone with {lower}, so that one threshold "
                f"tells the outcome, {NEVER_SHOWN}"
            )
        elif len(kinds) > 2 and (side := _told_by_a_value(_split(column), codes)) is not None:
            found[name] = (
                f"whether it is {_listed(outcome, kinds, side)} can be read from it for certain, {NEVER_SHOWN}"
            )
    return found


def _says_the_same(column: Codes, outcome: Codes) -> bool:
    """Whether both split people alike, into groups that are not just single people."""
    groups = outcome.max(initial=-1) + 1
    return len(outcome) >= max(_NO_COINCIDENCE, 2 * groups) and bool((column == outcome).all())


def _threshold_of_labels(column: pa.ChunkedArray, outcome: Codes) -> tuple[Codes, Codes] | None:
    """Return the outcomes above and below a number, if none is on both sides of it, and there are enough people."""
    order, cuts = _cuts(column)
    if not len(cuts):
        return None
    codes = outcome[order]
    kinds, first = np.unique(codes, return_index=True)
    last = len(codes) - 1 - np.unique(codes[::-1], return_index=True)[1]
    ends = np.zeros(len(codes) + 1, dtype=np.intp)  # a cut at k is between k - 1 and k
    np.add.at(ends, first + 1, 1)
    np.add.at(ends, last + 1, -1)
    clean = cuts[np.cumsum(ends)[cuts] == 0]
    return (kinds[first >= clean[0]], kinds[last < clean[0]]) if len(clean) else None


def _threshold_of_amounts(column: pa.ChunkedArray, amounts: NDArray[np.float64]) -> tuple[str, float] | None:
    """Return whether numbers are higher or lower for everyone above an amount, and that amount."""
    order, cuts = _cuts(column)
    for more, sign in (("higher", 1.0), ("lower", -1.0)):
        ordered = sign * amounts[order]
        below, above = np.maximum.accumulate(ordered), np.minimum.accumulate(ordered[::-1])[::-1]
        clean = cuts[below[cuts - 1] < above[cuts]]
        if len(clean):
            return more, float(below[clean[0] - 1] if more == "higher" else -above[clean[0]])
    return None


def _cuts(column: pa.ChunkedArray) -> tuple[Codes, Codes]:
    """Whose numbers are known, in their order, and where they can be cut in two parts that are large enough."""
    nobody = np.empty(0, dtype=np.intp)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return nobody, nobody
    numbers = column.to_pandas().to_numpy(dtype=np.float64)
    known = np.flatnonzero(~np.isnan(numbers))
    order = known[np.argsort(numbers[known], kind="stable")]
    places = np.flatnonzero(np.diff(numbers[order]) > 0) + 1
    return order, places[(places >= _NO_ACCIDENT) & (places <= len(order) - _NO_ACCIDENT)]


def _told_by_a_value(column: Codes, outcome: Codes) -> Codes | None:
    """Return the outcomes of those with one of the values, if nobody else has these, and there are enough of both."""
    if len(column) < _NO_COINCIDENCE:
        return None
    pairs, people = np.unique(np.stack([column, outcome]), axis=1), np.bincount(column)
    for value in np.flatnonzero((people >= _NO_ACCIDENT) & (people <= len(column) - _NO_ACCIDENT)):
        theirs: Codes = pairs[1][pairs[0] == value]
        if not np.isin(pairs[1][pairs[0] != value], theirs).any():
            return theirs
    return None


def _split(column: pa.ChunkedArray) -> Codes:
    """Return 0 for those with the first value, missing or not, 1 for those with the second, and so on."""
    codes, _ = pd.factorize(np.array(column.to_pylist(), dtype=object), use_na_sentinel=False)
    return codes


def _listed(outcome: str, kinds: NDArray[np.object_], chosen: Codes) -> str:
    return f"{outcome} = {' or '.join(text_of(kinds[code]) for code in chosen)}"
