"""What an operator decides about a study: read from ``study.toml``, checked as a whole, never changed while it runs."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.study.design_settings import Design, added_up
from fairwise.study.languages import SOURCE, available, language, marked
from fairwise.study.recruitment_settings import Recruitment, Relation
from fairwise.study.settings_base import Checked, Contact, Line, Text, Unit
from fairwise.tables.source import cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

TWO_ANSWERS = (Answer.SAME, Answer.NO_CONSTRAINT)
_EXAMPLE = ("# [[relations]]", '# name = "affected"', '# words = "Such a decision was made about me"')
_TABLES = ("design", "recruitment", "answer_words")
_LONGEST_FILE, _MOST_DOTS = 1_000_000, 100
FOUR_ANSWERS = (Answer.SAME, Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.NO_CONSTRAINT)


def _known(code: str) -> str:
    if code not in available():
        raise ValueError(f"there is no such language; there are {', '.join(available())}")
    return code


class Column(Checked):
    """A column of the people table that participants see."""

    name: Line
    """The name in people.parquet."""

    label: Line
    """What participants read before the value."""

    unit: Unit = ""
    """What participants read behind the value, such as years; may be empty."""


class AnswerWords(Checked):
    """What the buttons say."""

    same: Line = marked("The two should be treated the same")
    """For the answer same."""

    a_at_least_b: Line = marked("Person A should be treated at least as well as person B")
    """For the answer a_at_least_b; not shown where there are two answers."""

    b_at_least_a: Line = marked("Person B should be treated at least as well as person A")
    """For the answer b_at_least_a; not shown where there are two answers."""

    no_constraint: Line = marked("Either may be treated better than the other")
    """For the answer no_constraint."""


class StudySettings(Checked):
    """A study as its operator wants it."""

    title: Line
    """The name of the study, at the top of every page."""

    languages: Annotated[tuple[Annotated[str, AfterValidator(_known)], ...], Field(min_length=1)] = (SOURCE,)
    """The languages that participants may choose from; the first is the language of this file."""

    question: Text = marked(
        "In your view, as a matter of fairness, how should these two people be treated, compared with each other?"
    )
    """What is asked about every pair."""

    treated_well: Line = marked("getting the more favourable of the two possible decisions")
    """The favourable outcome in words: what it means here to be treated well."""

    answers: Literal["four", "two"] = "four"
    """The answers offered: all four, or two (same and no_constraint)."""

    pairs: Annotated[int, Field(ge=1, le=1000)] = 50
    """How many pairs each participant is shown, 1 to 1000, of whatever kind."""

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """From it follows who is shown which pairs; any whole number from 0."""

    mark_differences: bool = False
    """Whether rows in which the two people differ are marked."""

    ask_why: bool = False
    """Whether a reason may be written beside every answer."""

    ask_confidence: bool = False
    """Whether participants may say how sure they are of an answer."""

    comprehension_check: bool = False
    """Whether participants must first show, in at most two tries, that they understood the buttons."""

    check_must_pass: bool = False
    """Whether those who fail both tries are screened out; otherwise they go on, and it is kept that they failed."""

    practice: bool = True
    """Whether there is a practice pair first, which does not count."""

    second_look: bool = False
    """Whether participants are shown, at the end, where they contradicted themselves, and may revise it."""

    relation_question: Line = marked("What is your relation to this decision?")
    """What is asked of everyone first, if there are relations to choose from."""

    contact: Contact = ""
    """Whom participants may write to; shown on every page that may raise a question."""

    retention_days: Annotated[int, Field(ge=0, le=36500)] = 0
    """After so many days texts are deleted, and once the study is closed also names and panel's ids; 0 keeps all."""

    simulated: bool = False
    """Whether no real people take part, as in the demo; every report on the study then says so."""

    design: Design = Design()
    """How many of the pairs are of which other kind; the rest are uniform: drawn anew for everyone."""

    recruitment: Recruitment = Recruitment()
    """Who may take part, and where they are sent afterwards."""

    answer_words: AnswerWords = AnswerWords()
    """What the buttons say."""

    relations: tuple[Relation, ...] = ()
    """What participants may be to the decision; if there are none, nobody is asked."""

    columns: Annotated[tuple[Column, ...], Field(min_length=1)]
    """What is shown of a person, in this order; these are the columns of people.parquet."""

    @property
    def uniform(self) -> int:
        """How many uniform pairs each participant is shown."""
        return self.pairs - sum(self.design.beside_uniform.values())

    @property
    def mixture(self) -> dict[str, int]:
        """How many pairs of each kind each participant is shown."""
        return ({"uniform": self.uniform} if self.uniform else {}) | self.design.beside_uniform

    @property
    def allowed_answers(self) -> tuple[Answer, ...]:
        """In the order of the buttons and of the keys 1 to 4."""
        return TWO_ANSWERS if self.answers == "two" else FOUR_ANSWERS

    def words_of(self, answer: Answer) -> str:
        """What the button of an answer says."""
        words: str = getattr(self.answer_words, answer.value)
        return words

    @model_validator(mode="before")
    @classmethod
    def _added_up(cls, content: Any) -> Any:
        return added_up(content) if isinstance(content, dict) else content

    @model_validator(mode="after")
    def _shown_as_designed(self) -> Self:
        if self.uniform < 0:
            raise ValueError(f"pairs = {self.pairs}, but design alone adds up to {self.pairs - self.uniform}")
        original = self.pairs - self.design.repeats - self.design.checks - self.design.active
        if self.design.repeats > original:
            raise ValueError(f"design.repeats = {self.design.repeats}: there are only {original} pairs to repeat")
        if not original and self.design.active:
            raise ValueError("design.active: another pair that counts must come first; add uniform ones, for example")
        if not original:
            raise ValueError("design has nothing but checks, which do not count")
        unknown = [name for name in self.design.strata if name not in {column.name for column in self.columns}]
        if unknown:
            raise ValueError(f"design.strata: {unknown[0]!r} is not among the columns")
        return self

    @model_validator(mode="after")
    def _someone_may_come(self) -> Self:
        if len(self.relations) == 1:
            raise ValueError("relations: one is no choice; needed: at least two, or none")
        if self.relations and all(relation.most == 0 for relation in self.relations):
            raise ValueError("relations: nobody could take part, as every one of them has most = 0")
        if self.check_must_pass and not self.comprehension_check:
            raise ValueError("check_must_pass is on, but comprehension_check is off")
        return self

    @model_validator(mode="before")
    @classmethod
    def _our_words_in_its_language(cls, content: Any) -> Any:
        """A study that begins in another language than English has our words in that language too."""
        spoken = content.get("languages") if isinstance(content, dict) else None
        first = spoken[0] if isinstance(spoken, list | tuple) and spoken else SOURCE
        if first == SOURCE or first not in available():
            return content
        say = language(first).say
        ours = {name: say(cls.model_fields[name].default) for name in ("question", "treated_well", "relation_question")}
        buttons = {name: say(field.default) for name, field in AnswerWords.model_fields.items()}
        own = content.get("answer_words", {})
        return {**ours, **content, "answer_words": {**buttons, **own} if isinstance(own, dict) else own}

    @model_validator(mode="after")
    def _all_differ(self) -> Self:
        if (twice := _twice([*self.languages])) is not None:
            raise ValueError(f"the language {twice!r} is there twice")
        for what in ("name", "label"):
            if (twice := _twice([getattr(column, what) for column in self.columns])) is not None:
                raise ValueError(f"two columns have the {what} {twice!r}")
        for what in ("name", "words"):
            if (twice := _twice([getattr(relation, what) for relation in self.relations])) is not None:
                raise ValueError(f"two relations have the {what} {twice!r}")
        if (twice := _twice([self.words_of(answer) for answer in self.allowed_answers])) is not None:
            raise ValueError(f"two answers have the words {twice!r}")
        return self

    @classmethod
    def checked(cls, content: Mapping[str, Any], where: str) -> Self:
        """Return settings from plain values; errors begin with `where` and name the setting."""
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise InputError(f"{where}: {first_problem(error)}") from None

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read ``study.toml``; errors name the file, the setting, its value and what is allowed."""
        return cls.checked(read_toml(Path(path)), str(path))

    def toml(self) -> str:
        """Return the text of ``study.toml``: every setting below a line that explains it."""
        lines = ["# The settings of a study. Do not change them once people have begun to answer."]
        for name in type(self).model_fields:
            if name not in {*_TABLES, "relations", "columns"}:
                lines += ["", *_settings_in(self, name)]
        for table in _TABLES:
            lines += ["", _comment(self, table), f"[{table}]"]
            part = getattr(self, table)
            lines += [line for name in type(part).model_fields for line in _settings_in(part, name)]
        for several in ("relations", "columns"):
            lines += ["", _comment(self, several)]
            if not getattr(self, several):
                lines += ["# For example, twice or more:", *_EXAMPLE]
            for number, part in enumerate(getattr(self, several)):
                lines += [""] * bool(number) + [f"[[{several}]]"]
                lines += [line for name in type(part).model_fields for line in _settings_in(part, name, number == 0)]
        return "\n".join([*lines, ""])


def read_toml(file: Path) -> dict[str, Any]:
    """Return what a file of settings says; errors name the file."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        _refuse_long(file, text)
        return tomllib.loads(text)
    except InputError:  # which is a ValueError, and says itself what is wrong
        raise
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: not text in UTF-8") from None
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise InputError(f"{file}: not valid TOML: {error}") from None


