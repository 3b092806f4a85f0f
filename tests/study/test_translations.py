"""A study in several languages: each has its own texts and words, and what is not translated is said."""

from __future__ import annotations

import hashlib
import tomllib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from fairwise.errors import InputError, some
from fairwise.judgments import Answer
from fairwise.study.cards import Row
from fairwise.study.folder import StudyFolder
from fairwise.study.settings import StudySettings
from fairwise.study.texts import available
from fairwise.study.translations import draft, translated, words_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS = [{"name": "age", "label": "Age", "unit": "years"}, {"name": "home town", "label": "Town"}]
TOWNS = [f"<b>Town {k}</b> & =1+1" for k in range(3)]
WORDS = """
title = "Eine Studie"
treated_well = "eingelassen zu werden"
[columns.age]
label = "Alter"
unit = "Jahre"
[columns.town]
label = "Stadt"
[columns.town.values]
"<b>Town 0</b> & =1+1" = "Stadt 0"
"<b>Town 1</b> & =1+1" = "Stadt 1"
"<b>Town 2</b> & =1+1" = "Stadt 2"
"""


@pytest.fixture
def study(make_study: Callable[..., StudyFolder]) -> StudyFolder:
    return make_study(translated=False, languages=["en", "de"], contact="a@example.org")


def test_a_new_study_has_its_files_in_every_language(study: StudyFolder) -> None:
    names = {file.name for file in study.path.iterdir()}
    assert {"study.toml", "consent.md", "task.md", "study.de.toml", "consent.de.md", "task.de.md"} <= names
    assert list(study.editions) == ["en", "de"]
    assert "Bevor Sie beginnen" in study.editions["de"].consent_html
    assert "Before you begin" in study.first.consent_html


def test_our_words_come_in_every_language_and_others_are_missed(study: StudyFolder) -> None:
    german = study.editions["de"].settings
    assert german.question.startswith("Was finden Sie gerecht")
    assert german.words_of(Answer.SAME) == "Die beiden sollten gleich behandelt werden"
    assert (german.title, german.treated_well) == ("A study", "to be let in")
    towns = some(TOWNS)
    missed = [note for note in study.unfinished if note.startswith("study.de.toml: ")]
    assert missed == [
        "study.de.toml: the title is not translated; Deutsch is not offered until it is",
        "study.de.toml: what “treated well” means is not translated; Deutsch is not offered until it is",
        "study.de.toml: the label “Age” is not translated; Deutsch is not offered until it is",
        "study.de.toml: the label “Town” is not translated; Deutsch is not offered until it is",
        f"study.de.toml: the values of “Town” ({towns}) are not translated; Deutsch is not offered until they are",
    ]
    assert study.offered == ("en",)


def test_translated(study: StudyFolder) -> None:
    (study.path / "study.de.toml").write_text(WORDS, encoding="utf-8")
    again = StudyFolder.open(study.path)
    german = again.editions["de"]
    assert (german.settings.title, german.settings.treated_well) == ("Eine Studie", "eingelassen zu werden")
    assert german.cards["known-as-0"].rows[0] == Row("Alter", "20 Jahre")
    assert again.cards["known-as-0"].rows[0] == Row("Age", "20")
    assert german.cards["known-as-1"].rows[1] == Row("Stadt", "Stadt 1")
    assert again.offered == ("en", "de")
    assert not [note for note in again.unfinished if note.startswith("study.")]
    assert again.fingerprint == study.fingerprint  # words may be corrected at any time


def test_a_value_that_is_not_translated_is_named_and_names_may_stay_as_they_are(study: StudyFolder) -> None:
    file = study.path / "study.de.toml"
    file.write_text(WORDS.replace('"<b>Town 1</b> & =1+1" = "Stadt 1"', ""), encoding="utf-8")
    one_missing = StudyFolder.open(study.path)
    assert [note for note in one_missing.unfinished if note.startswith("study.")] == [
        f"study.de.toml: the value of “Town” ({some(TOWNS[1:2])}) is not translated; Deutsch is not offered until it is"
    ]
    assert one_missing.offered == ("en",)
    file.write_text(f"{WORDS.partition('[columns.town.values]')[0]}keep_values = true\n", encoding="utf-8")
    assert StudyFolder.open(study.path).offered == ("en", "de")


def test_texts_and_columns_of_many_values_stay_as_they_are() -> None:
    columns = [{"name": name, "label": name} for name in ("few", "many", "long", "digits", "number")]
    settings = StudySettings.checked({"title": "t", "columns": columns}, "here")
    people = pa.table(
        {
            "few": ["b", "a", None] * 100,
            "many": [f"name {k}" for k in range(300)],
            "long": ["a", "b", "c" * 201] * 100,
            "digits": ["1", "2", "-3 %"] * 100,
            "number": [1.5, 2.5, None] * 100,
        }
    )
    assert words_in(settings, people) == {"few": ["a", "b"]}


