"""Measures of error and their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pandas as pd

from fairwise.errors import InputError
from fairwise.judgments.reliability import wilson

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from fairwise.learning.amounts import Amounts
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.regressor import PairwiseFairRegressor

    Model: TypeAlias = PairwiseFairClassifier | PairwiseFairRegressor

_CONFIDENCE = 0.95


def is_of_amounts(model: Model) -> TypeIs[PairwiseFairRegressor]:
    """Whether what a model decides is an amount; asked so that no scikit-learn is loaded for it."""
    return hasattr(model, "amounts")


def refuse_amounts(what: str, model: object) -> None:
    """Refuse a model of amounts, fitted or not, where labels are counted."""
    if hasattr(model, "larger_is_better"):
        raise InputError(f"{what} is for classifiers so far, not for models of amounts.")


@dataclass(frozen=True)
class ErrorMeasure:
    """Measure of error: the ``share`` of people decided wrongly, or a mean of what decisions ``cost``.

    Of amounts that is how far they are from what was recorded, ``squared`` or ``absolute``, in a ``unit``.
    """

    kind: Literal["share", "cost", "squared", "absolute"] = "share"
    largest: float = 1.0
    """Largest cost of one decision."""

    unit: str = ""

    @classmethod
    def of(cls, loss: pd.DataFrame | None, amounts: Amounts | None = None) -> ErrorMeasure:
        """Return the measure for a classifier's ``loss``, or for a regressor's amounts, which know theirs."""
        if amounts is not None:
            return cls("squared" if amounts.loss == "squared" else "absolute", amounts.unit)
        return cls() if loss is None else cls("cost", float(np.max(loss.to_numpy(dtype=float))))

    @classmethod
    def of_model(cls, model: Model) -> ErrorMeasure:
        """Return the measure of a fitted model."""
        return cls.of(None, model.amounts) if is_of_amounts(model) else cls.of(model.loss)

    @property
    def is_share(self) -> bool:
        """Whether it is a share of people."""
        return self.kind == "share"

    def interval(self, error: float, n_people: float) -> tuple[float, float]:
        """Return the interval of an error, 95 times in 100, for other people like these.

        Of numbers between 0 and ``largest`` with a given mean none vary more than those that are one or the other, so
        the interval of a share holds for what is between, too.
        """
        low, high = wilson(error / self.largest * n_people, n_people, _CONFIDENCE)
        return self.largest * float(low), self.largest * float(high)
