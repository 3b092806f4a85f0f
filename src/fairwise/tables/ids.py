"""Ids as text, and matching them to people without guessing.

Files hold text, tables hold integers, strings or anything else. Two ids are the same when their canonical
texts are the same: ``12`` and ``"12"`` and ``12.0`` are, ``"00012"`` is somebody else.
"""

import re
from collections.abc import Iterable
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import TableError, cut, quote, some

# At most 18 digits, so that every match fits in 64 bits.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_TOO_LONG = 10**18
_FIRST_MERGED = 2.0**53


def text_of(value: object) -> str:
    """Return the canonical text of an id: a whole number never ends in ``.0``."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    return str(value)


def encode(column: pd.Series) -> tuple[NDArray[np.intp], NDArray[np.object_]]:
    """Return codes and distinct canonical texts; the code is -1 where there is nothing, or only blanks."""
    codes, cells = pd.factorize(column)
    values = np.asarray(cells, dtype=object)
    _refuse_merged(values, column.name)
    texts = [text_of(value) for value in values]
    # 1 and "1" are two values with one text. None at the end gets -1, which is where the code -1 points.
    merged, distinct = pd.factorize(np.array([*(text if text.strip() else None for text in texts), None], dtype=object))
    return merged[codes], np.asarray(distinct, dtype=object)


def _refuse_merged(values: Iterable[object], name: object) -> None:
    """Refuse floats that may have been other whole numbers: from 2**53 on they stand for their neighbours, too."""
    large = next((value for value in values if isinstance(value, float) and _FIRST_MERGED <= abs(value) < np.inf), None)
    if large is not None:
        raise TableError(
            f"column {name!r}: the id {int(large)} is a float, and from 2**53 on floats stand for several whole "
            "numbers. Give ids as whole numbers (Int64 where some are missing) or as text."
        )


def is_integer(texts: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Tell which texts are integers written the one usual way."""
    return np.array([_INTEGER.fullmatch(text) is not None for text in texts], dtype=bool)


def integers_or_texts(texts: NDArray[np.object_]) -> pd.Index:
    """Return the texts as integers if every one of them is an integer, else as they are."""
    if is_integer(texts).all():
        return pd.Index(np.array([int(text) for text in texts], dtype=np.int64))
    return pd.Index(texts).astype(str)


class PeopleIds:
    """The ids of a table of people, found by their canonical text."""

    def __init__(self, index: pd.Index) -> None:
        if index.nlevels > 1:
            raise TableError("people: the index has several levels; allowed: one id per person")
        if index.hasnans:
            raise TableError(f"people: {np.count_nonzero(index.isna())} ids in the index are missing")
        if not index.is_unique:
            repeated = index[index.duplicated()].unique()
            raise TableError(f"people: every id must be there once; repeated: {some(repeated)}")
        _refuse_merged(index if index.dtype.kind in "fO" else (), index.name or "index")
        self.labels = index
        # The canonical text of an integer need not be written down, which a million people would feel.
        self._numbers = pd.api.types.is_integer_dtype(index.dtype) and _all_short(index)
        texts = index if self._numbers else [text_of(label) for label in index]
        self._texts = pd.Index(texts, dtype=index.dtype if self._numbers else object)
        if not self._texts.is_unique:
            twice = self._texts[self._texts.duplicated()].unique()
            raise TableError(f"people: ids that look the same but differ in type: {some(twice)}")

    def positions(self, texts: NDArray[np.object_]) -> NDArray[np.intp]:
        """Return where each text's person is, -1 where there is none."""
        if not self._numbers:
            return np.asarray(self._texts.get_indexer(pd.Index(texts, dtype=object)))
        result = np.full(len(texts), -1, dtype=np.intp)
        integers = is_integer(texts)
        numbers = pd.Index([int(text) for text in texts[integers]], dtype=np.int64)
        result[integers] = self._texts.get_indexer(numbers)
        return result

    def hint(self, text: str) -> str:
        """Return what to say of a text that is nobody's id but for blanks around it, or ""."""
        stripped = text.strip()
        near = stripped if self.positions(np.array([stripped], dtype=object))[0] >= 0 else self._stripped.get(stripped)
        if near is None:
            return ""
        return f" (did you mean {cut(quote(near))}? Ids must match exactly: strip the spaces in the file)"

    @cached_property
    def _stripped(self) -> dict[str, str]:
        """The ids with blanks around them, by what is between."""
        if self._numbers:
            return {}
        return {text.strip(): text for text in self._texts if text != text.strip()}


def _all_short(integers: pd.Index) -> bool:
    return not len(integers) or (integers.min() > -_TOO_LONG and integers.max() < _TOO_LONG)
