"""What a fitted classifier of any make gives people: the probability of its second class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing import checks
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.constraints.pairs import FloatArray
    from fairwise.judgments import Judgments


def second_class_probability(model: Any, rows: Any) -> FloatArray:
    """``predict_proba`` of the second class where there is one, else 1 where ``predict`` says so."""
    classes = binary_classes(model)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), dtype=float)[:, 1]
    return np.asarray(model.predict(rows) == classes[1], dtype=float)


def binary_classes(model: Any) -> list[Any]:
    """The two labels, in the model's own order."""
    classes: list[Any] = np.asarray(getattr(model, "classes_", [])).tolist()
    if len(classes) != 2:
        raise InputError(f"{type(model).__name__}: a fitted classifier with two classes is needed; it has {classes!r}")
    return classes


def favorable_is_second(favorable_label: Any, classes: list[Any], judgments: Judgments) -> bool:
    """Whether the second class is the good one; answers that are all the same do not notice."""
    checks.direction(favorable_label, classes, judgments)
    return favorable_label is None or bool(favorable_label == classes[1])


def judged_rows(judgments: Judgments, ids: pd.Index, like: Any) -> Any:
    """The judged people's rows, with the columns of the table ``like``."""
    if judgments.people is None:
        raise InputError("judgments: made without people=, so nobody's row is known; use judgments.about(people)")
    rows = judgments.people_rows(ids)
    if isinstance(rows, pd.DataFrame) and isinstance(like, pd.DataFrame):
        missing = [column for column in like.columns if column not in rows.columns]
        if missing:
            raise InputError(f"judgments: the judged people's table has no column {missing[0]!r}")
        return rows[list(like.columns)]
    return rows
