"""Fits for torture cases: what a model does, recomputed from its probabilities alone, and the best that can be done.

None of the package's own rows, budgets, encoders or solvers takes part in either: the answers are taken apart here, and
the best mixture of a listed class is a linear programme solved by scipy.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.support.listed_programme import least_error
from tests.support.torturing import Case

from fairwise import Judgments, PairwiseFairClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

CLOSE = 1e-6
FOUR = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
HALVES = (0, 0, 1, 1)
ESTIMATORS: dict[str, Any] = {
    "tree": "tree",
    "linear": "linear",
    "linear-regression": "linear-regression",
    "logistic": LogisticRegression(),
}


@dataclass(frozen=True, eq=False)
class Fitted:
    """What came of a fit: plain values, so that two fits can be compared to the last bit."""

    certificate: dict[str, Any]
    probability: Any
    draws: Any
    prices: dict[Any, Any]


@dataclass(frozen=True, eq=False)
class Fit:
    """People, outcomes, weights, answers ``(judge, a, b, answer[, weight])`` and settings of one fit."""

    people: Any = field(default_factory=lambda: FOUR)
    outcome: Any = HALVES
    said: tuple[tuple[Any, ...], ...] = ()
    weight: Any = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def rules(self) -> dict[str, Any]:
        """The settings with what is left out."""
        defaults = {"estimator": "tree", "gamma": 0.0, "eta": 0.0, "favorable_label": 1, "tol": 1e-8}
        return defaults | {"solver": "column-generation", "judge_budgets": None} | self.settings

    def model(self) -> PairwiseFairClassifier:
        return PairwiseFairClassifier(**self.rules).fit(
            self.people, list(self.outcome), judgments=self._judgments(), sample_weight=self.weight
        )

    def __call__(self) -> Fitted:
        model = self.model()
        return Fitted(
            certificate=vars(model.certificate_),
            probability=model.predict_proba(self.people)[:, 1],
            draws=model.predict(self.people),
            prices=model.prices_.to_dict("list"),
        )

    def _judgments(self) -> Judgments | None:
        if not self.said:
            return None
        names = ("judge", "a", "b", "answer", "weight")
        rows = [{"weight": 1.0} | dict(zip(names, row, strict=False)) for row in self.said]
        return Judgments(rows, by="id" if isinstance(self.people, pd.DataFrame) else "position")

    def answers(self) -> list[tuple[Any, list[tuple[int, int]], tuple[int, int], float]]:
        """Of each answer: the judge, the ordered pairs (i, j) in which j is owed what i gets, the pair, the weight."""
        place = {person: position for position, person in enumerate(getattr(self.people, "index", range(10**4)))}
        taken = []
        for judge, first, second, answer, *weight in self.said:
            a, b = place[first], place[second]
            owed = {"same": [(a, b), (b, a)], "a_at_least_b": [(b, a)], "b_at_least_a": [(a, b)], "no_constraint": []}
            taken.append((judge, owed[answer], (min(a, b), max(a, b)), float(weight[0]) if weight else 1.0))
        return taken

    def weights(self) -> Any:
        """Those of people, adding to 1."""
        given = np.ones(len(self.outcome)) if self.weight is None else np.asarray(self.weight, dtype=float)
        given = given / given.max()
        return given / given.sum()

    def labels(self) -> Any:
        return np.array([value == max(self.outcome) for value in self.outcome], dtype=float)

    def excess_weights(self) -> dict[tuple[int, int], float]:
        """How much a unit of excess of each ordered pair adds to the panel's mean excess."""
        answers = self.answers()
        whole = 2 * sum(weight for *_, weight in answers)
        if self.rules.get("weighting") == "panel":
            whole = 2 * len({pair for *_, pair, _ in answers}) * len({judge for judge, *_ in answers})
        share: dict[tuple[int, int], float] = defaultdict(float)
        for _, owed, _, weight in answers:
            for ordered in owed:
                share[ordered] += weight / whole if whole else 0.0
        return share