def test_texts_that_are_not_translated_are_shown_in_the_first_language(study: StudyFolder) -> None:
    for name in ("consent.de.md", "task.de.md", "study.de.toml"):
        (study.path / name).unlink()
    again = StudyFolder.open(study.path)
    german = again.editions["de"]
    assert german.consent_html == f'<div lang="en" dir="ltr">{again.first.consent_html}</div>'
    assert german.consent_version == again.consent_version
    missing = "is not translated; Deutsch is not offered until it is"
    assert f"consent.de.md: the consent text {missing}" in again.unfinished
    assert f"task.de.md: the description of the task {missing}" in again.unfinished


def test_each_consent_text_has_its_version(study: StudyFolder) -> None:
    for code, name in (("en", "consent.md"), ("de", "consent.de.md")):
        version = hashlib.sha256((study.path / name).read_bytes()).hexdigest()[:16]
        assert study.editions[code].consent_version == version


BAD = {
    "unknown": ('colour = "rot"', "there is no setting colour"),
    "no words": ('pairs = "3"', "there is no setting pairs"),
    "empty": ('title = ""', "title = '': String should have at least 1"),
    "a column that is not there": ('[columns.height]\nlabel = "x"', "columns.height: there is no such column; study"),
    "labels alike": (
        '[columns.age]\nlabel = "x"\n[columns.town]\nlabel = "x"',
        "two columns have the label 'x'",
    ),
    "answers alike": ('[answer_words]\nsame = "x"\nno_constraint = "x"', "two answers have the words 'x'"),
    "not TOML": ("title", "not valid TOML"),
}


@pytest.mark.parametrize(("content", "part"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_with_the_file(study: StudyFolder, content: str, part: str) -> None:
    file = study.path / "study.de.toml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        StudyFolder.open(study.path)
    assert str(caught.value).startswith(f"{file}: {part}")
    assert "\n" not in str(caught.value)


def test_drafts_are_settings_once_their_marks_are_taken_away(study: StudyFolder) -> None:
    lines = (study.path / "study.de.toml").read_text(encoding="utf-8").splitlines()
    said = tomllib.loads("\n".join(line.removeprefix("# ") for line in lines[2:]))
    assert said["title"] == "A study"
    assert said["contact"] == "a@example.org"
    town = {"label": "Town", "values": dict(zip(TOWNS, TOWNS, strict=True))}
    assert said["columns"] == {"age": {"label": "Age"}, "town": town}
    (study.path / "study.de.toml").write_text("\n".join(line.removeprefix("# ") for line in lines[2:]), "utf-8")
    again = StudyFolder.open(study.path)
    assert again.editions["de"].settings == study.editions["de"].settings
    assert not [note for note in again.unfinished if note.startswith("study.")]


def test_a_study_that_begins_in_german(make_study: Callable[..., StudyFolder]) -> None:
    study = make_study(translated=False, languages=["de", "en"])
    assert study.settings.words_of(Answer.NO_CONSTRAINT).startswith("Jede der beiden")
    assert "Bevor Sie beginnen" in study.first.consent_html
    assert "Before you begin" in study.editions["en"].consent_html
    assert study.editions["en"].settings.words_of(Answer.SAME) == "The two should be treated the same"
    assert 'same = "Die beiden sollten' in (study.path / "study.toml").read_text(encoding="utf-8")
    alone = make_study(languages=["de"], answer_words={"same": "Gleich"})
    assert alone.settings.words_of(Answer.SAME) == "Gleich"
    assert alone.settings.words_of(Answer.NO_CONSTRAINT).startswith("Jede der beiden")
    assert not list(alone.path.glob("*.de.*"))


@pytest.mark.parametrize(
    ("languages", "part"),
    [
        (["en", "xx"], f"languages.2 = 'xx': there is no such language; there are {', '.join(available())}"),
        (["../en"], "languages.1 = '../en': there is no such language"),
        (["en", "en"], "the language 'en' is there twice"),
        ([], "languages = []: Tuple should have at least 1 item"),
        ("de", "languages = 'de': Input should be a valid tuple"),
        (3, "languages = 3: Input should be a valid tuple"),
    ],
)
def test_languages_that_are_refused(languages: Any, part: str) -> None:
    with pytest.raises(InputError) as caught:
        StudySettings.checked({"title": "t", "columns": COLUMNS, "languages": languages}, "here")
    assert str(caught.value).startswith(f"here: {part}")


def test_any_column_can_be_translated(tmp_path: Path) -> None:
    odd = [{"name": 'a "b" ] # c', "label": "x"}, {"name": "ä\x7f.ö", "label": "y", "unit": "years"}]
    settings = StudySettings.checked({"title": "t", "columns": odd, "languages": ["en", "de"]}, "here")
    file = tmp_path / "study.de.toml"
    file.write_text("\n".join(line.removeprefix("# ") for line in draft(settings, "de", {}).splitlines()[2:]), "utf-8")
    words, missing = translated(settings, "de", file)
    assert missing == ()
    assert words.columns == settings.columns
