"""Settings are explained where they are edited, come back as they were written, and are refused in one clear line."""

from __future__ import annotations

import json
import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.study.deliberation import Deliberation
from fairwise.study.design import Amount, Arm, Decision, Design, OutcomeWords
from fairwise.study.questions import Question
from fairwise.study.recruitment import Recruitment, Relation
from fairwise.study.settings import FOUR_ANSWERS, TWO_ANSWERS, AnswerWords, ShownColumn, StudySettings, _twice

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
ANY_NUMBER = -1
LEAST = {"title": "t", "columns": [{"name": "x", "label": "X"}]}
LINES = st.text(min_size=1, max_size=30).filter(str.strip)


def every_setting() -> dict[str, Any]:
    """Names as an error writes them, and their defaults."""
    kinds: dict[str, type[BaseModel]] = {
        "": StudySettings,
        "design.": Design,
        "deliberation.": Deliberation,
        "recruitment.": Recruitment,
        "answer_words.": AnswerWords,
        "decisions.": Decision,
        "outcome_words.": OutcomeWords,
        "amount.": Amount,
        "relations.": Relation,
        "arms.": Arm,
        "questions.": Question,
        "columns.": ShownColumn,
    }
    inner = {
        "design",
        "deliberation",
        "recruitment",
        "answer_words",
        "outcome_words",
        "decisions",
        "amount",
        "relations",
        "arms",
        "questions",
        "columns",
    }

    def default(field: FieldInfo) -> Any:
        if field.is_required() or field.default is not None:
            return None if field.is_required() else field.default
        return "not known" if bool in get_args(field.annotation) else ANY_NUMBER

    return {
        prefix + name: default(field)
        for prefix, kind in kinds.items()
        for name, field in kind.model_fields.items()
        if prefix + name not in inner
    }


def test_every_setting_is_documented_with_its_default_and_the_reverse() -> None:
    table = PAGE.split("\n## Settings\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \| [^|]+ \| ([^|]*?) \|$", table, flags=re.MULTILINE))
    assert set(rows) == set(every_setting())
    for name, default in every_setting().items():
        code = f"`{default if isinstance(default, str) else json.dumps(default)}`"
        wanted = {None: "needed", "": "empty", (): "empty", ANY_NUMBER: "any number"}.get(
            default, default if " " in str(default) else code
        )
        assert rows[name] == wanted, name


@given(
    title=LINES,
    question=LINES,
    words=st.tuples(LINES, LINES),
    unit=st.text(max_size=10),
    numbers=st.tuples(st.integers(1, 1000), st.integers(0, 2**63 - 1)),
    truth=st.booleans(),
)
def test_what_is_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    title: str,
    question: str,
    words: tuple[str, str],
    unit: str,
    numbers: tuple[int, int],
    truth: bool,
) -> None:
    content = {
        "title": title,
        "question": question,
        "treated_well": words[0],
        "contact": unit,
        "pairs": numbers[0],
        "seed": numbers[1],
        "ask_why": truth,
        "answer_words": {"same": words[0], "no_constraint": words[1] + "'"},
        "columns": [{"name": words[1], "label": title, "unit": unit}, {"name": words[1] + "x", "label": title + "x"}],
    }
    try:
        settings = StudySettings.model_validate(content)
    except ValidationError:
        return
    file = tmp_path_factory.getbasetemp() / "study.toml"
    file.write_text(settings.toml(), encoding="utf-8", newline="\n")
    assert StudySettings.read(file) == settings


def test_every_setting_stands_below_its_explanation() -> None:
    columns = (ShownColumn(name="x", label="X"), ShownColumn(name="y", label="Y"))
    lines = StudySettings(title="t", columns=columns).toml().splitlines()
    assert "# For example, twice or more:\n# [[relations]]" in "\n".join(lines)
    first = lines[: len(lines) - 4]  # the second column needs no explanation
    for above, line in pairwise(first):
        if re.match(r"[a-z_]+ = ", line):
            assert re.match(r"# .{8,}\.$", above), line
    assert set(tomllib.loads("\n".join(lines))) == set(StudySettings.model_fields) - {
        "outcome_words",
        "decisions",
        "amount",
        "relations",
        "arms",
        "questions",
    }


def test_relations_come_back(tmp_path: Path) -> None:
    relations = (Relation(name="affected", words="I"), Relation(name="expert", words="They", most=3))
    settings = StudySettings(title="t", columns=(ShownColumn(name="x", label="X"),), relations=relations)
    (tmp_path / "study.toml").write_text(settings.toml(), encoding="utf-8")
    assert StudySettings.read(tmp_path / "study.toml") == settings


