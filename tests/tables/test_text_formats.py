"""Files as spreadsheet programs save them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fairwise.errors import InputError
from fairwise.tables.files import PeopleFile, detect_decimal, typed, with_plain_numbers
from fairwise.tables.look import detect_encoding, write_as_utf8

TEXT = "nr;Straße;Note\r\n1;Höhenweg;2,5\r\n2;Gäßchen;1.203,75\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_text_is_read_whatever_its_encoding(tmp_path: Path, encoding: str) -> None:
    file, target = tmp_path / "people.csv", tmp_path / "plain.csv"
    file.write_bytes(TEXT.encode(encoding))
    found = detect_encoding(file)
    assert found == ("utf-8" if encoding == "utf-8-sig" else encoding)
    write_as_utf8(file, found, target)
    people = PeopleFile.read(target, "nr", separator=";", decimal=",").table
    assert people["Straße"].tolist() == ["Höhenweg", "Gäßchen"]
    assert people["Note"].tolist() == [2.5, 1203.75]


def test_what_an_encoding_has_no_letter_for_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(b"a\n\x81\n")
    with pytest.raises(InputError, match=r"people.csv: cannot be read as Windows-1252"):
        write_as_utf8(file, "cp1252", tmp_path / "plain.csv")


@pytest.mark.parametrize(
    ("cells", "decimal"),
    [
        (["1,5", "2"], ","),
        (["0,125", ""], ","),
        (["1,234", "2,345"], "."),  # thousands, as far as anybody can tell
        (["1.5", "2"], "."),
        (["1,5", "high"], "."),
        (["Ulm, Nord"], "."),
    ],
)
def test_the_decimal_sign_is_found(cells: list[str], decimal: str) -> None:
    assert detect_decimal(pd.DataFrame({"text": ["x"] * len(cells), "number": cells})) == decimal


@pytest.mark.parametrize(
    ("cells", "decimal", "numbers"),
    [
        (["1,5", " 2 ", "-0,25"], ",", [1.5, 2, -0.25]),
        (["1.234", "5.678,5"], ",", [1234, 5678.5]),
        (["1,234", "5,678.5"], ".", [1234, 5678.5]),
        (["1.5", "2.25"], ",", [1.5, 2.25]),  # no thousands: as it stands
    ],
)
def test_numbers_are_read_with_either_sign(cells: list[str], decimal: str, numbers: list[float]) -> None:
    assert typed(pd.Series(cells), decimal).tolist() == numbers


def test_what_is_not_all_numbers_stays_text() -> None:
    codes = pd.Series(["01,5", "1,5"])
    assert with_plain_numbers(codes, ",").tolist() == codes.tolist()
