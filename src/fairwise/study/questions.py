"""Questions of a study's own, asked before or after the pairs: what may be asked, and what counts as an answer to it.

An answer is one text, whatever language it was given in: an option in the study's first language, several of them with
``; `` between, a number in digits, or what somebody wrote. The empty text is that of a question that was left empty.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from fairwise.study.texts import marked
from fairwise.study.toml import Input, Line, SettingsTable

BETWEEN = "; "
"""Stands between several options that were chosen."""

LONGEST_TEXT, LONGEST_NUMBER = 2_000, 20
MOST_QUESTIONS, MOST_OPTIONS, MOST_STEPS = 30, 30, 11
_LARGEST = 10**9
_NUMBER = re.compile(r"([+-]?)0*([0-9]{1,12})(?:[.]([0-9]{1,2}))?")
_MINUS, _DECIMAL_SIGNS = "\u2212\ufe63\uff0d", ",\u066b\uff0c\uff0e"

REQUIRED = marked("Please answer this question")
NOT_A_NUMBER = marked("Write a number in digits, such as 42")
TOO_SMALL = marked("The number must be at least %(limit)s")
TOO_LARGE = marked("The number must be at most %(limit)s")


class Refusal(Exception):  # noqa: N818 - what somebody typed, not an error
    """Why what was typed is no answer, in words that are still to be translated; they may name a limit."""

    def __init__(self, words: str, limit: int | None = None) -> None:
        super().__init__(words)
        self.words, self.limit = words, limit


def _on_one_line(text: str) -> str:
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text):
        raise ValueError("an option stands on one line")
    return text


Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, pattern=r"^[a-z][a-z0-9_]*$", max_length=40)
]
Option = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(_on_one_line)
]
_KINDS = {
    "choice": "one of several options",
    "several": "any number of options",
    "scale": "a step of a scale",
    "number": "a number",
    "text": "a text of their own",
}


class Question(SettingsTable):
    """A question that every participant is asked once."""

    name: Annotated[Name, Field(title="Short name"), Input("Small letters, digits and _, such as age.", locked=True)]
    """A short name under which the answer is kept and exported: small letters, digits and _, such as age."""

    words: Annotated[Line, Field(title="The question")]
    """Words that participants read."""

    kind: Annotated[
        Literal["choice", "several", "scale", "number", "text"],
        Field(title="Answered by"),
        Input(options=_KINDS, locked=True),
    ] = "choice"
    """Kind of answer: choice (one option), several (any number of them), scale, number or text."""

    options: Annotated[
        tuple[Option, ...],
        Field(max_length=MOST_OPTIONS, title="Options"),
        Input("One on each line. Of a scale: what its two ends are called.", locked=True),
    ] = ()
    """Options to choose from; of a scale, names of its two ends."""

    least: Annotated[
        int | None,
        Field(ge=-_LARGEST, le=_LARGEST, title="Least"),
        Input("Of a number, or the first step of a scale (1).", locked=True),
    ] = None
    """The smallest number that may be given; of a scale, its first step (1 if left out)."""

    most: Annotated[
        int | None,
        Field(ge=-_LARGEST, le=_LARGEST, title="Most"),
        Input("Of a number, or the last step of a scale (5).", locked=True),
    ] = None
    """The largest number that may be given; of a scale, its last step (5 if left out)."""

    required: Annotated[bool, Field(title="Must be answered")] = False
    """Whether it must be answered to go on."""

    when: Annotated[
        Literal["before", "after"],
        Field(title="Asked"),
        Input(options={"before": "before the pairs", "after": "after the pairs"}, locked=True),
    ] = "before"
    """Whether it is asked before or after the pairs."""

    @property
    def steps(self) -> range:
        """The steps of a scale."""
        return range(1 if self.least is None else self.least, (5 if self.most is None else self.most) + 1)

    @property
    def numbers(self) -> range:
        """Some allowed whole numbers: a hundred and one at most, where there is no limit on one side."""
        if self.least is None:
            return range(0 if self.most is None else self.most - 100, (100 if self.most is None else self.most) + 1)
        return range(self.least, (self.least + 100 if self.most is None else self.most) + 1)

    @model_validator(mode="after")
    def _can_be_answered(self) -> Self:
        counted = len(self.options)
        if self.kind in ("choice", "several") and counted < 2:
            raise ValueError(f"a question of kind {self.kind} needs two options or more")
        if self.kind == "scale" and counted not in (0, 2):
            raise ValueError("a scale has no options, or two: what its first and its last step are called")
        if self.kind in ("number", "text") and counted:
            raise ValueError(f"a question of kind {self.kind} has no options")
        if len(set(self.options)) < counted:
            raise ValueError("an option is there twice")
        if self.kind == "several" and any(BETWEEN.strip() in option for option in self.options):
            raise ValueError("an option has a ; in it, by which the options that somebody chose are parted")
        self._check_limits()
        return self

    def _check_limits(self) -> None:
        if self.kind not in ("scale", "number"):
            if self.least is not None or self.most is not None:
                raise ValueError(f"least and most are for numbers and scales, not for kind {self.kind}")
        elif self.kind == "scale" and not 2 <= len(self.steps) <= MOST_STEPS:
            first, last = self.steps.start, self.steps.stop - 1
            raise ValueError(f"a scale from {first} to {last}: needed are 2 to {MOST_STEPS} steps")
        elif self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError(f"least is {self.least}, which is more than most, {self.most}")

    # From what a form says to an answer, and back. A form names options by their numbers from 0, in any language.

    @property
    def field(self) -> str:
        """The name of its field; where several options can be ticked, each has its number behind it."""
        return f"q-{self.name}"

    def answer(self, typed: Sequence[str]) -> str:
        """Return the answer that a form gives; a Refusal says why it is none."""
        kept = [text for text in typed if text]
        if self.kind in ("choice", "several"):
            chosen = [option for at, option in enumerate(self.options) if str(at) in kept]
            answer = BETWEEN.join(chosen if self.kind == "several" else chosen[:1])
        elif self.kind == "scale":
            answer = next((str(step) for step in self.steps if str(step) in kept), "")
        else:
            answer = self._number(kept[0]) if kept and self.kind == "number" else "".join(kept[:1])
        if self.required and not answer:
            raise Refusal(REQUIRED)
        return answer

    def typed(self, answer: str) -> list[str]:
        """Return what a form says that gives this answer."""
        if self.kind in ("choice", "several"):
            chosen = answer.split(BETWEEN) if self.kind == "several" else [answer]
            return [str(at) for at, option in enumerate(self.options) if option in chosen]
        return [answer] if answer else []

    def allows(self, answer: str) -> bool:
        """Whether this is an answer as it is kept; whether one was required does not matter, that may have changed."""
        if not answer:
            return True
        try:
            return self.answer(self.typed(answer)) == answer
        except Refusal:
            return False

    def _number(self, text: str) -> str:
        """Return a number in one way of writing it; digits of any script, with a point or a comma.

        Of more than two decimals nobody knows whether they are thousands.
        """
        match = _NUMBER.fullmatch("".join(_plain(character) for character in text if not character.isspace()))
        if match is None:
            raise Refusal(NOT_A_NUMBER)
        sign, whole, decimals = match[1].strip("+"), match[2], (match[3] or "").rstrip("0")
        number = f"{whole}.{decimals}" if decimals else whole
        number = number if float(number) == 0 else f"{sign}{number}"
        if self.least is not None and float(number) < self.least:
            raise Refusal(TOO_SMALL, self.least)
        if self.most is not None and float(number) > self.most:
            raise Refusal(TOO_LARGE, self.most)
        return number


def _plain(character: str) -> str:
    if character in _MINUS:
        return "-"
    if character in _DECIMAL_SIGNS:
        return "."
    return str(unicodedata.decimal(character, character))


def questions_on_page(questions: Iterable[Question], when: str) -> list[Question]:
    """Return the questions of one page, in their order."""
    return [question for question in questions if question.when == when]


def decisive(questions: Iterable[Question]) -> list[dict[str, object]]:
    """Return what must stay as it is once people have answered; words, order and whether one must answer may change."""
    rows = [question.model_dump(exclude={"words", "required"}) for question in questions]
    return sorted(rows, key=lambda row: str(row["name"]))
