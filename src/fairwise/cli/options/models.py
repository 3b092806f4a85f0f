"""Models that were kept in files, of labels or of amounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairwise.errors import ModelKindError

if TYPE_CHECKING:
    from pathlib import Path


def load_model(path: Path, prices: Path | None = None) -> Any:
    """The model in a file, whichever kind it is of."""
    from fairwise.learning.estimator import PairwiseFairClassifier  # slow to load, and so is the other
    from fairwise.learning.regressor import PairwiseFairRegressor

    try:
        return PairwiseFairClassifier.load(path, prices=prices)
    except ModelKindError:
        return PairwiseFairRegressor.load(path, prices=prices)
