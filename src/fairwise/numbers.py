"""Numbers as they are printed, differences that agree with what is printed, and results of unknown numbers."""

import math
from dataclasses import fields
from decimal import Decimal
from typing import Any

_NOISE = 6  # of 100, what is smaller than so many decimals is the rounding of a computer or solver


def rounded(number: float, digits: int) -> Decimal:
    """Return a number as it is printed with so many decimals, without a minus before zero.

    >>> rounded(32.85, 1), rounded(-0.01, 1)
    (Decimal('32.9'), Decimal('0.0'))
    """
    return Decimal(f"{number:.{digits}f}") + Decimal(0)


def difference(one: float, other: float, digits: int) -> Decimal:
    """Return how much more one number is than another, both taken as they are printed with so many decimals.

    >>> f"{40.13:.1f} is {40.13 - 32.86:.1f} more than {32.86:.1f}, or {difference(40.13, 32.86, 1)}?"
    '40.1 is 7.3 more than 32.9, or 7.2?'
    """
    return rounded(one, digits) - rounded(other, digits)


def in_100(share: float, digits: int = 1) -> Decimal:
    """Return a share as it is printed everywhere: of 100, with one decimal.

    It has as many more as it takes not to say none or all where that is not so.

    >>> in_100(0.0365), in_100(0.99996), in_100(1.0)
    (Decimal('3.6'), Decimal('99.996'), Decimal('100.0'))
    """
    number = round(100 * share, _NOISE)
    return rounded(number, max(digits_beside(number, limit, digits) for limit in (0, 100)))


def share_difference(one: float, other: float, digits: int = 1) -> Decimal:
    """Return how many percentage points one share is above another, both as printed."""
    return in_100(one, digits) - in_100(other, digits)


def points(width: float) -> Decimal:
    """Return a difference of two shares in percentage points, without needless decimals.

    >>> points(0.3), points(0.304)
    (Decimal('30'), Decimal('30.4'))
    """
    return in_100(width).normalize() + 0


def quantity(number: float) -> Decimal:
    """Return a cost or an amount with four digits that count; from 1,000 on without decimals.

    >>> quantity(3.14159), quantity(12345.6)
    (Decimal('3.142'), Decimal('12346'))
    """
    if abs(number) >= 999.95:
        return Decimal(round(number))
    return Decimal(f"{float(f'{number:.4g}') + 0.0:g}")


def record_number(number: float) -> str:
    """Return a number of somebody's record as one writes it, without needless decimals or an exponent.

    >>> record_number(2020.0), record_number(0.1 + 0.2), record_number(1234567.5), record_number(0.00001234)
    ('2020', '0.3', '1234567.5', '0.00001234')
    """
    most = 6 if abs(number) >= 1 or not number else 5 - math.floor(math.log10(abs(number)))
    return f"{rounded(number, most).normalize() + Decimal(0):f}"


def digits_beside(number: float, limit: float, digits: int, most: int = 12) -> int:
    """Return with how many decimals, at least ``digits``, a number is printed on its own side of a limit.

    >>> digits_beside(50.3, 50, 0), digits_beside(0.0492, 0.05, 2)
    (1, 3)
    """
    bound = Decimal(str(limit))
    side = int(number > limit) - int(number < limit)  # numpy's booleans do not subtract
    printed = (rounded(number, enough) for enough in range(digits, most))
    agrees = ((one > bound) - (one < bound) == side for one in printed)
    return next((enough for enough, right in enumerate(agrees, digits) if right), most)


def counted(number: float, one: str | None = None, many: str | None = None) -> str:
    """5829 is 5,829; with words, "1 judge" and "5,829 judges"."""
    figure = f"{int(number):,}"
    if one is None:
        return figure
    return f"{figure} {one if int(number) == 1 else many or one + 's'}"


def setting(value: float | None) -> str:
    """0.3 rather than 0.300; None where a limit is off."""
    return "none" if value is None or math.isnan(value) else f"{value:g}"


# Results that are equal to a copy of themselves although some of their numbers are unknown.


class EqualNan:
    """Base of dataclasses with ``eq=False`` in which a NaN equals a NaN, as with numpy's ``equal_nan``.

    Otherwise such a result would differ from itself after saving and loading, and since Python 3.13 at once: there
    dataclasses compare field by field, where before one and the same NaN was the same.
    """

    def __eq__(self, other: object) -> bool:
        return _values(self) == _values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(_values(self))


def _values(result: Any) -> tuple[Any, ...]:
    """The fields with every NaN replaced by the same one, which a tuple takes for equal."""
    values = (getattr(result, field.name) for field in fields(result))
    return tuple(math.nan if isinstance(value, float) and math.isnan(value) else value for value in values)
