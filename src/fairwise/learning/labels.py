"""The labels of a fit: which may be decided, how good each is for the person, and what each costs.

Everything a solver computes is linear in the probabilities of labels, and these add to 1. So what belongs to the first
label is taken off the others', and numbers about labels come as a column for each but the first: a table ``(…, k - 1)``
for ``k`` labels. For two labels that one column is a vector ``(…,)``, the paper's ``c1 - c0``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from fairwise.errors import InputError, quote
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray
from fairwise.learning.settings import FitSettings, LabelValues

MOST_LABELS = 64
_NUMBERED = (
    " If scikit-learn numbered the outcomes from 0 on, labels that are numbers cannot be told from those: use text."
)


@dataclass(frozen=True, eq=False)
class Labels:
    """What may be decided about ``n`` people."""

    classes: ClassArray
    """``(k,)`` the labels as users write them, in sorted order."""

    codes: IntArray
    """``(n,)`` which of them each person's outcome is."""

    losses: FloatArray
    """``(n, k)`` what deciding each label for each person costs."""

    sign: float
    """+1 where the second label is the good one, -1 where the first is; of two labels."""

    values: FloatArray | None
    """``(k,)`` how good each label is; None for two labels of which one is 1 and the other 0, as ``sign`` says."""


def read_labels(y: object, table: pd.DataFrame, settings: FitSettings, judgments: Judgments | None) -> Labels:
    """Outcomes, values and losses of labels, checked against each other."""
    return labels_of(*inputs.outcome_labels(y, table), settings, judgments)


def labels_of(codes: IntArray, classes: ClassArray, settings: FitSettings, judgments: Judgments | None) -> Labels:
    """The same for people whose outcomes are these of the outcomes that occur, ``classes``, which are sorted."""
    declared = settings.label_values
    if declared is not None and max(len(declared), len(classes)) > 2:
        codes, classes = _among(declared, codes, classes)
    if len(classes) > MOST_LABELS:
        raise InputError(
            f"The outcomes have {len(classes)} different values; at most {MOST_LABELS} labels can be decided between. "
            "Are they amounts? Those are for PairwiseFairRegressor."
        )
    losses = loss_matrix(settings.loss, classes)[codes]
    if len(classes) == 2:
        values = None if declared is None else class_values(declared, classes)
        sign = inputs.favorable_sign(settings, classes, judgments)
        return Labels(classes, codes, losses, sign, None if values is None or set(values) == {0.0, 1.0} else values)
    if declared is None:
        _refuse_unvalued(settings, classes, judgments)
        return Labels(classes, codes, losses, 1.0, np.zeros(len(classes)))
    return Labels(classes, codes, losses, 1.0, class_values(declared, classes))


def class_values(label_values: LabelValues, classes: ClassArray) -> FloatArray:
    """How good each class is ``(k,)``; classes that scikit-learn numbered are the labels in sorted order."""
    return np.array([float(label_values[label]) for label in sorted(label_values)][: len(classes)])


def _among(declared: LabelValues, codes: IntArray, found: ClassArray) -> tuple[IntArray, ClassArray]:
    """The same outcomes among all labels that may be decided, also those that are nobody's."""
    labels = sorted(declared)
    numbered = found.tolist() == list(range(len(labels)))
    are_numbers = all(isinstance(label, Real) for label in labels)
    if found.tolist() == labels or (numbered and not are_numbers):  # as they are, or as scikit-learn numbers them
        return codes, found
    unknown = [label for label in found.tolist() if label not in labels]
    if unknown:
        told = f"outcome {quote(unknown[0])} is" if len(unknown) == 1 else f"outcomes {_listed(unknown)} are"
        raise InputError(
            f"label_values does not say how good the {told}: it is about {_listed(labels)}."
            + (_NUMBERED if numbered else "")
        )
    place = np.array([labels.index(label) for label in found.tolist()], dtype=np.intp)
    return place[codes], np.array(labels, dtype=object if found.dtype == object else None)


def _refuse_unvalued(settings: FitSettings, classes: ClassArray, judgments: Judgments | None) -> None:
    """More than two labels need values as soon as anyone says who is to be treated how well."""
    if settings.favorable_label is None and (judgments is None or not len(judgments.frame)):
        return
    example = ", ".join(f"{label!r}: {value:.2g}" for label, value in _even(classes.tolist()[:4]))
    raise InputError(
        f"There are {len(classes)} different outcomes, {_listed(classes.tolist())}: to treat people well or badly it "
        "must be known how good each is for the person, from 0 to 1: give label_values={"
        f"{example}{', …' if len(classes) > 4 else ''}}} instead of favorable_label."
    )


def _even(labels: Sequence[object]) -> list[tuple[object, float]]:
    return [(label, place / max(len(labels) - 1, 1)) for place, label in enumerate(labels)]


def loss_matrix(loss: object, classes: ClassArray) -> FloatArray:
    """``(k, k)``: what deciding the label of a column costs where that of the row is right."""
    if loss is None:
        return 1.0 - np.eye(len(classes))
    if not isinstance(loss, pd.DataFrame):
        raise InputError(
            f"loss={quote(loss)} is not allowed: give a DataFrame of what each decision costs, with a row for each "
            "outcome that may be right and a column for each label that may be decided; None: 0 if right, otherwise 1."
        )
    labels = classes.tolist()
    numbered = labels == list(range(len(labels))) and 0 not in loss.columns
    axes = {"rows": loss.index.tolist(), "columns": loss.columns.tolist()}
    if numbered and len(loss.index) == len(loss.columns) == len(labels):  # by scikit-learn, in sorted order
        axes = {name: [sorted(axis).index(label) for label in axis] for name, axis in axes.items()}
    for name, axis in axes.items():
        if len(axis) != len(labels) or set(axis) != set(labels):  # 1, 1.0 and True are one label
            raise InputError(
                f"loss: its {name} are {_listed(axis)}, but the labels are {_listed(labels)}: each must be there once."
            )
    try:
        matrix = loss.set_axis(axes["rows"], axis=0).set_axis(axes["columns"], axis=1).astype(float)
    except (TypeError, ValueError):
        raise InputError("loss: a cost is no number.") from None
    costs: FloatArray = matrix.loc[labels, labels].to_numpy()
    bad = np.argwhere(~(np.isfinite(costs) & (costs >= 0)))
    if len(bad):
        right, decided = (labels[place] for place in bad[0])
        raise InputError(
            f"loss: deciding {decided!r} where {right!r} is right costs {costs[tuple(bad[0])]}; give numbers from 0 up."
        )
    if not costs.any():
        raise InputError("loss: every cost is 0, so there is nothing to learn.")
    return costs


def _listed(labels: Sequence[Any]) -> str:
    words = [repr(label) for label in labels[:6]]
    return ", ".join([*words, *(["…"] if len(labels) > 6 else [])])