START = "title='t'\ncolumns=[{name='x',label='X'}]\n"
BAD: dict[str, tuple[str, str]] = {
    "a number of thousands of digits": (f"pairs = {'9' * 4500}", "not valid TOML: Exceeds the limit"),
    "not TOML": ("title = ", "not valid TOML"),
    "lists in lists": (f"title = {'[' * 100_000}", "not valid TOML"),
    "no end": (f"# {'x' * 1_000_000}", "longer than 1,000,000 characters; this is no file of settings"),
    "a long text": (f"title = '{'x' * 100_000}'", f"title = '{'x' * 56}...: String should have at most"),
    "no title": ("[[columns]]\nname='x'\nlabel='X'", "the setting title is missing"),
    "no columns": ("title='t'", "the setting columns is missing"),
    "empty columns": ("title='t'\ncolumns=[]", "columns = []: Tuple should have at least 1 item"),
    "unknown": ("title='t'\ncolour='red'\ncolumns=[{name='x',label='X'}]", "there is no setting colour"),
    "unknown inside": ("title='t'\ncolumns=[{name='x',label='X',size=1}]", "there is no setting columns.1.size"),
    "too many pairs": ("title='t'\npairs=1001\ncolumns=[{name='x',label='X'}]", "pairs = 1001: Input should be less"),
    "three answers": (
        "title='t'\nanswers='three'\ncolumns=[{name='x',label='X'}]",
        "answers = 'three': Input should be",
    ),
    "blank title": ("title=' '\ncolumns=[{name='x',label='X'}]", "title = ' ': String should have at least 1"),
    "label twice": (
        "title='t'\ncolumns=[{name='x',label='X'},{name='y',label='X'}]",
        "two columns have the label 'X'",
    ),
    "words twice": (
        "title='t'\ncolumns=[{name='x',label='X'}]\nanswer_words={same='a',no_constraint='a'}",
        "two answers have the words 'a'",
    ),
    "one relation": (f"{START}relations=[{{name='a',words='A'}}]", "relations: one is no choice"),
    "no relation left": (
        f"{START}relations=[{{name='a',words='A',most=0}},{{name='b',words='B',most=0}}]",
        "relations: nobody could take part",
    ),
    "relation twice": (
        f"{START}relations=[{{name='a',words='A'}},{{name='a',words='B'}}]",
        "two relations have the name 'a'",
    ),
    "must pass nothing": (f"{START}check_must_pass=true", "check_must_pass is on, but comprehension_check is off"),
    "way back without a panel": (
        f"{START}recruitment={{completion_code='C1'}}",
        "recruitment: completion_code is for those whom a panel sends",
    ),
    **{
        f"way back {address}": (
            f"{START}recruitment={{panel='prolific',completion_url='{address}'}}",
            f"recruitment.completion_url = '{address}': {problem}",
        )
        for address, problem in (
            ("javascript:alert(1)", "not an address"),
            ("//elsewhere.example", "not an address"),
            ("http://elsewhere.example/done", "needed: an address that begins with https://"),
            ("https://{id}.example/done", "only what comes after the host may have gaps"),
            ("https://panel.example/done?p={name}", "{name} cannot be filled in; allowed: {id}, {session}, {code}"),
            ("https://panel.example/done?p={", "{ cannot be filled in"),
            ("https://panel.example/a b", "not an address"),
        )
    },
}


@pytest.mark.parametrize(("content", "part"), BAD.values(), ids=BAD)
def test_bad_settings_are_one_line(tmp_path: Path, content: str, part: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        StudySettings.read(file)
    assert str(caught.value).startswith(f"{file}: {part}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["\x01https://panel.example/a", "https://panel.example/\0", "https://panel.example/\x7f"]
)
def test_a_way_back_has_no_control_characters(address: str) -> None:
    """Newer Pythons pass over those at the beginning when they take an address apart; browsers are not sent them."""
    with pytest.raises(ValueError, match="not an address"):
        Recruitment(panel="prolific", completion_url=address)


@pytest.mark.parametrize("line", ["{} = 1", "[{}]", "[[{}]]", "x = {{ {} = 1 }}"])
def test_names_of_many_parts_are_not_read(tmp_path: Path, line: str) -> None:
    """Of a megabyte of them Python's own reader makes more than a minute, of this a third of a second."""
    file = tmp_path / "study.toml"
    file.write_text(f"title = 't'\n{line.format('a.' * 5_000 + 'a')}", encoding="utf-8")
    with pytest.raises(InputError, match=r"study\.toml, line 2: more than 100 dots in one line"):
        StudySettings.read(file)


def test_each_column_is_compared_with_few_others() -> None:
    """Thirty thousand columns took the square of the time: sixteen seconds."""
    compared = 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    assert _twice([Name(k) for k in range(1000)]) is None
    assert compared < 5000
    assert _twice([Name(k) for k in (1, 2, 3, 2)]) == "2"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"study.toml: cannot be read: No such file"):
        StudySettings.read(tmp_path / "study.toml")
    (tmp_path / "study.toml").write_bytes(b"title = '\xe9'")
    with pytest.raises(InputError, match=r"study.toml: not text in UTF-8"):
        StudySettings.read(tmp_path / "study.toml")


def test_answers_in_the_order_of_the_buttons() -> None:
    four = StudySettings.checked(LEAST, "here")
    two = StudySettings.checked({**LEAST, "answers": "two"}, "here")
    assert four.allowed_answers == FOUR_ANSWERS
    assert two.allowed_answers == TWO_ANSWERS == (Answer.SAME, Answer.NO_CONSTRAINT)
    assert four.words_of(Answer.SAME) == "The two should be treated the same"
