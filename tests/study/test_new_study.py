"""A study appears whole or not at all, and the outcome is in one file only."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from fairwise.errors import InputError
from fairwise.study.folder import StudyFolder
from fairwise.study.new_study import new_study, random_seed, readable
from fairwise.study.texts import consent_draft, language, task_draft
from fairwise.tables.files import PeopleFile

CHOICES = {"title": "A study", "pairs": 2}
FILES = {"study.toml", "consent.md", "task.md", "people.parquet", "secret.key"}


def people_of(folder: Path, table: dict[str, list[Any]], kind: str = "csv") -> PeopleFile:
    file = folder / f"people.{kind}"
    frame = pd.DataFrame(table)
    if kind == "csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_parquet(file)
    return PeopleFile.read(file, "id")


@pytest.fixture
def people(tmp_path: Path) -> PeopleFile:
    table: dict[str, list[Any]] = {
        "id": ["012", "12", "x"],
        "age": [30, 40, 30],
        "town": ["Aa", "Be", "Be"],
        "good": [0, 1, 1],
    }
    return people_of(tmp_path, table)


def left_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_the_files(tmp_path: Path, people: PeopleFile) -> None:
    home = tmp_path / "study"
    home.mkdir()  # empty
    new_study(home, people, ["town", "age"], CHOICES, outcome="good")
    assert left_in(home) == FILES | {"outcome.parquet"}
    assert left_in(tmp_path) == {"people.csv", "study"}
    shown = pq.read_table(home / "people.parquet")
    assert shown.column_names == ["id", "town", "age"]
    assert shown["id"].to_pylist() == ["012", "12", "x"]
    assert pq.read_table(home / "outcome.parquet").to_pydict() == {"id": ["012", "12", "x"], "good": [0, 1, 1]}
    for name in ("secret.key", "outcome.parquet"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert len((home / "secret.key").read_bytes()) == 32


def test_a_seed_is_drawn_that_nobody_guesses_unless_one_is_given(
    tmp_path: Path, people: PeopleFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairwise.study.new_study.random_seed", random_seed)
    drawn = [new_study(tmp_path / name, people, ["age", "town"], CHOICES).settings.seed for name in "abcdef"]
    assert len(set(drawn)) == len(drawn)
    assert 2**40 < max(drawn) < 2**63
    given = new_study(tmp_path / "given", people, ["age", "town"], CHOICES | {"seed": 2**63 - 1})
    assert given.settings.seed == 2**63 - 1
    assert len(given.schedule(1, slot=0)) == CHOICES["pairs"]


def test_secrets_differ_and_studies_without_outcome_have_no_such_file(tmp_path: Path, people: PeopleFile) -> None:
    one, two = (new_study(tmp_path / name, people, ["age", "town"], CHOICES) for name in ("one", "two"))
    assert one.secret != two.secret
    assert one.fingerprint == two.fingerprint
    assert left_in(one.path) == FILES


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_outcome_is_in_no_file_but_its_own(tmp_path: Path, kind: str) -> None:
    outcome, hidden = ["ZQOUTCOMEYES", "ZQOUTCOMENO"], "ZQHIDDENVALUE"
    rng = np.random.default_rng(0)
    table = {
        "id": [f"person{number}" for number in range(40)],
        "ZQOUTCOMENAME": [outcome[number] for number in rng.integers(0, 2, 40)],
        "age": rng.integers(20, 60, 40).tolist(),
        "ZQHIDDENNAME": [hidden] * 40,
    }
    people = people_of(tmp_path, table, kind)
    made = new_study(tmp_path / "study", people, ["age"], CHOICES, outcome="ZQOUTCOMENAME")
    holding = {
        file.name: [word for word in ("ZQOUTCOMENAME", *outcome, "ZQHIDDEN") if word.encode() in file.read_bytes()]
        for file in made.path.iterdir()
    }
    assert holding.pop("outcome.parquet") == ["ZQOUTCOMENAME", *outcome]
    assert set(holding) == FILES
    assert not any(holding.values())
    assert "ZQ" not in repr(made)  # nor in anything that is held while a study runs
    for name in FILES - {"study.toml", "consent.md", "task.md", "secret.key"}:  # Parquet may compress
        assert "ZQ" not in str(pq.read_table(made.path / name).to_pydict()) + str(pq.read_schema(made.path / name))


def test_the_outcome_is_refused_among_what_is_shown(tmp_path: Path, people: PeopleFile) -> None:
    with pytest.raises(InputError, match=r"people.csv, column good: this is the outcome, which participants never see"):
        new_study(tmp_path / "study", people, ["age", "good"], CHOICES, outcome="good")
    with pytest.raises(InputError, match=r"column id: this is the id, which participants never see"):
        new_study(tmp_path / "study", people, ["age", "id"], CHOICES)
    assert left_in(tmp_path) == {"people.csv"}


def test_the_outcome_under_another_name_is_refused(tmp_path: Path) -> None:
    result = np.random.default_rng(0).integers(0, 2, 30)
    table = {
        "id": list(range(30)),
        "age": list(range(30)),
        "again": np.where(result, "back", "away").tolist(),
        "only": [word or None for word in np.where(result, "back", "").tolist()],
        "nearly": [*result[:-1].tolist(), 1 - int(result[-1])],
        "good": result.tolist(),
    }
    people = people_of(tmp_path, table)
    for name in ("again", "only"):
        with pytest.raises(InputError, match=rf"column {name}: this tells everyone's outcome, 'good', which"):
            new_study(tmp_path / "study", people, ["age", name], CHOICES, outcome="good")
    new_study(tmp_path / "study", people, ["age", "nearly"], CHOICES, outcome="good")


def people_with(folder: Path, good: list[Any], **columns: list[Any]) -> PeopleFile:
    numbers = list(range(len(good)))
    return people_of(folder, {"id": numbers, "age": [20 + 7 * n % 31 for n in numbers], "good": good, **columns})


def test_a_column_that_tells_the_outcome_by_one_threshold_is_refused(tmp_path: Path) -> None:
    good = [0, 1] * 8
    above = [result + number / 1000 for number, result in enumerate(good)]
    columns: dict[str, list[Any]] = {
        "above": above,
        "below": [-10 * result - number % 3 for number, result in enumerate(good)],
        "known": [*above, None, None],
    }
    for name, values in columns.items():
        people = people_with(tmp_path, good if len(values) == 16 else [*good, 0, 1], **{name: values})
        with pytest.raises(InputError, match=rf"column {name}: everyone with good = [01] .* one threshold tells the"):
            new_study(tmp_path / "study", people, ["age", name], CHOICES, outcome="good")
    assert left_in(tmp_path) == {"people.csv"}


def test_a_column_that_only_points_to_the_outcome_is_shown(tmp_path: Path) -> None:
    good = [0, 1] * 8
    shown: dict[str, list[Any]] = {
        "touching": [5 if number < 2 else 9 * result for number, result in enumerate(good)],
        "words": ["late" if result else "early" for result in good],
        "few": [result + 0.1 for result in good[:15]],  # seven of one outcome
    }
    for name, values in shown.items():
        people = people_with(tmp_path, good[: len(values)], **{name: values})
        new_study(tmp_path / name, people, ["age", name], CHOICES, outcome="good")


@pytest.mark.parametrize(
    ("show", "choices", "part"),
    [
        (["height"], {}, "people.csv: there is no column 'height'"),
        (["age", "age"], {}, "study: two columns have the name 'age'"),
        ([], {}, "study: columns = []: "),
        (["age"], {"title": ""}, "study: title = '': "),
        (["age"], {"pairs": 3}, "people.csv: 3 pairs wanted, but only 2 pairs of people differ in what is shown"),
    ],
)
def test_refused_and_nothing_left(
    tmp_path: Path, people: PeopleFile, show: list[str], choices: dict[str, Any], part: str
) -> None:
    with pytest.raises(InputError) as caught:
        new_study(tmp_path / "study", people, show, {**CHOICES, **choices})
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert left_in(tmp_path) == {"people.csv"}


def test_people_who_all_look_the_same_are_refused(tmp_path: Path) -> None:
    people = people_of(tmp_path, {"id": [1, 2], "age": [30, 30]})
    with pytest.raises(InputError, match=r"people.csv: at least two people must differ in what is shown"):
        new_study(tmp_path / "study", people, ["age"], CHOICES)


def test_a_column_called_id_that_is_not_the_id(tmp_path: Path) -> None:
    pd.DataFrame({"person": [1, 2], "id": [3, 4], "age": [5, 6]}).to_csv(tmp_path / "people.csv", index=False)
    people = PeopleFile.read(tmp_path / "people.csv", "person")
    for show, outcome in ((["id"], None), (["age"], "id")):
        with pytest.raises(InputError, match=r"column id: this name is kept for people's ids"):
            new_study(tmp_path / "study", people, show, {"title": "t", "pairs": 1}, outcome=outcome)


def test_places_where_no_study_can_be(tmp_path: Path, people: PeopleFile, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for folder, part in [
        (tmp_path / "full", "is not empty; a study needs a folder of its own"),
        (tmp_path / "people.csv", "is a file; a study is a folder"),
        (tmp_path / "no" / "study", "there is no such folder; make it first"),
        (Path(), "is the folder you are in"),
    ]:
        with pytest.raises(InputError, match=part):
            new_study(folder, people, ["age"], CHOICES)
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"
    assert left_in(tmp_path) == {"people.csv", "full", "here"}


@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_stopped_half_way_nothing_is_left(
    tmp_path: Path, people: PeopleFile, monkeypatch: pytest.MonkeyPatch, stop: BaseException
) -> None:
    def broken(*_: object) -> None:
        raise stop

    monkeypatch.setattr("fairwise.study.new_study.secrets.token_bytes", broken)
    with pytest.raises(InputError if isinstance(stop, OSError) else KeyboardInterrupt) as caught:
        new_study(tmp_path / "study", people, ["age"], CHOICES)
    assert isinstance(stop, KeyboardInterrupt) or "cannot be written: No space left on device" in str(caught.value)
    assert left_in(tmp_path) == {"people.csv"}


def test_every_kind_of_column_can_be_shown(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "id": [1.0, 2.0],
            "half": np.array([0.1, np.nan], dtype=np.float32),
            "maybe": pd.array([0.5, None], dtype="Float32"),
            "count": pd.array([2**60 + 1, None], dtype="Int64"),
            "truth": pd.array([True, None], dtype="boolean"),
            "word": ["TRUE", "False "],
            "kind": pd.Categorical(["a", None]),
            "day": pd.Series(["2024-02-29", None], dtype="datetime64[ns]"),
            "code": ["007", "  "],
        }
    )
    frame.to_parquet(tmp_path / "people.parquet")
    people = PeopleFile.read(tmp_path / "people.parquet", "id")
    made = new_study(tmp_path / "study", people, list(frame.columns[1:]), {"title": "t", "pairs": 1})
    full, empty = made.cards["1"], made.cards["2"]
    assert [row.text for row in full.rows] == [
        *("0.1", "0.5", "1152921504606846977", "yes", "yes", "a", "2024-02-29", "007")
    ]
    assert [row.text for row in empty.rows] == ["not known"] * 4 + ["no"] + ["not known"] * 3


def test_labels_are_readable_and_differ(tmp_path: Path) -> None:
    names = ["juv_fel_count", "c.charge-degree", "firstName", "ÄgeGroup", "a_b", "a b", "__", "IQ"]
    assert [readable(name) for name in names] == [
        *("Juv fel count", "C charge degree", "First name", "Äge group", "A b", "A b", "__", "IQ")
    ]
    people = people_of(tmp_path, {"id": [1, 2], "a_b": [1, 2], "a b": [1, 1]})
    made = new_study(tmp_path / "study", people, ["a_b", "a b"], {"title": "t", "pairs": 1})
    assert [column.label for column in made.settings.columns] == ["a_b", "a b"]


def test_the_texts_say_what_they_must_and_nothing_about_fairness(tmp_path: Path, people: PeopleFile) -> None:
    made = new_study(tmp_path / "study", people, ["age"], CHOICES)
    assert [mark.split(":")[0] for mark in made.unfinished] == ["consent.md", "consent.md", "task.md"]
    for words in ("who is asking", "IP address are not kept", "stop at any time", "withdraw at any time", "deleted"):
        assert words in " ".join(consent_draft(language("en")).split())
    for guidance in ("fair", "equal", "discriminat", "bias", "justice", "race", "deserve", "should"):
        assert guidance not in task_draft(language("en")).lower()
    assert "two people at a time" in made.first.task_html


def test_what_was_made_opens_again(tmp_path: Path, people: PeopleFile) -> None:
    made = new_study(tmp_path / "study", people, ["town", "age"], CHOICES, outcome="good")
    again = StudyFolder.open(made.path)
    assert again.cards == made.cards
    assert (again.settings, again.secret, again.fingerprint) == (made.settings, made.secret, made.fingerprint)
