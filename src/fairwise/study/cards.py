"""Cards: people as participants see them, with pictures; the practice pair and the questions about the buttons."""

from __future__ import annotations

import logging
import math
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from fairwise.errors import InputError, some
from fairwise.judgments import Answer
from fairwise.study.settings import ShownColumn, StudySettings
from fairwise.study.texts import Language, marked

_log = logging.getLogger("fairwise")


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
        """Return for each row whether the two cards differ."""
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
    _check_columns(people.column_names, card_columns(columns), where)
    ids = people[ID].to_pylist()
    if not all(isinstance(person, str) and person.strip() for person in ids):
        raise InputError(f"{where}, column {ID}: every id must be a text that is not empty")
    twice, times = Counter(ids).most_common(1)[0] if ids else ("", 0)
    if times > 1:
        raise InputError(f"{where}, column {ID}: {twice!r} is there more than once; every id must be there once")
    translated = values or {}
    rows = zip(*(_rows(people, column, words, translated.get(column.name, {})) for column in columns), strict=True)
    return {person: Card(person, rows_of_card) for person, rows_of_card in zip(ids, rows, strict=True)}


def card_columns(columns: Sequence[ShownColumn]) -> list[str]:
    """Return the names of all columns of the table that are shown, also those that say what pictures show."""
    return list(dict.fromkeys(name for column in columns for name in (column.name, column.alt) if name))


def _check_columns(present: Sequence[str], expected: Sequence[str], where: object) -> None:
    for name in (ID, *expected):
        if name not in present:
            hint = "" if name == ID else ", which study.toml shows"
            raise InputError(f"{where}: there is no column {name!r}{hint}; found: {some(present)}")
    more = [name for name in present if name not in {ID, *expected}]
    if more:
        raise InputError(f"{where}: study.toml does not show {some(more)}; only what is shown may be in this file")
    if len(present) != 1 + len(expected):
        raise InputError(f"{where}: every column must be there once; found: {some(present)}")


def _rows(people: pa.Table, column: ShownColumn, words: Language, translated: Mapping[str, str]) -> list[Row]:
    """One row for each value; values that read the same share it, as there may be many people."""
    row_by_values: dict[tuple[str, str], Row] = {}
    values = people[column.alt or column.name].to_pylist()
    pictures = people[column.name].to_pylist() if column.alt else [""] * len(values)
    texts = (value_text(value, column.unit, words, translated) for value in values)
    both = zip(texts, (str(picture or "") for picture in pictures), strict=True)
    return [row_by_values.get(one) or row_by_values.setdefault(one, Row(column.label, *one)) for one in both]


def value_text(value: object, unit: str, words: Language, translated: Mapping[str, str] | None = None) -> str:
    """Return a value as it is read, if it is a word in another language.

    >>> from fairwise.study.texts import language
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


IMAGES = "images"
LARGEST = 1_000_000
"""Bytes: two of them are loaded with every pair, often on a phone."""

LONGEST_SIDE = 4096
"""Pixels: the whole picture is unpacked on the phone, four bytes for each of them, however small its file is."""

_KINDS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def media_type(content: bytes) -> str | None:
    """Return what kind of picture this is by its first bytes, whatever its name says; None if it is none.

    >>> media_type(bytes.fromhex("ffd8ffe0")), media_type(b"<svg onload=alert(1)>")
    ('image/jpeg', None)
    """
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _KINDS.items() if content.startswith(start)), None)


def size_of(content: bytes) -> tuple[int, int] | None:
    """Return the width and height that a picture is unpacked to, by its header; None if they cannot be read.

    >>> size_of(b"GIF89a" + bytes([0, 2, 1, 0, 0, 0, 0]) + b";")
    (512, 1)
    """
    read = _SIZES.get(media_type(content) or "")
    try:
        return None if read is None else read(content)
    except (struct.error, IndexError):  # it ends before
        return None


def _png_size(content: bytes) -> tuple[int, int] | None:
    length, kind, width, height = struct.unpack_from(">I4sII", content, 8)
    return (width, height) if (length, kind) == (13, b"IHDR") else None


def _jpeg_size(content: bytes) -> tuple[int, int] | None:
    """Size of the first frame, behind segments of any length and what decoders skip between them."""
    at = 2
    while (at := content.find(b"\xff", at)) >= 0:
        marker = content[at + 1]
        if marker == 0xFF:  # a marker may have any number of these before it
            at += 1
        elif marker in _JPEG_ALONE:
            at += 2
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return width, height
        else:
            at += 2 + struct.unpack_from(">H", content, at + 2)[0]
    return None


_JPEG_ALONE = {0x00, 0x01, *range(0xD0, 0xD9)}
_JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def _gif_size(content: bytes) -> tuple[int, int]:
    """Size of the screen, or of the first frame if larger, as browsers then enlarge the screen."""
    width, height, packed = struct.unpack_from("<HHB", content, 6)
    at = 13 + _colours(packed)
    while content[at] == 0x21:  # extensions come before the first frame
        at += 2
        while content[at]:
            at += 1 + content[at]
        at += 1
    if content[at] == 0x2C:
        x, y, frame_width, frame_height = struct.unpack_from("<HHHH", content, at + 1)
        width, height = max(width, x + frame_width), max(height, y + frame_height)
    return width, height


def _colours(packed: int) -> int:
    """Return the bytes of a GIF's table of colours."""
    return 3 << (packed & 7) + 1 if packed & 0x80 else 0


