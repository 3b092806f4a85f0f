"""A study's own questions on a page: what was typed before, what is wrong with it, and how a form says it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fairwise.study.questions import LONGEST_NUMBER, LONGEST_TEXT, MOST_OPTIONS, MOST_QUESTIONS, Question
from fairwise.web.shared.forms import Form

MOST_FIELDS = MOST_QUESTIONS * MOST_OPTIONS + 40
"""Of a form in which everything is ticked that can be."""


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
