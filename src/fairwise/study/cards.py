"""A person as participants see them: labels and values, and nothing that is not to be shown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fairwise.errors import InputError, some
from fairwise.study.languages import Language
from fairwise.study.settings import ShownColumn


@dataclass(frozen=True)
class Row:
    """One line of a card: ``text`` is ready to be read, unit included, and not yet escaped."""

    label: str
    text: str
    picture: str = ""
    """Its file, if it is a picture; then the text says what is to be seen on it."""


@dataclass(frozen=True)
class Card:
    """All that is shown of a person, in the order of the study's columns."""

    person: str
    rows: tuple[Row, ...]

    def differences(self, other: Card) -> tuple[bool, ...]:
        """Which rows of two cards of one study differ."""
        return tuple(mine != theirs for mine, theirs in zip(self.rows, other.rows, strict=True))


# Everyone's card, from the table of people, in the words of one language.

ID = "id"


def cards_of(
    people: pa.Table,
    columns: Sequence[ShownColumn],
    where: object,
    words: Language,
    values: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, Card]:
    """Return everyone's card by id; the table must have the columns that are shown, and no other but the id.

    ``values`` are translations of values, by column.
    """
    _check_columns(people.column_names, columns_shown(columns), where)
    ids = people[ID].to_pylist()
    if not all(isinstance(person, str) and person.strip() for person in ids):
        raise InputError(f"{where}, column {ID}: every id must be a text that is not empty")
    twice, times = Counter(ids).most_common(1)[0] if ids else ("", 0)
    if times > 1:
        raise InputError(f"{where}, column {ID}: {twice!r} is there more than once; every id must be there once")
    translated = values or {}
    rows = zip(*(_rows(people, column, words, translated.get(column.name, {})) for column in columns), strict=True)
    return {person: Card(person, shown) for person, shown in zip(ids, rows, strict=True)}


def columns_shown(columns: Sequence[ShownColumn]) -> list[str]:
    """Return the names of all columns of the table that are shown, also those that say what pictures show."""
    return list(dict.fromkeys(name for column in columns for name in (column.name, column.alt) if name))


def _check_columns(found: Sequence[str], shown: Sequence[str], where: object) -> None:
    for name in (ID, *shown):
        if name not in found:
            asked = "" if name == ID else ", which study.toml shows"
            raise InputError(f"{where}: there is no column {name!r}{asked}; found: {some(found)}")
    more = [name for name in found if name not in {ID, *shown}]
    if more:
        raise InputError(f"{where}: study.toml does not show {some(more)}; only what is shown may be in this file")
    if len(found) != 1 + len(shown):
        raise InputError(f"{where}: every column must be there once; found: {some(found)}")


def _rows(people: pa.Table, column: ShownColumn, words: Language, translated: Mapping[str, str]) -> list[Row]:
    """One row for each value; values that read the same share it, as there may be many people."""
    made: dict[tuple[str, str], Row] = {}
    values = people[column.alt or column.name].to_pylist()
    pictures = people[column.name].to_pylist() if column.alt else [""] * len(values)
    texts = (value_text(value, column.unit, words, translated) for value in values)
    both = zip(texts, (str(picture or "") for picture in pictures), strict=True)
    return [made.get(one) or made.setdefault(one, Row(column.label, *one)) for one in both]


def value_text(value: object, unit: str, words: Language, translated: Mapping[str, str] | None = None) -> str:
    """Return a value as it is read, if it is a word in another language.

    >>> from fairwise.study.languages import language
    >>> [value_text(value, "Euro", language("de")) for value in (12000.0, 0.25, None)]
    ['12000 Euro', '0,25 Euro', 'nicht bekannt']
    """
    if isinstance(value, bool):
        text = words.translate("yes") if value else words.translate("no")
    elif isinstance(value, float):
        # Adding nothing takes the sign from zero.
        text = "" if math.isnan(value) else words.decimal(np.format_float_positional(value + 0.0, trim="-"))
    else:
        text = "" if value is None else str(value).strip()
        text = translated.get(text, text) if translated else text
    return f"{text} {unit}".rstrip() if text else words.translate("not known")
