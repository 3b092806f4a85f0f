"""What pages are made from: plain values, not yet escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from fairwise.elicitation.cards import Card
    from fairwise.judgments import Answer


@dataclass(frozen=True)
class Me:
    """The participant who looks at the page: where their pages are, and the token that their forms carry."""

    path: str
    """``/p/TOKEN`` with the prefix before it; also the link with which they can go on elsewhere."""

    link: str
    """The same with scheme and host, to be copied."""

    csrf: str


@dataclass(frozen=True)
class Given:
    """An answer that is current."""

    answer: Answer
    why: str = ""
    confidence: int | None = None


@dataclass(frozen=True)
class Pair:
    """A pair to be judged, ``number`` of ``total``."""

    number: int
    total: int
    answered: int
    a: Card
    b: Card
    given: Given | None
    key: str
    """Unguessable name of this appearance."""

    nonce: str
    """Of this form: sent twice, it counts once."""

    stamp: str
    """When the page was made, signed: from it the time to answer is known."""


@dataclass(frozen=True)
class Answered:
    """A line of the list of answers given so far."""

    number: int
    answer: Answer | None


@dataclass(frozen=True)
class Closing:
    """The three closing questions; empty until something was written."""

    rules: str = ""
    expressible: str = ""
    comments: str = ""


@dataclass(frozen=True)
class Receipt:
    """What a participant may keep as a proof that everything arrived."""

    code: str
    answers: int
    finished_at: datetime
