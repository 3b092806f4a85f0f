"""What comes before the pairs: what each button means, questions about that, and a made-up pair to try them on.

All of it is about the buttons and none of it about fairness: a study gives no guidance on that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fairwise.judgments import Answer
from fairwise.study.cards import Card, Row
from fairwise.study.languages import marked
from fairwise.study.settings import StudySettings

MEANINGS = {
    Answer.SAME: marked("Neither of the two may be treated better than the other."),
    Answer.A_AT_LEAST_B: marked(
        "Person A must not be treated worse than person B. They may be treated the same, or A better."
    ),
    Answer.B_AT_LEAST_A: marked(
        "Person B must not be treated worse than person A. They may be treated the same, or B better."
    ),
    Answer.NO_CONSTRAINT: marked("You ask for nothing here. A may be treated better, or B, or both the same."),
}

Say: TypeAlias = "Callable[[str], str]"  # into the language of a participant; `str` leaves it in English


def practice_pair(say: Say = str) -> tuple[Card, Card]:
    """Two made-up people, about whom nothing can be unfair."""
    fruit, shape, pets = say("Favourite fruit"), say("Favourite shape"), say("Pets")
    circle = Row(shape, say("Circle"))
    return (
        Card("practice-a", (Row(fruit, say("Apple")), circle, Row(pets, "2"))),
        Card("practice-b", (Row(fruit, say("Pear")), circle, Row(pets, "0"))),
    )


@dataclass(frozen=True)
class Question:
    """A question of the comprehension check: the form field of its name must hold ``right``."""

    name: str
    text: str
    options: tuple[tuple[str, str], ...]
    """Value and words of each."""

    right: str
    meanings: Mapping[str, str]
    """What each value means, for those who chose a wrong one."""

    def explain(self, chosen: str | None) -> str:
        """Say what the chosen answer means; nothing if none was chosen."""
        return self.meanings.get(chosen or "", "")


def check_questions(settings: StudySettings, say: Say = str) -> tuple[Question, ...]:
    """Two or three questions, by the answers that this study has."""
    buttons = tuple((answer.value, settings.words_of(answer)) for answer in settings.allowed_answers)
    meaning = say("“{words}” means: {meaning}")
    meanings = {
        answer.value: meaning.format(words=settings.words_of(answer), meaning=say(MEANINGS[answer]))
        for answer in settings.allowed_answers
    }
    ordered = Question(
        "order",
        say("You want to say: person A must not be treated worse than person B. Which answer says this?"),
        buttons,
        Answer.A_AT_LEAST_B.value,
        meanings,
    )
    unordered = Question(
        "either",
        say(
            "You want to say: I ask for nothing here, and one of the two may be treated better. Which answer says this?"
        ),
        buttons,
        Answer.NO_CONSTRAINT.value,
        meanings,
    )
    change = Question(
        "change",
        say("Can you change an answer later?"),
        (("no", say("No, never")), ("yes", say("Yes, until I finish at the end"))),
        "yes",
        {"no": say("You can: go back to the pair, and press another button. That counts until you finish at the end.")},
    )
    return (ordered, unordered, change) if settings.answers == "four" else (unordered, change)
