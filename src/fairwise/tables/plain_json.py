"""Answers for programs: JSON that every reader takes, whatever numbers and tables it was made from."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
"""What `json` reads and writes."""


def json_text(value: object, *, indent: int = 2) -> str:
    """Return JSON in which a number that is none is null, and a table is a list of its rows.

    >>> print(json_text({"gap": float("nan"), "rounds": 3}))
    {
      "gap": null,
      "rounds": 3
    }
    """
    return json.dumps(jsonable(value), indent=indent, ensure_ascii=False, allow_nan=False)


def jsonable(value: object) -> JSON:
    """Return the value as lists, dicts, text and finite numbers."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("records")
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): jsonable(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [jsonable(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