def _refuse_long(file: Path, text: str) -> None:
    """Whoever made the file may be anyone; a key of n parts takes time that grows with n² to read."""
    if len(text) > _LONGEST_FILE:
        raise InputError(f"{file}: longer than {_LONGEST_FILE:,} characters; this is no file of settings")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MOST_DOTS:
            raise InputError(f"{file}, line {number}: more than {_MOST_DOTS} dots in one line; no setting needs that")


def _settings_in(part: BaseModel, name: str, explained: bool = True) -> Iterator[str]:
    if getattr(part, name) is None:
        return
    if explained:
        yield _comment(part, name)
    # TOML writes text, numbers and truth as JSON does, but for one character that JSON leaves as it is.
    yield f"{name} = {json.dumps(getattr(part, name), ensure_ascii=False)}".replace("\x7f", "\\u007f")


def _comment(part: BaseModel, name: str) -> str:
    return f"# {type(part).model_fields[name].description}"


def _twice(values: list[str]) -> str | None:
    return next((value for value, count in Counter(values).items() if count > 1), None)


def first_problem(error: ValidationError) -> str:
    """The first thing that is wrong, in one line."""
    problem = error.errors()[0]
    where = cut(".".join(str(part + 1) if isinstance(part, int) else str(part) for part in problem["loc"]))
    said = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "missing":
        return f"the setting {where} is missing"
    if problem["type"] == "extra_forbidden":
        return f"there is no setting {where}"
    shown = f" = {cut(repr(problem['input']))}" if not isinstance(problem["input"], dict) else ""
    return f"{where}{shown}: {said}" if where else said
