"""Pictures of people: made part of a study with their words, shown to those who compare them, and to nobody else."""

from __future__ import annotations

import io
import random
import struct
from typing import TYPE_CHECKING, Any

import pandas as pd
import PIL.Image
import pytest
from tests.support.changed_bundles import changed
from tests.support.visits import visiting

from fairwise.archive.bundle import read_bundle, write_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.study.cards import LARGEST, LONGEST_SIDE, media_type, size_of
from fairwise.study.folder import StudyFolder
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from pathlib import Path


def png(width: int, height: int) -> bytes:
    """As much of one as tells its size."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


PNG = png(200, 100)
WIDE = LONGEST_SIDE + 1
CHOICES = {"title": "Faces", "pairs": 2, "practice": False, "pictures": {"photo": "photo_text"}}


def write_people(folder: Path, **changed: str) -> Path:
    """Five people with a picture each, of whom one may be another than usual."""
    (folder / "images").mkdir(exist_ok=True)
    rows = [
        {"id": f"p{k}", "photo": f"face {k}.png", "photo_text": f"A face, number {k}", "age": 20 + k} for k in range(5)
    ]
    for row in rows:
        (folder / "images" / str(row["photo"])).write_bytes(PNG + str(row["id"]).encode())
    rows[0] |= changed
    pd.DataFrame(rows).to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


def make(folder: Path, **changed: str) -> StudyFolder:
    people = PeopleFile.read(write_people(folder, **changed), "id")
    return new_study(folder / "study", people, ["photo", "age"], CHOICES)


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    return make(tmp_path)


def test_pictures_come_with_their_words_and_nothing_is_learned_from_them(study: StudyFolder) -> None:
    row = study.cards["p3"].rows[0]
    assert (row.label, row.text, row.picture) == ("Photo", "A face, number 3", "face 3.png")
    assert study.pictures == {f"face {k}.png" for k in range(5)}
    assert (study.path / "images" / "face 3.png").read_bytes() == PNG + b"p3"
    assert list(study.people().columns) == ["age"]


def test_a_participant_sees_the_pictures_of_their_own_pairs_alone(study: StudyFolder, tmp_path: Path) -> None:
    with visiting(study, tmp_path / "study.sqlite") as visit:
        mine = visit.begin()
        pages = "".join(visit.get(f"{mine}/pair/{number}").text for number in (1, 2))
        for k in range(5):
            answer = visit.get(f"{mine}/picture/face%20{k}.png")
            shown = f'src="{mine}/picture/face%20{k}.png" alt="A face, number {k}"' in pages
            assert answer.status_code == (200 if shown else 404)
            if shown:
                assert answer.content == PNG + f"p{k}".encode()
                assert answer.headers["content-type"] == "image/png"
                assert answer.headers["x-content-type-options"] == "nosniff"
        assert visit.get("/p/somebody/picture/face%200.png").status_code == 404


@pytest.mark.parametrize("name", ["secret.key", "../secret.key", "..%2Fsecret.key", "%2e%2e%2fpeople.parquet", ".", ""])
def test_no_other_file_is_served(study: StudyFolder, tmp_path: Path, name: str) -> None:
    with visiting(study, tmp_path / "study.sqlite") as visit:
        answer = visit.get(f"{visit.begin()}/picture/{name}")
        assert answer.status_code == 404
        assert study.secret not in answer.content


@pytest.mark.parametrize(
    ("changed", "content", "part"),
    [
        ({"photo": "none.png"}, None, "none.png: there is no such file"),
        ({"photo": "../people.csv"}, None, "'../people.csv' is not the name of a file in this folder"),
        ({"photo": ".hidden"}, PNG, "'.hidden' is not the name of a file"),
        ({"photo": "x.png"}, b"<svg onload='alert(1)'/>", "x.png: not a picture; allowed: PNG, JPEG, GIF and WebP"),
        ({"photo": "x.png"}, PNG + bytes(LARGEST), "x.png: larger than 1,000,000 bytes"),
        ({"photo": "x.png"}, png(50_000, 50_000), "x.png: 50,000 × 50,000 pixels; at most 4,096 × 4,096"),
        ({"photo": "x.png"}, png(1, WIDE), "x.png: 1 × 4,097 pixels; at most"),
        ({"photo": "x.png"}, png(0, 5), "x.png: not a whole picture; its width and height cannot be read"),
        ({"photo": "x.png"}, PNG[:20], "x.png: not a whole picture"),
        ({"photo": "x.jpg"}, b"\xff\xd8\xff\xe0", "x.jpg: not a whole picture"),
        ({"photo_text": ""}, None, "person 'p0': Photo: no words say what this picture shows"),
    ],
)
def test_what_cannot_be_shown_is_refused(tmp_path: Path, changed: Any, content: bytes | None, part: str) -> None:
    (tmp_path / "images").mkdir()
    if content is not None:
        (tmp_path / "images" / changed["photo"]).write_bytes(content)
    with pytest.raises(InputError) as caught:
        make(tmp_path, **changed)
    assert part in str(caught.value)
    assert not (tmp_path / "study").exists()


def test_bundles_hold_them(study: StudyFolder, tmp_path: Path) -> None:
    with visiting(study, tmp_path / "study.sqlite") as visit:
        visit.begin()
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    files = read_bundle(tmp_path / "bundle.zip").study_files()
    assert b"".join(files["images/face 2.png"]) == PNG + b"p2"


def test_kinds() -> None:
    starts = [PNG, b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF....WEBPVP8 ", b"<!DOCTYPE html>", b"RIFF....WAVE", b""]
    kinds = [media_type(start) for start in starts]
    assert kinds == ["image/png", "image/jpeg", "image/gif", "image/webp", None, None, None]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True, "comment": b"\xff\xc0" * 40, "exif": b"Exif\0\0" + b"\xff\xc0\x00\x11" * 99}),
        ("GIF", {}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"exif": b"Exif\0\0" + bytes(50)}),
    ],
)
def test_sizes_are_those_that_decoders_find(kind: str, options: dict[str, Any], seed: int) -> None:
    chance = random.Random(seed)
    size = chance.randint(1, 700), chance.randint(1, 700)
    written = io.BytesIO()
    PIL.Image.new(chance.choice(["RGB", "L"]), size, 7).save(written, kind, **options)
    assert size_of(written.getvalue()) == size
    for cut in range(40):  # a broken one is no bug
        size_of(written.getvalue()[:cut])


def test_a_large_frame_in_a_small_gif_is_found() -> None:
    comment = b"!\xfe" + b"\x02hi" + b"\x00"
    frame = b"," + struct.pack("<HHHH", 5, 0, 60_000, 3)
    for packed, colours in ((0, b""), (0x81, bytes(12))):
        assert size_of(b"GIF89a" + struct.pack("<HHB", 4, 4, packed) + b"\0\0" + colours + comment + frame) == (
            60_005,
            4,
        )


def test_a_study_with_a_large_picture_opens_with_a_warning(
    study: StudyFolder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with visiting(study, tmp_path / "study.sqlite") as visit:
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    large = {"study/images/face 2.png": png(WIDE, WIDE)}
    forged = changed(tmp_path / "bundle.zip", lambda files: files.update(large), forge=True)
    verify_bundle(forged)
    (study.path / "images" / "face 2.png").write_bytes(png(WIDE, WIDE))
    assert "face 2.png" in StudyFolder.open(study.path).pictures
    assert caplog.text.count("face 2.png: 4,097 × 4,097 pixels; at most 4,096 × 4,096 are taken for new studies") == 2
