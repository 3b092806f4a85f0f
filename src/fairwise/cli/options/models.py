"""Models that were kept in files, of labels or of amounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def load_model(path: Path, prices: Path | None = None) -> Any:
    """The model in a file, whichever kind it is of."""
    from fairwise.learning import any_model  # slow to load

    return any_model.load_model(path, prices)
