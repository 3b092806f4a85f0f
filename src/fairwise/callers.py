"""The code that called this package: where a warning points, and whether scikit-learn may have numbered labels."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent) + os.sep


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the line that called this package, however deep inside the reason was noticed."""
    level = caller = 1
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_filename.startswith(_PACKAGE):
            caller = level + 1
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=caller)


_HAND_ON_LABELS = ("sklearn.base", "sklearn.pipeline", "sklearn.utils", "sklearn.model_selection._search")
_SCORE_FOLDS = ("cross_validate", "cross_val_score", "_fit_and_score", "learning_curve", "validation_curve")


def may_number_labels() -> bool:
    """Return whether a function of scikit-learn that may number labels from 0 on is among the callers.

    Pipelines, searches and scores over folds hand labels on as they are; every other function may number them.
    """
    frame = inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        hands_on = module.startswith(_HAND_ON_LABELS) or frame.f_code.co_name in _SCORE_FOLDS
        if module.startswith("sklearn.") and not hands_on:
            return True
        frame = frame.f_back
    return False
