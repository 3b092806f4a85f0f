"""A study folder is read as a whole, and what is wrong with it is said in one line."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.errors import InputError
from fairwise.study.cards import Card, Row, value_text
from fairwise.study.folder import StudyFolder
from fairwise.study.settings import ShownColumn, StudySettings
from fairwise.study.texts import language

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SETTINGS = StudySettings(
    title="t",
    pairs=2,
    columns=(ShownColumn(name="income", label="Income", unit="euros"), ShownColumn(name="town", label="Town")),
)
PEOPLE: dict[str, list[Any]] = {"id": ["01", "1", "x"], "town": ["Aa", None, "<b>"], "income": [12000.0, None, 0.5]}


def put_people(folder: Path, **changed: list[Any]) -> None:
    pq.write_table(pa.table({**PEOPLE, **changed}), folder / "people.parquet")


def put_settings(folder: Path, **changed: Any) -> None:
    settings = StudySettings.model_validate({**SETTINGS.model_dump(), **changed})
    (folder / "study.toml").write_text(settings.toml(), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put_settings(tmp_path)
    put_people(tmp_path)
    (tmp_path / "consent.md").write_text("# Consent\n[FILL IN: who]\n", encoding="utf-8")
    (tmp_path / "task.md").write_text("Look.\n", encoding="utf-8")
    (tmp_path / "secret.key").write_bytes(bytes(32))
    pq.write_table(pa.table({"id": ["x", "1", "01"], "good": [3, 2, 1]}), tmp_path / "outcome.parquet")
    return tmp_path


def test_a_study_that_is_in_order(folder: Path) -> None:
    study = StudyFolder.open(str(folder))
    assert study.path == folder
    assert study.settings == SETTINGS
    assert study.secret == bytes(32)
    assert study.person_ids == ("01", "1", "x")
    assert study.cards["01"] == Card("01", (Row("Income", "12000 euros"), Row("Town", "Aa")))
    assert [row.text for row in study.cards["1"].rows] == ["not known", "not known"]
    assert [row.text for row in study.cards["x"].rows] == ["0.5 euros", "<b>"]  # escaping is the page's business
    assert study.first.consent_html == "<h2>Consent</h2>\n<p>[FILL IN: who]</p>\n"
    assert study.first.task_html == "<p>Look.</p>\n"
    assert study.consent_version == hashlib.sha256((folder / "consent.md").read_bytes()).hexdigest()[:16]
    assert study.unfinished == ("consent.md: [FILL IN: who]",)
    assert len(study.schedule(3, slot=0)) == 2


def test_outcomes_are_in_the_order_of_the_people(folder: Path) -> None:
    outcome = StudyFolder.open(folder).outcome()
    assert outcome.to_dict() == {"01": 1, "1": 2, "x": 3}
    assert list(outcome.index) == ["01", "1", "x"]
    assert outcome.name == "good"


def test_a_study_opens_without_looking_at_outcomes(folder: Path) -> None:
    (folder / "outcome.parquet").write_bytes(b"not to be read")
    study = StudyFolder.open(folder)
    with pytest.raises(InputError, match=r"outcome.parquet: cannot be read as Parquet"):
        study.outcome()
    pq.write_table(pa.table({"id": ["x", "1"], "good": [3, 2]}), folder / "outcome.parquet")
    with pytest.raises(InputError, match=r"outcome.parquet: its people are not those of people.parquet"):
        study.outcome()
    pq.write_table(pa.table({"id": ["x"]}), folder / "outcome.parquet")
    with pytest.raises(InputError, match=r"needed: a column 'id' and one of outcomes; found: 'id'"):
        study.outcome()
    (folder / "outcome.parquet").unlink()
    with pytest.raises(InputError, match="this study was made without --outcome"):
        StudyFolder.open(folder).outcome()


CHANGES: dict[str, Callable[[Path], None]] = {
    "the answers": lambda folder: put_settings(folder, answers="two"),
    "the seed": lambda folder: put_settings(folder, seed=1),
    "an id": lambda folder: put_people(folder, id=["01", "1", "y"]),
    "a value": lambda folder: put_people(folder, town=["Aa", "Ab", "<b>"]),
    "the order of people": lambda folder: put_people(folder, **{name: values[::-1] for name, values in PEOPLE.items()}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_fingerprint_tells_studies_apart(folder: Path, change: Callable[[Path], None]) -> None:
    before = StudyFolder.open(folder)
    change(folder)
    after = StudyFolder.open(folder)
    assert after.fingerprint != before.fingerprint
    assert after.consent_version == before.consent_version


def test_words_and_the_secret_are_not_part_of_the_fingerprint(folder: Path) -> None:
    before = StudyFolder.open(folder)
    pay = [{"name": "income", "label": "Pay", "unit": "euros"}, {"name": "town", "label": "Town"}]
    put_settings(folder, title="Another title", question="Another question?", columns=pay)
    (folder / "consent.md").write_text("Other words.", encoding="utf-8")
    (folder / "secret.key").write_bytes(bytes(range(40)))
    after = StudyFolder.open(folder)
    assert after.fingerprint == before.fingerprint
    assert after.consent_version != before.consent_version


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "no settings": (lambda folder: (folder / "study.toml").unlink(), "study.toml: cannot be read"),
    "no consent": (lambda folder: (folder / "consent.md").unlink(), "consent.md: there is no such file"),
    "empty task": (lambda folder: (folder / "task.md").write_text("\n"), "task.md: empty"),
    "no secret": (lambda folder: (folder / "secret.key").unlink(), "secret.key: there is no such file"),
    "short secret": (
        lambda folder: (folder / "secret.key").write_bytes(b"abc"),
        "secret.key: 3 bytes; needed: at least 32 random bytes",
    ),
    "no people": (lambda folder: (folder / "people.parquet").unlink(), "people.parquet: there is no such file"),
    "damaged people": (
        lambda folder: (folder / "people.parquet").write_bytes(b"PAR1 and so on"),
        "people.parquet: cannot be read as Parquet",
    ),
    "a column that is not there": (
        lambda folder: put_settings(folder, columns=[{"name": "height", "label": "Height"}]),
        "people.parquet: there is no column 'height', which study.toml shows; found: 'id', 'town', 'income'",
    ),
    "a column that is not shown": (
        lambda folder: put_people(folder, good=[0, 1, 1]),
        "people.parquet: study.toml does not show 'good'; only what is shown may be in this file",
    ),
    "the id as a column": (
        lambda folder: put_settings(
            folder, columns=[{"name": name, "label": name} for name in ("id", "town", "income")]
        ),
        "people.parquet: every column must be there once",
    ),
    "no ids": (
        lambda folder: pq.write_table(pa.table({"town": ["a"], "income": [1]}), folder / "people.parquet"),
        "people.parquet: there is no column 'id'; found: 'town', 'income'",
    ),
    "an id twice": (
        lambda folder: put_people(folder, id=["1", "2", "1"]),
        "people.parquet, column id: '1' is there more than once",
    ),
    "ids that are numbers": (
        lambda folder: put_people(folder, id=[1, 2, 3]),
        "people.parquet, column id: every id must be a text",
    ),
    "a missing id": (
        lambda folder: put_people(folder, id=["1", None, "3"]),
        "people.parquet, column id: every id must be a text",
    ),
    "nobody": (
        lambda folder: put_people(folder, id=pa.array([], pa.string()), town=[], income=[]),
        "study.toml: at least two people must differ in what is shown",
    ),
    "all alike": (
        lambda folder: put_people(folder, town=["a"] * 3, income=[1.0] * 3),
        "study.toml: at least two people must differ in what is shown",
    ),
    "too few pairs": (
        lambda folder: put_settings(folder, pairs=4),
        "study.toml: 4 pairs wanted, but only 3 pairs of people differ in what is shown; ask for at most 3",
    ),
}


@pytest.mark.parametrize(("spoil", "part"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_in_one_line(folder: Path, spoil: Callable[[Path], object], part: str) -> None:
    spoil(folder)
    with pytest.raises(InputError) as caught:
        StudyFolder.open(folder)
    assert str(caught.value).startswith(f"{folder}/{part}")
    assert "\n" not in str(caught.value)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: there is no such folder; make a study with: fairwise study new"):
        StudyFolder.open(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3 kg"),
        (-0.0, "0 kg"),
        (1234567.0, "1234567 kg"),
        (1e16, "10000000000000000 kg"),
        (0.1, "0.1 kg"),
        (1e-7, "0.0000001 kg"),
        (12345, "12345 kg"),
        (True, "yes kg"),
        (False, "no kg"),
        ("  Aa ", "Aa kg"),
        ("0", "0 kg"),
        ("", "not known"),
        (" ", "not known"),
        (None, "not known"),
        (float("nan"), "not known"),
    ],
)
def test_values_as_they_are_read(value: object, text: str) -> None:
    assert value_text(value, "kg", language("en")) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_shown_plainly_and_exactly(number: float) -> None:
    text = value_text(number, "", language("en"))
    assert float(text) == number
    assert "e" not in text
    assert not text.endswith(".")
    assert "." not in text or not text.endswith("0")
