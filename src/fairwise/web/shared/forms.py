"""Forms as they arrive: text, cleaned and limited; and a study's own questions as forms ask them and say them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from python_multipart.multipart import parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import Request

from fairwise.judgments import Answer
from fairwise.study.questions import LONGEST_NUMBER, LONGEST_TEXT, MOST_OPTIONS, MOST_QUESTIONS, Question
from fairwise.web.shared.security import MOST_BYTES

MOST_FIELDS = 40
_MOST_MARKS = 30
"""On one letter, as in Unicode's format for streams: to put n of them in order takes time that grows with n²."""
MOST_QUESTION_FIELDS = MOST_QUESTIONS * MOST_OPTIONS + 40
"""Of a form in which everything is ticked that can be."""


@dataclass(frozen=True)
class Form:
    """Fields by name, the last of several with one name."""

    fields: Mapping[str, str]

    def text(self, name: str, longest: int) -> str:
        """A field without what no database takes and no one types; cut where the page would not have allowed more."""
        # Cut before anything is done with it; a browser sends two characters for the end of a line.
        value = self.fields.get(name, "")[: 2 * longest]
        if not (value.isascii() and value.isprintable()):  # unlike keys and signatures, which are most of what arrives
            value = unicodedata.normalize("NFC", _typed(value))
        return value[:longest].strip()

    def number(self, name: str, least: int, most: int) -> int | None:
        """A whole number, or None if there is none within the limits."""
        value = whole_number(self.fields.get(name, ""))
        return value if value is not None and least <= value <= most else None

    def answer(self, allowed: tuple[Answer, ...]) -> Answer | None:
        """One of the answers that this study allows."""
        value = self.fields.get("answer", "")
        return next((answer for answer in allowed if answer == value), None)


def whole_number(text: str) -> int | None:
    """Digits as a number, if they are no more than nine and of our own script; of thousands even reading takes long."""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def decimal_number(text: str) -> float | None:
    """A number as people write it, with a point or a comma, if it has no more than fifteen digits on either side.

    Three digits behind a comma may be thousands or thousandths: that is no number either. Behind a point they are
    decimals, as our own pages write them.

    >>> decimal_number("0,125"), decimal_number("20000"), decimal_number("20.125"), decimal_number("20,000")
    (0.125, 20000.0, 20.125, None)
    """
    if may_mean_thousands(text):
        return None
    return float(text.replace(",", ".")) if re.fullmatch(r"[+-]?[0-9]{1,15}([.,][0-9]{1,15})?", text) else None


def may_mean_thousands(text: str, decimal: str = ".") -> bool:
    """Whether one who writes decimals like that may mean thousands by the other mark.

    >>> may_mean_thousands("2,400"), may_mean_thousands("2.400"), may_mean_thousands("2.400", ",")
    (True, False, True)
    """
    mark = re.escape("," if decimal == "." else ".")
    return re.fullmatch(rf"[+-]?[1-9][0-9]{{0,2}}({mark}[0-9]{{3}})+([.,][0-9]*)?", text) is not None


async def read_form(request: Request, most_fields: int = MOST_FIELDS) -> Form:
    """The fields of a request; files, and anything but a form, are refused."""
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind not in (b"application/x-www-form-urlencoded", b"multipart/form-data"):
        raise HTTPException(415)
    if options.get(b"charset", b"utf-8").lower() != b"utf-8":  # pages are in UTF-8; some others take the square of time
        raise HTTPException(415)
    async with request.form(max_files=0, max_fields=most_fields, max_part_size=MOST_BYTES) as form:
        return Form({name: value for name, value in form.multi_items() if isinstance(value, str)})


def _typed(text: str) -> str:
    """A text without control characters, and without more marks on a letter than anyone writes."""
    kept, marks = [], 0
    for character in text:
        kind = unicodedata.category(character)
        if kind in ("Cc", "Cs") and character not in "\n\t":
            continue  # before marks are counted: what is not kept parts no marks either
        marks = marks + 1 if kind[0] == "M" else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)


@dataclass(frozen=True)
class AskedQuestion:
    """One question as somebody sees it."""

    question: Question
    """In the language that they read."""

    typed: Collection[str] = ()
    """What the form says already."""

    problem: str | None = None

    @property
    def field(self) -> str:
        """The name of its field."""
        return self.question.field


def typed_in(form: Form, question: Question) -> list[str]:
    """Return what a form says to a question."""
    field = question.field
    if question.kind == "several":
        return [str(at) for at in range(len(question.options)) if f"{field}-{at}" in form.fields]
    longest = LONGEST_TEXT if question.kind == "text" else LONGEST_NUMBER
    text = form.text(field, longest)
    return [text] if text else []


def asked_again(
    questions: Sequence[Question], typed: Mapping[str, Collection[str]], problems: Mapping[str, str] | None = None
) -> list[AskedQuestion]:
    """Return the questions of a page with what was typed and what is wrong, by the names of the questions."""
    wrong = problems or {}
    return [AskedQuestion(one, typed.get(one.name, ()), wrong.get(one.name)) for one in questions]
