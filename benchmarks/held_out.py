"""Training and held-out error of `linear` beside those of other models, with judgments and without."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold

from benchmarks.row import Row, table
from fairwise import PairwiseFairClassifier
from fairwise.datasets import load_compas, load_german_credit, make_people
from fairwise.simulation import Roles, simulate_panel

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from fairwise.judgments import Judgments
    from fairwise.learning.oracles.base import FloatArray

    Errors = dict[str, FloatArray]

_FOLDS = 5
_REPEATS = 4
_GAMMAS = (0.1, 0.3)
_JUDGES, _PAIRS = 10, 30
_NEAR = 0.005
_LINEAR, _LOGISTIC = "`linear`", "`LogisticRegression`"
_MODELS: dict[str, dict[str, Any]] = {
    _LINEAR: {"estimator": "linear"},
    "`linear-regression`": {"estimator": "linear-regression"},
    "`tree`, depth 2": {"estimator": "tree", "max_thresholds": 200},
    _LOGISTIC: {"estimator": LogisticRegression(max_iter=1000)},
}
_GERMAN_ROLES = Roles(demographics=("age", "personal_status_sex", "foreign_worker"), record=("credit_history",))


def run() -> Row:
    plain = {name: _over_folds(people, outcome, _REPEATS) for name, people, outcome in _data()}
    asked = {
        (name, gamma): _over_folds(people, outcome, 1, gamma)
        for name, people, outcome in _data()
        if name != _MADE_UP
        for gamma in _GAMMAS
    }
    above = {name: _mean(errors[_LINEAR])[1] - _mean(errors[_LOGISTIC])[1] for name, errors in plain.items()}
    lines = [[name, *_cells(errors)] for name, errors in plain.items()]
    asked_lines = [[name, f"{gamma}", *_cells(errors)] for (name, gamma), errors in asked.items()]
    return Row(
        what="`linear`: training and held-out error against logistic regression",
        bar=f"held-out error at most {_NEAR} above",
        measured="; ".join(
            f"{name}: {_both(errors[_LINEAR])} against {_both(errors[_LOGISTIC])}" for name, errors in plain.items()
        )
        + " (training → held out)",
        reached=max(above.values()) <= _NEAR,
        notes=f"Means over {_FOLDS} folds, training → held out; without judgments {_REPEATS} times with other folds. "
        "The least training error is what the search of `linear` finds where nothing but the training people counts, "
        "as in a fit with judgments of which none binds.\n\n"
        + table(["without judgments", *next(iter(plain.values()))], lines)
        + f"\n\nWith {_JUDGES} simulated judges × {_PAIRS} pairs among the people of each training part, eta = 0:\n\n"
        + table(["with judgments", "gamma", *next(iter(asked.values()))], asked_lines),
    )


_MADE_UP = "made up"


def _data() -> Iterator[tuple[str, pd.DataFrame, pd.Series]]:
    yield "COMPAS", *load_compas()
    yield "German credit", *load_german_credit()
    yield _MADE_UP, *make_people(1000, 20, 0)


def _over_folds(people: pd.DataFrame, outcome: pd.Series, repeats: int, gamma: float | None = None) -> Errors:
    """For each model ``(folds, 2)``: the error on the training part and on the held-out part."""
    found: dict[str, list[tuple[float, float]]] = {}
    folds = RepeatedStratifiedKFold(n_splits=_FOLDS, n_repeats=repeats, random_state=0)
    for train, test in folds.split(people, outcome):
        seen = people.iloc[train]
        panel = _panel(seen)
        for name, given in _MODELS.items():
            asked = given if gamma is None else given | {"gamma": gamma}
            model = PairwiseFairClassifier(**asked, favorable_label=1)
            model.fit(seen, outcome.iloc[train], judgments=None if gamma is None else panel)
            found.setdefault(name, []).append(_errors(model, people, outcome, train, test))
        if gamma is None:
            least = PairwiseFairClassifier("linear", eta=None, favorable_label=1)  # no budget: nothing is asked
            least.fit(seen, outcome.iloc[train], judgments=panel)
            found.setdefault("least training error", []).append(_errors(least, people, outcome, train, test))
    return {name: np.array(errors) for name, errors in found.items()}


def _panel(people: pd.DataFrame) -> Judgments:
    how: dict[str, Any] = {"roles": _GERMAN_ROLES} if "credit_history" in people.columns else {}
    return simulate_panel(people, n_judges=_JUDGES, n_pairs=_PAIRS, seed=0, **how)


def _errors(model: Any, people: pd.DataFrame, outcome: pd.Series, *parts: FloatArray) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* never seen in training")
        probability = model.predict_proba(people)[:, 1]
    wrong = np.abs(outcome.to_numpy() - probability)
    return tuple(float(wrong[part].mean()) for part in parts)  # type: ignore[return-value]


def _mean(errors: FloatArray) -> FloatArray:
    return np.asarray(errors.mean(axis=0))


def _both(errors: FloatArray) -> str:
    return " → ".join(f"{each:.4f}" for each in _mean(errors))


def _cells(errors: Errors) -> list[str]:
    return [_both(each) for each in errors.values()]
