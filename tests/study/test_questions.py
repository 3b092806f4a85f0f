"""Own questions: what may be asked, what counts as an answer, and that it survives the way to a form and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.errors import InputError
from fairwise.study.questions import NOT_A_NUMBER, REQUIRED, TOO_LARGE, TOO_SMALL, Question, Refusal
from fairwise.study.settings import Stage, StudySettings, first_stage, stage_after
from fairwise.study.translations import translated

LEAST: dict[str, Any] = {"title": "t", "columns": [{"name": "x", "label": "X"}]}
ONE_OF: dict[str, Any] = {"name": "town", "words": "Where?", "options": ["Here", "There"]}
AGE: dict[str, Any] = {"name": "age", "words": "How old?", "kind": "number"}


def asking(*questions: dict[str, Any], **more: Any) -> StudySettings:
    return StudySettings.checked({**LEAST, **more, "questions": questions}, "study.toml")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"options": ["Here"]}, "kind choice needs two options"),
        ({"options": ["Here", "Here"]}, "an option is there twice"),
        ({"options": ["Here", "Two\nlines"]}, "on one line"),
        ({"kind": "several", "options": ["a; b", "c"]}, "has a ; in it"),
        ({"kind": "scale", "options": ["a", "b", "c"]}, "has no options, or two"),
        ({"kind": "scale", "options": [], "least": 1, "most": 40}, "a scale from 1 to 40: needed are 2 to 11 steps"),
        ({"kind": "number"}, "kind number has no options"),
        ({"kind": "number", "options": [], "least": 3, "most": 2}, "least is 3, which is more than most, 2"),
        ({"kind": "text", "options": [], "most": 2}, "not for kind text"),
        ({"name": "Town"}, "questions.1.name"),
        ({"when": "between"}, "questions.1.when"),
    ],
)
def test_what_cannot_be_asked_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem.replace("(", r"\(")):
        asking(ONE_OF | change)


def test_two_questions_differ() -> None:
    with pytest.raises(InputError, match="two questions have the name 'town'"):
        asking(ONE_OF, {**ONE_OF, "words": "Where else?"})


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("42", "42"),
        (" 007 ", "7"),
        ("4,5", "4.5"),
        ("4.50", "4.5"),
        ("\u0661\u0662", "12"),
        ("\uff11\uff12", "12"),
        ("1 000", "1000"),
        ("\u22123", "-3"),
        ("-0", "0"),
        ("+5", "5"),
        ("0,05", "0.05"),
        ("12\u066b5", "12.5"),
    ],
)
def test_numbers_are_read_as_people_write_them(typed: str, answer: str) -> None:
    question = Question(**AGE)
    assert question.answer([typed]) == answer
    assert question.allows(answer)


@pytest.mark.parametrize(
    "typed", ["1,000", "1.000", "1.234,5", "forty", "1e3", "0x10", "1/2", "--1", "½", "²", "9" * 13]
)
def test_what_might_be_another_number_is_asked_for_again(typed: str) -> None:
    with pytest.raises(Refusal) as refusal:
        Question(**AGE).answer([typed])
    assert refusal.value.words == NOT_A_NUMBER


def test_limits_belong_to_what_is_allowed() -> None:
    question = Question(**AGE, least=18, most=99)
    assert [question.answer([text]) for text in ("18", "99")] == ["18", "99"]
    for text, words, limit in (("17.99", TOO_SMALL, 18), ("99,01", TOO_LARGE, 99)):
        with pytest.raises(Refusal) as refusal:
            question.answer([text])
        assert (refusal.value.words, refusal.value.limit) == (words, limit)
        assert not question.allows(text.replace(",", "."))


def test_only_what_is_required_must_be_answered() -> None:
    for kind in ("choice", "several", "scale", "number", "text"):
        options = ONE_OF["options"] if kind in ("choice", "several") else []
        asked: dict[str, Any] = {"name": "x", "words": "x", "kind": kind, "options": options}
        assert Question(**asked).answer([]) == ""
        with pytest.raises(Refusal) as refusal:
            Question(**asked, required=True).answer([""])
        assert refusal.value.words == REQUIRED


OPTIONS = st.lists(
    st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters=";"), min_size=1, max_size=8)
    .map(str.strip)
    .filter(bool),
    min_size=2,
    max_size=6,
    unique=True,
)


@given(options=OPTIONS, chosen=st.sets(st.integers(0, 5)), kind=st.sampled_from(["choice", "several"]))
def test_an_answer_is_the_same_in_a_form_and_back(options: list[str], chosen: set[int], kind: Any) -> None:
    question = Question(name="x", words="x", kind=kind, options=tuple(options))
    typed = [str(at) for at in sorted(chosen) if at < len(options)][: None if kind == "several" else 1]
    answer = question.answer(typed)
    assert question.typed(answer) == typed
    assert question.allows(answer)
    assert answer == "; ".join(options[int(at)] for at in typed)


def test_what_is_not_on_the_page_is_no_answer() -> None:
    question = Question(**ONE_OF)
    assert question.answer(["7"]) == ""
    assert not question.allows("Elsewhere")
    assert not Question(name="x", words="x", kind="scale").allows("6")
    assert not Question(name="x", words="x", kind="several", options=("a", "b")).allows("b; a")


def test_questions_before_the_pairs_are_a_stage_of_their_own() -> None:
    assert first_stage(asking(ONE_OF)) == Stage.QUESTIONS
    assert stage_after(Stage.QUESTIONS, asking(ONE_OF)) == Stage.TASK
    assert first_stage(asking({**ONE_OF, "when": "after"})) == Stage.TASK


def test_a_language_is_complete_once_questions_and_options_are_translated(tmp_path: Any) -> None:
    settings = asking(ONE_OF, languages=["en", "de"])
    file = tmp_path / "study.de.toml"
    words = '[columns.x]\nlabel = "X"\n[questions.town]\nwords = "Wo?"\n[questions.town.options]\nHere = "Hier"\n'
    file.write_text(words)
    read, missing = translated(settings, "de", file)
    assert (read.questions[0].words, read.questions[0].options) == ("Wo?", ("Hier", "There"))
    assert [note for note in missing if "title" not in note] == [
        "study.de.toml: the option “There” is not translated; Deutsch is not offered until it is"
    ]
    file.write_text(words.replace("town", "village"))
    with pytest.raises(InputError, match=r"questions\.village: there is no such question"):
        translated(settings, "de", file)
