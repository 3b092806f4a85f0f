"""Results that are equal to a copy of themselves although some of their numbers are unknown."""

import math
from dataclasses import fields
from typing import Any


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
