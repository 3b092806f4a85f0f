"""A room that talks: all answer one pair on their phones, see the answers on the wall, talk, and answer it again.

An operator sets the pace. A room is at one *turn*: which of the fixed pairs, and what is being done with it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Self

FEWEST_COUNTED = 3
"""Counts are shown once so many have answered: those of fewer would tell what one of them said."""


class Step(StrEnum):
    """What a room is doing."""

    WAITING = "waiting"
    """People come in."""

    ALONE = "alone"
    """Everyone answers for themselves."""

    SHOWN = "shown"
    """The wall shows how many gave each answer, and people talk."""

    AGAIN = "again"
    """Everyone answers once more."""

    COMPARED = "compared"
    """The wall shows the answers before and after."""

    OVER = "over"
    """All pairs were talked about."""


_WITHIN_A_PAIR = {Step.ALONE: (Step.SHOWN,), Step.SHOWN: (Step.AGAIN,), Step.AGAIN: (Step.COMPARED,)}


class Turn(NamedTuple):
    """Where a room is: pairs are counted from 1, and 0 is before the first."""

    pair: int = 0
    step: Step = Step.WAITING

    def __str__(self) -> str:
        """As forms and addresses have it.

        >>> str(Turn(3, Step.AGAIN)), Turn.read("3-again"), Turn.read("3-never")
        ('3-again', Turn(pair=3, step=<Step.AGAIN: 'again'>), None)
        """
        return f"{self.pair}-{self.step}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The turn of a text; None if it is none."""
        pair, _, step = text.partition("-")
        if not (pair.isascii() and pair.isdigit() and len(pair) < 6) or step not in tuple(Step):
            return None
        return cls(int(pair), Step(step))

    def following(self, pairs: int) -> tuple[Self, ...]:
        """Where an operator may lead a room from here, if there are so many pairs; the usual way first.

        >>> [str(turn) for turn in Turn(2, Step.SHOWN).following(pairs=2)]
        ['2-again', '2-over']
        """
        if self.step == Step.OVER:
            return ()
        within = tuple(type(self)(self.pair, step) for step in _WITHIN_A_PAIR.get(self.step, ()))
        if self.step == Step.ALONE:  # nobody skips a pair by pressing twice
            return within
        upcoming = (self.pair + 1, Step.ALONE) if self.pair < pairs else (self.pair, Step.OVER)
        return (*within, type(self)(*upcoming))
