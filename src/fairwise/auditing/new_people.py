"""Error on people left out of a fit: of the model, of the plain one, and of deciding the same for everyone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.auditing import checks
from fairwise.auditing.decisions import chances, label_costs, outcome_numbers, person_costs
from fairwise.auditing.error_measure import ErrorMeasure
from fairwise.auditing.held_out import answer_index
from fairwise.auditing.prices import plain_clone
from fairwise.auditing.splits import mean_interval, refit_all, splits
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.results.certificate import Baseline, HeldOutErrors

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.auditing.error_measure import Model
    from fairwise.constraints.pairs import FloatArray
    from fairwise.judgments import Judgments


def held_out_errors(
    model: Model,
    people: pd.DataFrame,
    outcome: pd.Series[Any],
    judgments: Judgments,
    *,
    fit_params: Mapping[str, object] | None = None,
    deterministic: bool = False,
    test_size: float = 0.3,
    n_repeats: int = 3,
    confidence: float = 0.95,
    seed: int = 0,
) -> HeldOutErrors:
    """Refit a model with and without judgments on part of the people, and measure both on the others.

    The splits are those of :func:`fairwise.auditing.held_out` by pair, whose error is the same number. Models of
    amounts are measured, too.

    Parameters
    ----------
    model : PairwiseFairClassifier or PairwiseFairRegressor
        Settings of every fit.
    people, outcome, judgments
        As for ``fit``, people by id or in order.
    fit_params : mapping, optional
        More for ``fit``, such as sensitive_features; what has one entry per person is split along. The plain model gets
        all of it but sensitive_features, and errors are means with the weights of ``sample_weight``.
    deterministic : bool
        Whether each refit with judgments decides without chance (``derandomize``).
    test_size, n_repeats, confidence, seed
        Share of people left out, how many random splits, and of the intervals, which are over the people left out.

    Returns
    -------
    HeldOutErrors
        Means over the splits; differences are of the same people.
    """
    asked = checks.some_judgments(judgments).asked()
    complete = asked if asked.people is not None else asked.about(people)
    index = answer_index(complete, PairRows.from_judgments(complete), people, len(people))
    every = list(splits(index, "pair", test_size=test_size, folds=None, n_repeats=n_repeats, seed=seed))
    params = fit_params or {}
    given = params.get("sample_weight")
    weight = np.ones(len(people)) if given is None else np.asarray(given, dtype=float)
    if not all(weight[split.test_people].any() and len(split.train_people) and split.train.any() for split in every):
        raise InputError("held_out_errors: too few people or answers to leave some out")
    plain = plain_clone(model)
    fair_models = refit_all(
        (model, people, outcome, complete), every, params, None, deterministic=deterministic, extend=None
    )
    no_groups = {name: value for name, value in params.items() if name != "sensitive_features"}
    plain_models = refit_all((plain, people, outcome, None), every, no_groups, None, deterministic=False, extend=None)
    lines: list[FloatArray] = []
    training = []
    for split, fair, unbound in zip(every, fair_models, plain_models, strict=True):
        sides = [(people.iloc[side], outcome.iloc[side]) for side in (split.train_people, split.test_people)]
        (known, known_right), (new, right) = [(side, outcome_numbers(y, side, fair).to_numpy()) for side, y in sides]
        known_weight, new_weight = weight[split.train_people], weight[split.test_people]
        best = (known_weight @ label_costs(fair, known_right)).argmin()
        errors = _errors(fair, new, right)
        baselines = _errors(unbound, new, right), label_costs(fair, right)[:, best]
        largest = ErrorMeasure.of_model(fair).largest
        mean = partial(_mean, weight=new_weight, largest=largest, confidence=confidence)
        lines.append(
            np.stack(
                [mean(errors)]
                + [mean(other) for other in baselines]
                + [mean(other - errors, least=-largest) for other in baselines]
            )
        )
        training.append(float(np.average(_errors(fair, known, known_right), weights=known_weight)))
    own, *others = np.mean(lines, axis=0).tolist()
    found = [Baseline(*others[place], *others[place + 2]) for place in (0, 1)]
    return HeldOutErrors(own[0], float(np.mean(training)), own[1], own[2], len(every), *found)


def _errors(model: Model, people: pd.DataFrame, right: Any) -> FloatArray:
    return person_costs(model, chances(model, people), right)


def _mean(
    values: FloatArray, *, weight: FloatArray, largest: float, confidence: float, least: float = 0.0
) -> FloatArray:
    """``(3,)`` the weighted mean of numbers from `least` to `largest`, and the ends of its interval."""
    width = largest - least
    return np.array(mean_interval((values - least) / width, confidence, weight)) * width + least
