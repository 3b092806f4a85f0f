"""Base of results: the JSON that files of models and jobs hold, and that operators' pages read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Self, Union, get_args, get_origin, get_type_hints

from fairwise.messages import message_table, restore_messages, without_messages

if TYPE_CHECKING:
    import pandas as pd


class Result:
    """Base of dataclasses that are stored as JSON; sentences in them stay translatable."""

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain values, and under ``messages`` how their sentences are made."""
        content = asdict(self)  # type: ignore[call-overload]
        return {**without_messages(content), "messages": message_table(content)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Return the result that :meth:`to_json` described; a number that is null is not known."""
        messages, kinds = content.get("messages", {}), _kinds(cls)  # type: ignore[arg-type]
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        values: dict[str, Any] = {name: math.nan for name in names if kinds[name] is float}
        for name in content.keys() & set(names):
            values[name] = _read(kinds[name], restore_messages(content[name], messages))
        return cls(**values)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table; a number that is not known is None."""
    return [
        {str(name): None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in table.to_dict("records")
    ]


@cache
def _kinds(cls: type[Result]) -> dict[str, Any]:
    return get_type_hints(cls)


def _read(kind: Any, value: Any) -> Any:
    """Return a value of JSON as its field's type has it."""
    if value is None:
        return math.nan if kind is float else None
    inner, outer = get_args(kind), get_origin(kind)
    if outer in (Union, UnionType):
        return _read(inner[0], value)
    if outer is tuple:
        return tuple(_read(inner[0], one) for one in value)
    if isinstance(outer, type) and issubclass(outer, Mapping) and isinstance(value, Mapping):
        return {name: _read(inner[1], one) for name, one in value.items()}
    return kind.from_json(value) if isinstance(kind, type) and issubclass(kind, Result) else value
