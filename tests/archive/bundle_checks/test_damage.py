"""Whatever is damaged in a bundle is named, and no damage goes unnoticed."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.changed_bundles import changed, contents

from fairwise.archive.bundle import ANSWERS, read_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.bundled_study import Change


def file(name: str, data: bytes) -> Change:
    return lambda files: files.update({name: data})


def in_people(files: dict[str, bytes]) -> None:
    """An id that is no text."""
    people, damaged = pq.read_table(io.BytesIO(files["study/people.parquet"])), io.BytesIO()
    ids = [person.as_py().encode().replace(b"-7", b"\xe17") for person in people.column(0)]
    no_text = pa.array(ids, pa.binary()).view(pa.string())
    pq.write_table(people.set_column(0, people.column_names[0], no_text), damaged)
    files["study/people.parquet"] = damaged.getvalue()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (file(ANSWERS, b'a,b\n"unclosed\n1,2,3,4\n'), "answers.csv cannot be read as a table"),
        (file(ANSWERS, b"a,b\n1\n"), "answers.csv, row 2: 1 cells; needed: 2"),
        (file(ANSWERS, b""), "answers.csv is empty"),
        (file(ANSWERS, b"\xff\xfe,,,\n"), "answers.csv cannot be read as a table"),
        (file("study/people.parquet", b"PAR1"), "zip: study/people.parquet: cannot be read"),
        (in_people, "zip: study/people.parquet: cannot be read"),
        (file("study/study.toml", b"\xff"), "zip: study/study.toml: not text in UTF-8"),
        (file("study/consent.md", b"\xff"), "zip: study/consent.md: not text"),
        (lambda files: files.pop("study/study.toml"), "zip: study/study.toml: cannot be read: No such file"),
        (lambda files: files.pop("study/people.parquet"), "zip: study/people.parquet: there is no such file"),
        (lambda files: files.pop(ANSWERS), "answers.csv is missing"),
    ],
)
def test_a_damaged_file_is_named(bundle: Path, change: Change, said: str) -> None:
    with pytest.raises(InputError, match=said):
        verify_bundle(changed(bundle, change, forge=True))


def test_a_damaged_entry_is_named(bundle: Path, tmp_path: Path) -> None:
    data = bytearray(bundle.read_bytes())
    with zipfile.ZipFile(bundle) as archive:
        header = archive.getinfo(ANSWERS).header_offset
    start = header + 30 + sum(struct.unpack_from("<HH", data, header + 26))  # after the name and what is beside it
    data[start] ^= 0b110  # a kind of block that there is not
    (tmp_path / "damaged.zip").write_bytes(data)
    with pytest.raises(InputError, match=f"'{ANSWERS}' is damaged"):
        verify_bundle(tmp_path / "damaged.zip")


def flips(data: bytes) -> Iterator[bytes]:
    """Single bits, half of them where zip files say what is in them; and ends cut off."""
    chance, directory = random.Random(0), data.index(b"PK\x01\x02")
    for turn in range(600):
        flipped = bytearray(data)
        flipped[chance.randrange(directory if turn % 2 else 0, len(data))] ^= 1 << chance.randrange(8)
        yield bytes(flipped)
    for length in range(0, len(data), 199):
        yield data[:length]


def test_flipped_bits_and_missing_ends_are_refused_or_change_nothing(bundle: Path, tmp_path: Path) -> None:
    path, same = tmp_path / "flipped.zip", read_bundle(bundle)
    for data in flips(bundle.read_bytes()):
        path.write_bytes(data)
        with suppress(InputError):
            found = read_bundle(path)
            assert (contents(found), found.manifest) == (contents(same), same.manifest)
