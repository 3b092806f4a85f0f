"""What all participants have in common, as text that reads back to the same numbers, every digit of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.errors import InputError
from fairwise.study.active.logit import Prior

if TYPE_CHECKING:
    from fairwise.study.active.chooser import ActiveChooser
    from fairwise.study.active.model import AnswerModel


def written(model: AnswerModel) -> str:
    """Return the two priors as JSON; what is seen of people is the study's, and not repeated."""
    priors = {"same": model.same, "order": model.order}
    return json.dumps(
        {
            name: None if prior is None else {"mean": prior.mean.tolist(), "variance": prior.variance.tolist()}
            for name, prior in priors.items()
        }
    )


def restored(chooser: ActiveChooser, parameters: str, learned_from: int) -> ActiveChooser:
    """Return the chooser that had learned this, from another one about the same people."""
    model = chooser.model
    try:
        found = json.loads(parameters)
        same, order = found["same"], found["order"]
        priors = _prior(same, model.same), None if model.order is None else _prior(order, model.order)
    except (ValueError, TypeError, KeyError, OverflowError):
        raise InputError("its parameters are not those of a model of answers about these people") from None
    return replace(chooser, model=replace(model, same=priors[0], order=priors[1]), answers_so_far=learned_from)


def _prior(numbers: dict[str, Any], like: Prior) -> Prior:
    mean, variance = (np.asarray(numbers[name], dtype=np.float64) for name in ("mean", "variance"))
    possible = np.isfinite(mean).all() and np.isfinite(variance).all() and (variance > 0).all()
    if mean.shape != like.mean.shape or variance.shape != mean.shape or not possible:
        raise ValueError
    return Prior(mean, variance)
