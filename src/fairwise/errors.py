"""Errors and warnings: one tree of errors, and warnings that point to the code that called this package.

::

    FairwiseError
    ├── InputError (also ValueError)        what was given cannot be used
    │   ├── TableError                      a table: file, line, value, what is allowed
    │   │   └── JudgmentsError              a table of judgments
    │   ├── InfeasibleError                 rules that no model keeps together
    │   ├── ModelFileError                  a saved model that cannot or must not be opened
    │   └── NotKeptError (also AttributeError) what a loaded model does not have, because its file holds no such thing
    ├── MissingExtraError (also ImportError) a part that was not installed, with the words to install it
    └── SolverError (also RuntimeError)     the solver failed on input that looked fine

A message says what was wrong, where, and what is allowed. :class:`ModelVersionWarning` is the one warning with a name.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterable
from pathlib import Path

_LONGEST, _FEW = 60, 5


def quote(value: object) -> str:
    """A value as a message shows it: 3 rather than np.int64(3)."""
    return repr(value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value)


def cut(text: str) -> str:
    """Return the beginning of a text, for an error message."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def some(values: Iterable[object]) -> str:
    """Return the first few values and how many there are."""
    every = list(values)
    few = ", ".join(cut(quote(value)) for value in every[:_FEW])
    return few if len(every) <= _FEW else f"{few}, … ({len(every)} in all)"


class FairwiseError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(FairwiseError, ValueError):
    """What was given cannot be used; the message says what is allowed."""


class TableError(InputError):
    """A table that cannot be used as it is."""


class JudgmentsError(TableError):
    """A judgments table that cannot be used as it is."""


class InfeasibleError(InputError):
    """Rules that no model keeps together, or none that was found."""


class ModelFileError(InputError):
    """A saved model that cannot or must not be opened."""


class ModelKindError(ModelFileError):
    """A model of amounts where one of labels is wanted, or the other way round."""


class NotKeptError(InputError, AttributeError):
    """An attribute that a loaded model does not have; as an AttributeError it is none for ``hasattr`` and ``dir``."""


class MissingExtraError(FairwiseError, ImportError):
    """A part of the package that was not installed; the message says how to install it."""


class SolverError(FairwiseError, RuntimeError):
    """The solver could not finish; nothing of the attempt is kept."""


class ModelVersionWarning(UserWarning):
    """A saved model was written by another version, of this package or of scikit-learn, than opens it."""


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
