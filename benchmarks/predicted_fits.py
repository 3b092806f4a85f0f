"""Fits that also use predicted judgments, beside fits on asked ones alone, at equal error; simulated panels."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from fairwise import AnswerModel, Judgments, PairwiseFairClassifier, audit
from fairwise.datasets import load_compas
from fairwise.simulation import Respondent, draw_pairs, draw_respondents, simulate_panel

_ETAS = (0.0, 0.02, 0.05, 0.1)
_PEOPLE, _ASKED, _PREDICTED, _COVERAGE, _MEASURED = 300, 10, 600, 0.8, 300
_ITERATIONS = 60  # of a search; what is left to gain then is small beside the differences measured here


class Ratios(NamedTuple):
    """Violation over all pairs, in parts of that of fits on asked judgments alone, at equal error."""

    predicted: float
    known: float | None
    """With what judges really think of so many more pairs, in the place of predictions: no model could do better."""


def violation_ratios(
    seed: int,
    judges: int,
    estimator: object = "linear",
    *,
    kinds: list[str] | None = None,
    columns: list[str] | None = None,
    known: bool = False,
) -> Ratios:
    """Fit with several allowances each, and compare the two curves of violation over error.

    `kinds` are those of the simulated judges, by default a mix; `columns` is what the model of answers sees of people,
    by default all that judges do.
    """
    people, outcome = load_compas()
    ids = np.random.default_rng(seed).choice(people.index, _PEOPLE, replace=False)
    people, outcome = people.loc[ids], outcome.loc[ids]
    respondents = draw_respondents(people, judges, seed=seed, kinds=kinds)
    asked = simulate_panel(people, judges, _ASKED, answers="four", seed=seed, respondents=respondents)
    extended = asked.extended(AnswerModel(columns=columns).fit(asked), _PREDICTED, _COVERAGE, people=people)
    truth = opinions(respondents, people, _MEASURED, seed)
    curves = [_curve(estimator, people, outcome, judgments, truth) for judgments in (asked, extended)]
    if known:
        more = opinions(respondents, people, round(_PREDICTED / judges), seed + 50_000)
        both = pd.concat([each.frame[["judge", "a", "b", "answer"]] for each in (asked, more)], ignore_index=True)
        sides = np.sort(both[["a", "b"]].to_numpy(), axis=1)
        both = both[~both.assign(a=sides[:, 0], b=sides[:, 1]).duplicated(["judge", "a", "b"])]
        curves.append(_curve(estimator, people, outcome, Judgments(both, people=people), truth))
    ratios = [ratio_at_equal_error(curve, curves[0]) for curve in curves[1:]]
    return Ratios(ratios[0], ratios[1] if known else None)


def opinions(respondents: list[Respondent], people: pd.DataFrame, n_pairs: int, seed: int) -> Judgments:
    """What simulated judges really think of pairs drawn for each."""
    rows = []
    for number, judge in enumerate(respondents):
        pairs = draw_pairs(people, 1, n_pairs, seed=10_000 + 100 * seed + number)[0]
        sides = [people.loc[[pair[side] for pair in pairs]] for side in (0, 1)]
        rows += [(judge.name, *pair, str(meant)) for pair, meant in zip(pairs, judge.opinions(*sides), strict=True)]
    return Judgments(pd.DataFrame(rows, columns=["judge", "a", "b", "answer"]), people=people)


def _curve(
    estimator: object, people: pd.DataFrame, outcome: pd.Series, judgments: Judgments, truth: Judgments
) -> np.ndarray:
    """Return ``(2, E)``: errors, ascending, and the mean excess over true opinions, of fits with several allowances."""
    points = []
    for eta in _ETAS:
        model = PairwiseFairClassifier(estimator, gamma=0.0, eta=eta, favorable_label=0, max_iter=_ITERATIONS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(people, outcome, judgments=judgments)
        scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
        violated = audit(scores, truth, gamma=0.0, favorable_label=0).overall.loc["value", "mean_excess"]
        points.append((model.certificate_.error, violated))
    return np.array(sorted(points)).T


def ratio_at_equal_error(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the mean violation of one curve over that of the other, where both have points."""
    low, high = max(ours[0].min(), theirs[0].min()), min(ours[0].max(), theirs[0].max())
    errors = np.linspace(low, high, 15)
    return float(np.interp(errors, *ours).mean() / np.interp(errors, *theirs).mean())
