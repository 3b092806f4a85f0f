"""The labels of a fit: which may be decided, how good each is for the person, and what each costs.

Everything a solver computes is linear in the probabilities of labels, and these add to 1. So what belongs to the first
label is taken off the others', and numbers about labels come as a column for each but the first: a table ``(…, k - 1)``
for ``k`` labels. For two labels that one column is a vector ``(…,)``, the paper's ``c1 - c0``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairwise.constraints.groups import VALUE
from fairwise.errors import InputError, quote
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.inputs import listed
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray
from fairwise.learning.settings import FitSettings, LabelValues

MOST_LABELS = 64


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
    codes, classes = inputs.outcome_labels(y, table)
    if inputs.may_be_numbered(y, classes):
        _refuse_ambiguous(settings, classes.tolist())
    return labels_of(codes, classes, settings, judgments)


def labels_of(codes: IntArray, classes: ClassArray, settings: FitSettings, judgments: Judgments | None) -> Labels:
    """The same for people whose outcomes are these of the outcomes that occur, ``classes``, which are sorted."""
    declared = settings.label_values
    if declared is not None:
        inputs.refuse_unnamed(declared, classes)
        if len(declared) > len(classes):  # labels that are nobody's outcome may be decided, too
            labels = sorted(declared)
            place = np.array([labels.index(label) for label in classes.tolist()], dtype=np.intp)
            codes, classes = place[codes], np.array(labels, dtype=object if classes.dtype == object else None)
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
    """Return how good each class is ``(k,)``."""
    inputs.refuse_unnamed(label_values, classes)
    return np.array([float(label_values[label]) for label in classes.tolist()])


def _refuse_ambiguous(settings: FitSettings, classes: list[int]) -> None:
    """Refuse labels by number where scikit-learn may have numbered the outcomes, unless all of them are named.

    ``favorable_label=1`` is the second label of 0 and 1, but the first of 1 and 2, which scikit-learn also hands on as
    0 and 1. Only a setting that names every outcome, and nothing else, says which of the two is meant.
    """
    rules = settings.group_constraints
    for name, labels in (("label_values", settings.label_values), ("loss", getattr(settings.loss, "columns", None))):
        if labels is not None and len(labels) == len(classes):
            return  # checked against the outcomes elsewhere
        if labels is not None and len(labels) == 1 + classes[-1] and set(labels) == set(range(len(labels))):
            return  # its last label occurs, so numbering changed none of them
        if labels is not None and set(labels) > set(classes):
            raise InputError(
                f"{name} names {listed(list(labels))}, but scikit-learn hands on the outcomes "
                f"{listed(classes)} as numbers, which may be yours or count the labels that occur. {inputs.NUMBERED}"
            )
    named = {"favorable_label": [] if settings.favorable_label is None else [settings.favorable_label]}
    named["group_constraints"] = [label for label in rules if label != VALUE] if isinstance(rules, Mapping) else []
    for name, labels in named.items() if classes == list(range(len(classes))) else ():
        for label in set(labels) & set(classes):
            values = ", ".join(f"{number}: …" for number in classes)
            raise InputError(
                f"{name} names the outcome {label!r}, but scikit-learn hands on the outcomes {listed(classes)} as "
                f"numbers, which may be yours or count your labels in sorted order: name all of them, "
                f"label_values={{{values}}}. {inputs.NUMBERED}"
            )


def _refuse_unvalued(settings: FitSettings, classes: ClassArray, judgments: Judgments | None) -> None:
    """More than two labels need values as soon as anyone says who is to be treated how well."""
    if settings.favorable_label is None and (judgments is None or not len(judgments.frame)):
        return
    example = ", ".join(f"{label!r}: {value:.2g}" for label, value in _even(classes.tolist()[:4]))
    raise InputError(
        f"There are {len(classes)} different outcomes, {listed(classes.tolist())}: to treat people well or badly it "
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
    axes = {"rows": loss.index.tolist(), "columns": loss.columns.tolist()}
    for name, axis in axes.items():
        if len(axis) != len(labels) or set(axis) != set(labels):  # 1, 1.0 and True are one label
            raise InputError(
                f"loss: its {name} are {listed(axis)}, but the labels are {listed(labels)}: each must be there once."
                + inputs.numbered_hint(labels)
            )
    try:
        matrix = loss.astype(float)
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
