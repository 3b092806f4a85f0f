"""Values of a database as JSON and back, by the type of their column, the same for every database."""

from __future__ import annotations

import base64
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa


def written(value: Any) -> Any:
    """As something that JSON knows."""
    if isinstance(value, date):  # or a moment
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def read(column: sa.Column[Any], cell: Any) -> Any:
    """As the column's own type; what is not of this type is a ValueError."""
    kind = column.type.python_type
    as_written: Any = str if kind in (datetime, date, bytes) else (int, float) if kind is float else kind
    if cell is not None and not isinstance(cell, as_written):
        raise ValueError(f"{column}: {cell!r}")
    if kind is bytes and cell is not None:
        return base64.b64decode(cell, validate=True)
    return kind.fromisoformat(cell) if kind in (datetime, date) and cell is not None else cell
