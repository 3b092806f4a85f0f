"""Checks of arguments, each of which says what is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from numbers import Integral, Real
from reprlib import repr as shortened
from typing import Any

import numpy as np

from fairwise.errors import InputError, JudgmentsError, quote
from fairwise.judgments import Judgments

_FIT_PARAMS = ("sample_weight", "sensitive_features")


def fraction(name: str, value: object, *, ends: bool = True) -> float:
    """A number from 0 to 1; without ``ends``, strictly between."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if 0 < number < 1 or (ends and number in {0.0, 1.0}):
            return number
    span = "from 0 to 1" if ends else "between 0 and 1"
    raise InputError(f"{name}={value!r} is not allowed: it must be a number {span}")


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """A whole number of at least ``least``, and at most ``most`` where that is given."""
    if isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= (most or inf):
        return int(value)
    limit = "" if most is None else f" and at most {most:,}"
    raise InputError(f"{name}={shortened(value)} is not allowed: it must be a whole number of at least {least}{limit}")


def one_of(name: str, value: object, allowed: Iterable[str]) -> None:
    """One of these words."""
    words = list(allowed)
    if not (isinstance(value, str) and value in words):
        raise InputError(f"{name}={value!r} is not allowed. Allowed: {', '.join(map(repr, words))}")


def some_judgments(value: object) -> Judgments:
    """Judgments, not a bare table of them."""
    if isinstance(value, Judgments):
        return value
    raise JudgmentsError(
        f"judgments: a fairwise.Judgments is needed, not {type(value).__name__}; wrap a table in Judgments(...)"
    )


def fit_params(given: Iterable[str]) -> None:
    """Check the arguments of ``fit`` besides people, outcomes and judgments."""
    for name in given:
        if name not in _FIT_PARAMS:
            raise InputError(f"{name}= is not known: besides its own settings this takes {' and '.join(_FIT_PARAMS)}.")


def score_range(value: object) -> tuple[float, float] | None:
    """The least and the largest amount, or None for scores from 0 to 1."""
    if value is None:
        return None
    numbers = list(value) if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else []
    if len(numbers) != 2 or not all(isinstance(one, Real) and np.isfinite(float(one)) for one in numbers):
        raise InputError(f"score_range={quote(value)} is not allowed: give (least, largest), or None.")
    low, high = map(float, numbers)
    if not low < high:
        raise InputError(f"score_range={quote(value)} is not allowed: the least comes first.")
    return low, high


def direction(favorable_label: Any, labels: Iterable[object], judgments: Judgments, more: str = "") -> None:
    """One of the two labels, or None while no answer is ordered."""
    classes = list(labels)
    allowed = " or ".join(map(repr, classes))
    if favorable_label is None and judgments.has_ordered:
        raise InputError(
            "Some answers are ordered ('A at least as well as B'), so it must be known which outcome is the good one: "
            f"give favorable_label={allowed}"
        )
    if favorable_label is not None and (np.ndim(favorable_label) > 0 or favorable_label not in classes):
        raise InputError(f"favorable_label={favorable_label!r} is not one of the outcomes: give {allowed}{more}")
