"""What the file of a model of amounts holds besides that of the classifier inside: its amounts, and what they cost."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import Any

import numpy as np

from fairwise.learning.amounts import LOSSES, MOST_AMOUNTS, Amounts
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.learning.model.document_checks import require
from fairwise.learning.regressor import PairwiseFairRegressor
from fairwise.results.certificate import Certificate
from fairwise.results.simpler_models import Simplification

Part = dict[str, Any]


def amounts_part(model: PairwiseFairRegressor) -> Part:
    """Plain values; the certificate is in units of the loss, where that of the classifier is in shares of it."""
    simplification = getattr(model, "simplification_", None)
    return {
        "amounts": asdict(model.amounts),
        "certificate": model.certificate_.to_json(),
        "simplification": None if simplification is None else simplification.to_json(),
    }


def fill(model: PairwiseFairRegressor, classifier: PairwiseFairClassifier, part: Part) -> PairwiseFairRegressor:
    """The model with these parts; a ValueError where they do not fit each other."""
    amounts = Amounts(**part["amounts"])
    check(amounts, model, classifier.classes_.tolist())
    classifier.amounts_of_labels = amounts
    model.set_parts(classifier)
    model.certificate_ = Certificate.from_json(part["certificate"])
    if part["simplification"] is not None:
        model.simplification_ = Simplification.from_json(part["simplification"])
    return model


def check(amounts: Amounts, model: PairwiseFairRegressor, classes: list[Any]) -> None:
    """Raise a ValueError for amounts that are none, or other than those that the classifier decides between."""
    low, high, size = amounts.low, amounts.high, amounts.size
    require(
        all(type(end) is float and isfinite(end) for end in (low, high)) and low < high and isfinite(high - low),
        "its amounts are from no number to another",
    )
    require(type(size) is int and 2 <= size <= MOST_AMOUNTS, "the number of its amounts is none")
    require(amounts.loss in LOSSES and amounts.loss == model.loss, "its loss is none, or another than it says")
    require(
        any(amounts.larger_is_better is known for known in (None, True, False))
        and amounts.larger_is_better == model.larger_is_better,
        "which amounts are better is not said, or twice",
    )
    require(
        len(classes) == size
        and all(type(one) is float for one in classes)
        and np.allclose(classes, amounts.grid, rtol=1e-9, atol=1e-9 * (high - low)),
        "it decides between other amounts",
    )
