"""Models that were kept in files, of labels or of amounts."""

from __future__ import annotations

from pathlib import Path

from fairwise.errors import ModelKindError
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.learning.regressor import PairwiseFairRegressor


def load_model(path: Path, prices: Path | None = None) -> PairwiseFairClassifier | PairwiseFairRegressor:
    """The model in a file, whichever kind it is of."""
    try:
        return PairwiseFairClassifier.load(path, prices=prices)
    except ModelKindError:
        return PairwiseFairRegressor.load(path, prices=prices)
