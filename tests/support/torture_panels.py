"""Panels that have said next to nothing, about four people in a row."""

from __future__ import annotations

from typing import Any

from tests.support.torture_fits import FOUR

from fairwise import Judgments


def said(*rows: tuple[Any, ...], **more: Any) -> Judgments:
    names = ("judge", "a", "b", "answer", "weight")
    return Judgments([{"weight": 1.0} | dict(zip(names, row, strict=False)) for row in rows], people=FOUR, **more)


NOTHING = Judgments([], people=FOUR)
ENDS = said(("u", 0, 3, "same"))
ORDER = said(("u", 0, 3, "a_at_least_b"))
FREE = said(("u", 0, 3, "no_constraint"))
WEIGHTLESS = said(("u", 0, 3, "same", 0.0))
TWO = said(("u", 0, 3, "same"), ("v", 0, 3, "same"))
SPLIT = said(("u", 0, 3, "same"), ("v", 0, 3, "no_constraint"))