def optimum(fit: Fit, labellings: Any) -> float:
    """The least error of any mixture of these labellings ``(k, n)`` that keeps the rules, by a linear programme."""
    rules, share = fit.rules, fit.excess_weights()
    favorable = labellings if rules["favorable_label"] == max(fit.outcome) else 1 - labellings
    pairs, k = list(share), len(labellings)
    matrix: list[Any] = []
    limits: list[float] = []
    for number, (i, j) in enumerate(pairs):
        slack = -np.eye(len(pairs))[number]
        matrix.append(np.concatenate([favorable[:, i] - favorable[:, j], slack]))
        limits.append(rules["gamma"])
    nobody = np.zeros(k)
    if rules["eta"] is not None:
        matrix.append(np.concatenate([nobody, [share[pair] for pair in pairs]]))
        limits.append(rules["eta"])
    budgets = rules["judge_budgets"]
    judges = {judge for judge, *_ in fit.answers()}
    for judge in judges if budgets is not None else ():
        limit = budgets.get(judge) if isinstance(budgets, dict) else budgets
        mine = [answer for answer in fit.answers() if answer[0] == judge]
        own = {ordered for _, owed, _, _ in mine for ordered in owed}
        shown = len({pair for *_, pair, _ in mine})
        matrix.append(np.concatenate([nobody, [(pair in own) / (2 * shown) for pair in pairs]]))
        limits.append(np.inf if limit is None else limit)
    errors = np.abs(labellings - fit.labels()) @ fit.weights()
    if not matrix:
        return float(errors.min())
    return least_error(errors, matrix, limits, len(pairs))


def every_labelling(fit: Fit) -> Any:
    """All ways of labelling people of whom equals are labelled equally: the class of trees deep enough for them."""
    rows = pd.DataFrame(fit.people).apply(tuple, axis=1)
    codes = pd.factorize(rows)[0]
    return np.array(list(product([0.0, 1.0], repeat=codes.max() + 1)))[:, codes]


def thresholds(fit: Fit) -> Any:
    """Both sides of every cut of the one column, and both constants: the class of linear thresholds."""
    column = np.asarray(fit.people, dtype=float)[:, 0]
    cuts = [column >= value for value in [*np.unique(column), np.inf]]
    return np.array([*cuts, *(~np.array(cut) for cut in cuts)], dtype=float)


def consistent(fit: Fit, fitted: Fitted) -> None:
    """What the certificate says is what the probabilities do, and the rules are kept as far as the solver promises."""
    told, rules, r = fitted.certificate, fit.rules, fitted.probability
    assert ((r >= 0) & (r <= 1)).all()
    assert set(fitted.draws.tolist()) <= set(fit.outcome)
    assert told["error"] == pytest.approx(float(np.abs(r - fit.labels()) @ fit.weights()), abs=CLOSE)
    favorable = r if rules["favorable_label"] == max(fit.outcome) else 1 - r
    violation = {pair: max(0.0, favorable[pair[0]] - favorable[pair[1]]) for pair in fit.excess_weights()}
    excess = {pair: max(0.0, value - rules["gamma"]) for pair, value in violation.items()}
    mean_excess = sum(share * excess[pair] for pair, share in fit.excess_weights().items())
    assert told["max_violation"] == pytest.approx(max(violation.values(), default=0.0), abs=CLOSE)
    assert told["mean_excess"] == pytest.approx(mean_excess, abs=CLOSE)
    assert np.isnan(told["lower_bound"]) == (told["kind"] == "heuristic")
    assert np.isfinite(told["oracle_bound"])
    assert len(fitted.prices["price"]) == len(fit.said)
    assert (np.array(fitted.prices["price"]) >= 0).all()
    if rules["solver"] == "column-generation":
        assert told["kind"] == "heuristic" or told["lower_bound"] <= told["error"] + 1e-9
        assert told["kind"] == "heuristic" or told["gap"] <= CLOSE
        assert rules["eta"] is None or mean_excess <= rules["eta"] + CLOSE


def right(fit: Fit, error: float | None, fitted: Fitted) -> None:
    """Consistent, with the error expected: this one; or else the best of a tree's class, or near that of thresholds."""
    consistent(fit, fitted)
    told = fitted.certificate
    if error is not None:
        assert told["error"] == pytest.approx(error, abs=CLOSE)
    elif fit.rules["estimator"] == "tree":
        assert told["error"] == pytest.approx(optimum(fit, every_labelling(fit)), abs=CLOSE)
    else:
        share = float(fit.weights() @ fit.labels())
        assert optimum(fit, thresholds(fit)) - CLOSE <= told["error"] <= min(share, 1 - share) + CLOSE


def fit_case(name: str, fit: Fit, error: float | None = None) -> Case:
    """A fit of column generation with its error known, or with the best of its class."""
    return Case(name, fit, partial(right, fit, error))


def for_each_estimator(name: str, make: Callable[[Any], Fit], error: float | None = None) -> list[Case]:
    return [fit_case(f"{name}, {which}", make(estimator), error) for which, estimator in ESTIMATORS.items()]
