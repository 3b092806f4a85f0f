"""What an operator decides about a study: read from ``study.toml``, checked as a whole, never changed while it runs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from fairwise.errors import InputError
from fairwise.judgments import Answer

if TYPE_CHECKING:
    from os import PathLike

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]

TWO_ANSWERS = (Answer.SAME, Answer.NO_CONSTRAINT)
FOUR_ANSWERS = (Answer.SAME, Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.NO_CONSTRAINT)


class _Checked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Column(_Checked):
    """A column of the people table that participants see."""

    name: Line
    label: Line
    unit: Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)] = ""


class AnswerWords(_Checked):
    """What the buttons say."""

    same: Line = "The two should be treated the same"
    a_at_least_b: Line = "Person A should be treated at least as well as person B"
    b_at_least_a: Line = "Person B should be treated at least as well as person A"
    no_constraint: Line = "Either may be treated better than the other"


class StudySettings(_Checked):
    """A study as its operator wants it."""

    title: Line
    question: Text = (
        "In your view, as a matter of fairness, how should these two people be treated, compared with each other?"
    )
    treated_well: Line
    """The favourable outcome in words: what it means here to be treated well."""

    answers: Literal["four", "two"] = "four"
    answer_words: AnswerWords = AnswerWords()
    columns: Annotated[tuple[Column, ...], Field(min_length=1)]
    pairs: Annotated[int, Field(ge=1, le=1000)] = 50
    seed: Annotated[int, Field(ge=0)] = 0
    mark_differences: bool = False
    ask_why: bool = False
    ask_confidence: bool = False
    comprehension_check: bool = False
    practice: bool = True
    contact: Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)] = ""
    """Whom participants may write to; shown on every page that may raise a question."""

    @property
    def allowed_answers(self) -> tuple[Answer, ...]:
        """In the order of the buttons and of the keys 1 to 4."""
        return TWO_ANSWERS if self.answers == "two" else FOUR_ANSWERS

    def words_of(self, answer: Answer) -> str:
        """What the button of an answer says."""
        words: str = getattr(self.answer_words, answer.value)
        return words

    @model_validator(mode="after")
    def _columns_differ(self) -> Self:
        for what in ("name", "label"):
            seen = [getattr(column, what) for column in self.columns]
            twice = next((value for value in seen if seen.count(value) > 1), None)
            if twice is not None:
                raise ValueError(f"two columns have the {what} {twice!r}")
        return self

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read ``study.toml``; errors name the file, the setting, its value and what is allowed."""
        file = Path(path)
        try:
            content = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise InputError(f"{file}: not text in UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{file}: not valid TOML: {error}") from None
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise InputError(f"{file}: {first_problem(error)}") from None


def first_problem(error: ValidationError) -> str:
    """The first thing that is wrong, in one line."""
    problem = error.errors()[0]
    where = ".".join(str(part + 1) if isinstance(part, int) else str(part) for part in problem["loc"])
    said = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "missing":
        return f"the setting {where} is missing"
    if problem["type"] == "extra_forbidden":
        return f"there is no setting {where}"
    shown = f" = {problem['input']!r}" if not isinstance(problem["input"], dict) else ""
    return f"{where}{shown}: {said}" if where else said
