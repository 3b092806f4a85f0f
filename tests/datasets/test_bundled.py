import bz2
import hashlib
import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, fields, replace
from pathlib import Path

import pandas as pd
import pytest

from fairwise import datasets
from fairwise.datasets import card, load_adult, load_compas, load_german_credit
from fairwise.errors import FairwiseError, InputError

LARGEST = {"adult": 500_000, "compas": 30_000, "german_credit": 30_000}  # bytes
NAMES = list(LARGEST)


def bundled_bytes(name: str) -> bytes:
    return datasets.data_folder().joinpath(card(name).file).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_bundled_file_is_small_and_has_the_checksum_on_its_card(name: str) -> None:
    content = bundled_bytes(name)
    assert hashlib.sha256(content).hexdigest() == card(name).sha256
    assert len(content) < LARGEST[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_bundled_file_holds_nothing_but_the_columns_on_its_card(name: str) -> None:
    header = bz2.decompress(bundled_bytes(name)).decode().splitlines()[0].split(",")
    assert header == ["id", *(column.name for column in card(name).columns), card(name).outcome.name]


@pytest.mark.parametrize(
    ("name", "load"), [("adult", load_adult), ("compas", load_compas), ("german_credit", load_german_credit)]
)
def test_a_changed_file_is_refused(
    name: str, load: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = bz2.decompress(bundled_bytes(name)).replace(b",1\n", b",0\n", 1)
    (tmp_path / card(name).file).write_bytes(bz2.compress(text))
    monkeypatch.setattr(datasets, "data_folder", lambda: tmp_path)
    with pytest.raises(FairwiseError, match=rf"{card(name).file} is not the original.*install fairwise again"):
        load()


def test_a_missing_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "data_folder", lambda: tmp_path)
    with pytest.raises(FairwiseError, match=r"compas\.csv\.bz2 is missing; install fairwise again"):
        load_compas()


def test_the_message_names_both_checksums() -> None:
    other = replace(card("compas"), sha256="0" * 64)
    with pytest.raises(FairwiseError, match=f"{card('compas').sha256}, expected {'0' * 64}"):
        datasets.read_people_and_outcome(other)


def everyone_of_adult() -> tuple[pd.DataFrame, pd.Series]:
    parts = load_adult("train"), load_adult("test")
    return pd.concat([people for people, _ in parts]), pd.concat([outcome for _, outcome in parts])


LOADERS: dict[str, Callable[[], tuple[pd.DataFrame, pd.Series]]] = {
    "adult": everyone_of_adult,
    "compas": load_compas,
    "german_credit": load_german_credit,
}
AMOUNTS = ["amount_dm", "capital_gain", "capital_loss", "census_weight", "hours_per_week"]
COULD_IDENTIFY = (
    "name",
    "first",
    "last",
    "dob",
    "birth",
    "date",
    "case",
    "number",
    "address",
    "jail",
    "custody",
)


@pytest.mark.parametrize("name", LOADERS)
def test_a_card_is_complete(name: str) -> None:
    facts = card(name)
    for field in fields(facts):
        assert getattr(facts, field.name) not in ("", (), None) or field.name == "favorable_label"
    for column in (*facts.columns, facts.outcome):
        assert column.meaning.strip()
        assert "\n" not in column.meaning
    assert all(caveat.endswith(".") for caveat in facts.caveats)
    assert len(facts.sha256) == len(facts.raw_sha256) == 64


@pytest.mark.parametrize("name", LOADERS)
def test_a_card_matches_its_table(name: str) -> None:
    facts = card(name)
    people, outcome = LOADERS[name]()
    assert facts.name == name
    assert len(people) == facts.rows
    assert list(people.columns) == [column.name for column in facts.columns]
    assert outcome.name == facts.outcome.name
    assert facts.favorable_label in set(outcome)


@pytest.mark.parametrize("name", LOADERS)
def test_no_column_could_identify_someone(name: str) -> None:
    people, _ = LOADERS[name]()
    words = {word for column in people.columns for word in column.split("_")}
    assert words.isdisjoint(COULD_IDENTIFY)
    # A name, a case or a date would take nearly as many values as there are people.
    for column in people.columns.difference(AMOUNTS):
        assert people[column].nunique() < 80


def test_the_favourable_label_is_the_good_outcome() -> None:
    assert card("adult").favorable_label == 1
    assert card("compas").favorable_label == 0
    assert card("german_credit").favorable_label == 1


def test_a_card_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        card("compas").rows = 7214  # type: ignore[misc]


def test_a_card_can_be_written_as_json() -> None:
    assert json.loads(json.dumps(asdict(card("compas"))))["columns"][1]["name"] == "age"


def test_an_unknown_dataset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="no bundled dataset 'iris'; allowed: 'adult', 'compas', 'german_credit'"):
        card("iris")