def _webp_size(content: bytes) -> tuple[int, int] | None:
    kind = content[12:16]
    if kind == b"VP8X":
        return tuple(1 + int.from_bytes(content[at : at + 3], "little") for at in (24, 27))  # type: ignore[return-value]
    if kind == b"VP8L" and content[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", content, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and content[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", content, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


_SIZES: Mapping[str, Callable[[bytes], tuple[int, int] | None]] = {
    "image/png": _png_size,
    "image/jpeg": _jpeg_size,
    "image/gif": _gif_size,
    "image/webp": _webp_size,
}


def check_pictures(folder: Path, cards: Mapping[str, Card], unknown: str, *, new: bool = False) -> frozenset[str]:
    """Return the names of all pictures of these people; each must be there, be a picture, and be told in words.

    ``unknown`` is what a card says where there are no words. Of a `new` study no picture may have too many pixels; the
    log warns of those of an existing one.
    """
    for person, card in cards.items():
        for row in card.rows:
            if row.picture and row.text == unknown:
                raise InputError(f"{folder}: person {person!r}: {row.label}: no words say what this picture shows")
    names = frozenset(names_of(cards.values()))
    for name in sorted(names):
        width, height = size_of(read_picture(folder, name)[0]) or (0, 0)
        if max(width, height) > LONGEST_SIDE:
            size = f"{width:,} × {height:,} pixels"
            problem = f"{folder / IMAGES / name}: {size}; at most {LONGEST_SIDE:,} × {LONGEST_SIDE:,}"
            if new:
                raise InputError(problem)
            _log.warning("%s are taken for new studies; phones may not show it", problem)
    return names


def names_of(cards: Iterable[Card]) -> set[str]:
    """Return the names of all pictures on these cards."""
    return {row.picture for card in cards for row in card.rows if row.picture}


def read_picture(folder: Path, name: str) -> tuple[bytes, str]:
    """Return the bytes of a picture of a study, and what kind it is."""
    file = folder / IMAGES / name
    if Path(name).name != name or name.startswith(".") or "\\" in name or not name.isprintable():
        raise InputError(f"{folder / IMAGES}: {name!r} is not the name of a file in this folder")
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file, and somebody's picture is to be there") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
    kind = media_type(content)
    if kind is None:
        raise InputError(f"{file}: not a picture; allowed: PNG, JPEG, GIF and WebP")
    if len(content) > LARGEST:
        raise InputError(f"{file}: larger than {LARGEST:,} bytes; two pictures are loaded with every pair")
    size = size_of(content)
    if size is None or 0 in size:
        raise InputError(f"{file}: not a whole picture; its width and height cannot be read")
    return content, kind


MEANINGS = {
    Answer.SAME: marked("Neither of the two may be treated better than the other."),
    Answer.A_AT_LEAST_B: marked(
        "Person A must not be treated worse than person B. They may be treated the same, or A better."
    ),
    Answer.B_AT_LEAST_A: marked(
        "Person B must not be treated worse than person A. They may be treated the same, or B better."
    ),
    Answer.NO_CONSTRAINT: marked("You ask for nothing here. A may be treated better, or B, or both the same."),
}

Say: TypeAlias = "Callable[[str], str]"  # into the language of a participant; `str` leaves it in English


def practice_pair(say: Say = str) -> tuple[Card, Card]:
    """Two made-up people, about whom nothing can be unfair."""
    fruit, shape, pets = say("Favourite fruit"), say("Favourite shape"), say("Pets")
    circle = Row(shape, say("Circle"))
    return (
        Card("practice-a", (Row(fruit, say("Apple")), circle, Row(pets, "2"))),
        Card("practice-b", (Row(fruit, say("Pear")), circle, Row(pets, "0"))),
    )


@dataclass(frozen=True)
class CheckQuestion:
    """A question of the comprehension check: the form field of its name must hold ``right``."""

    name: str
    text: str
    options: tuple[tuple[str, str], ...]
    """Value and words of each."""

    right: str
    meanings: Mapping[str, str]
    """Explanation of each value for people who chose a wrong one."""

    def explain(self, chosen: str | None) -> str:
        """Say what the chosen answer means; nothing if none was chosen."""
        return self.meanings.get(chosen or "", "")


def check_questions(settings: StudySettings, say: Say = str) -> tuple[CheckQuestion, ...]:
    """Two or three questions, by the answers that this study has."""
    buttons = tuple((answer.value, settings.words_of(answer)) for answer in settings.allowed_answers)
    meaning = say("“{words}” means: {meaning}")
    meanings = {
        answer.value: meaning.format(words=settings.words_of(answer), meaning=say(MEANINGS[answer]))
        for answer in settings.allowed_answers
    }
    ordered = CheckQuestion(
        "order",
        say("You want to say: person A must not be treated worse than person B. Which answer says this?"),
        buttons,
        Answer.A_AT_LEAST_B.value,
        meanings,
    )
    unordered = CheckQuestion(
        "either",
        say(
            "You want to say: I ask for nothing here, and one of the two may be treated better. Which answer says this?"
        ),
        buttons,
        Answer.NO_CONSTRAINT.value,
        meanings,
    )
    change = CheckQuestion(
        "change",
        say("Can you change an answer later?"),
        (("no", say("No, never")), ("yes", say("Yes, until I finish at the end"))),
        "yes",
        {"no": say("You can: go back to the pair, and press another button. That counts until you finish at the end.")},
    )
    return (ordered, unordered, change) if settings.answers == "four" else (unordered, change)
