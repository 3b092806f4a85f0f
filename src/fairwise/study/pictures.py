"""Pictures of people: files in the folder ``images`` of a study, each with words for those who do not see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from fairwise.errors import InputError
from fairwise.study.cards import Card

IMAGES = "images"
LARGEST = 1_000_000
"""Bytes: two of them are loaded with every pair, often on a phone."""

_KINDS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def media_type(content: bytes) -> str | None:
    """Return what kind of picture this is by its first bytes, whatever its name says; None if it is none.

    >>> media_type(bytes.fromhex("ffd8ffe0")), media_type(b"<svg onload=alert(1)>")
    ('image/jpeg', None)
    """
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _KINDS.items() if content.startswith(start)), None)


def check_pictures(folder: Path, cards: Mapping[str, Card], unknown: str) -> frozenset[str]:
    """Return the names of all pictures of these people; each must be there, be a picture, and be told in words.

    ``unknown`` is what a card says where there are no words.
    """
    for person, card in cards.items():
        for row in card.rows:
            if row.picture and row.text == unknown:
                raise InputError(f"{folder}: person {person!r}: {row.label}: no words say what this picture shows")
    names = frozenset(names_of(cards.values()))
    for name in sorted(names):
        read_picture(folder, name)
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
    return content, kind
