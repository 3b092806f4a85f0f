"""Pictures of people: files in the folder ``images`` of a study, each with words for those who do not see it."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from fairwise.errors import InputError
from fairwise.study.cards import Card

_log = logging.getLogger("fairwise")
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

    ``unknown`` is what a card says where there are no words. Of a `new` study no picture may have too many pixels; in
    one that is there already the log warns of them.
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
