import json
from dataclasses import FrozenInstanceError, asdict, fields

import pytest

from fairwise.datasets import card, load_compas, load_german_credit
from fairwise.errors import InputError

LOADERS = {"compas": load_compas, "german_credit": load_german_credit}
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
    for column in people.columns.difference(["amount_dm"]):
        assert people[column].nunique() < 80


def test_the_favourable_label_is_the_good_outcome() -> None:
    assert card("compas").favorable_label == 0
    assert card("german_credit").favorable_label == 1


def test_a_card_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        card("compas").rows = 7214  # type: ignore[misc]


def test_a_card_can_be_written_as_json() -> None:
    assert json.loads(json.dumps(asdict(card("compas"))))["columns"][1]["name"] == "age"


def test_an_unknown_dataset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="no bundled dataset 'adult'; allowed: 'compas', 'german_credit'"):
        card("adult")
