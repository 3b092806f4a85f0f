"""The options of a vote as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairwise.store.votes import Option
from fairwise.study.deliberation import Rule
from fairwise.study.texts import Language, marked

RULES = {
    Rule.APPROVAL: marked("Tick every option that you find acceptable. The option that most people tick is chosen."),
    Rule.BORDA: marked(
        "Put the options in order: 1 is the one you like best. An option gets a point for every option that somebody "
        "puts below it, and the one with most points is chosen."
    ),
    Rule.CONDORCET: marked(
        "Put the options in order: 1 is the one you like best. The option that most people prefer to each of the "
        "others is chosen. If there is none, an option gets a point for every option that somebody puts below it, and "
        "the one with most points is chosen."
    ),
}


@dataclass(frozen=True)
class OptionView:
    """One option in words."""

    letter: str
    wrong: str
    """Of 100 decisions."""

    followed: str
    """Of 100 answers that ask for something."""

    wrong_share: float
    followed_share: float
    place: int
    """What somebody gave it; 0 for none."""


@dataclass(frozen=True)
class VoteView:
    """A vote as somebody sees it."""

    id: int
    rule: Rule
    options: Sequence[OptionView]
    problem: str | None = None
    saved: bool = False
    """Whether their choice was kept just now."""


def letter_of(option: int) -> str:
    """Return what an option is called.

    >>> letter_of(1)
    'B'
    """
    return "ABCDE"[option]


def options_of(
    options: Sequence[Option], spoken: Language, places: Mapping[int, int] | None = None
) -> list[OptionView]:
    """Return the options in a language."""
    views = []
    for at, option in enumerate(options):
        followed = option.followed / max(option.followed + option.not_followed, 1)
        numbers = spoken.short_in_100(option.error), spoken.short_in_100(followed), 100 * option.error, 100 * followed
        views.append(OptionView(letter_of(at), *numbers, (places or {}).get(at, 0)))
    return views
