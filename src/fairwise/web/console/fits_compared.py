"""Two fits line by line."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from fairwise.rounding import difference, share_difference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairwise.store.fit_files import Summary

MINUS = "\N{MINUS SIGN}"
_DIGITS = 2


class Line(NamedTuple):
    """One thing about both."""

    name: str
    left: str
    right: str
    difference: str


def compared(left: tuple[Mapping[str, str], Summary], right: tuple[Mapping[str, str], Summary]) -> list[Line]:
    """Return settings in words, then numbers; a difference is what the right one has more."""
    lines = [Line(name, words, right[0][name], "") for name, words in left[0].items()]
    one, other = left[1], right[1]
    lines += [
        _shares("Wrong with the judgments", one.error, other.error),
        _shares("Wrong about people left out", one.held_out, other.held_out),
        _shares("Wrong without the judgments", one.error_without, other.error_without),
        _differences("Cost of the judgments", one.cost(_DIGITS), other.cost(_DIGITS)),
        _counts("Judgments that ask for something", one.asked, other.asked),
        _counts("Followed", one.honoured, other.honoured),
        _counts("Given up", one.given_up, other.given_up),
        _decimals("Furthest violation", one.max_violation, other.max_violation),
        _decimals("Mean difference where “the same” was said", one.mean_violation, other.mean_violation),
        Line("Proved to be the best of its kind", _proved(one), _proved(other), ""),
        _counts("Participants in it", one.judges, other.judges),
    ]
    return lines


def _proved(fit: Summary) -> str:
    return "yes" if fit.kind == "exact" else "no"


def _shares(name: str, one: float | None, other: float | None) -> Line:
    left, right = ("–" if share is None else f"{100 * share:.{_DIGITS}f} %" for share in (one, other))
    if one is None or other is None:
        return Line(name, left, right, "")
    return Line(name, left, right, _signed(share_difference(other, one, _DIGITS), " points"))


def _differences(name: str, one: Decimal, other: Decimal) -> Line:
    left, right = (f"{number} points".replace("-", MINUS) for number in (one, other))
    return Line(name, left, right, _signed(other - one, " points"))


def _counts(name: str, one: int, other: int) -> Line:
    return Line(name, str(one), str(other), _signed(Decimal(other - one)))


def _decimals(name: str, one: float | None, other: float | None) -> Line:
    if one is None or other is None:
        left, right = ("–" if value is None else f"{value:.3f}" for value in (one, other))
        return Line(name, left, right, "")
    return Line(name, f"{one:.3f}", f"{other:.3f}", _signed(difference(other, one, 3)))


def _signed(more: Decimal, unit: str = "") -> str:
    """A difference with a real minus; nothing where there is none."""
    return f"{more:+}{unit}".replace("-", MINUS) if more else ""
