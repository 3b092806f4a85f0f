"""Log-loss on answers never seen: the model of answers beside logistic regressions with the same features."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from benchmarks.answer_data import COLUMNS, Said
from fairwise import AnswerModel
from fairwise.judgments.answer_model.encoding import PeopleEncoder

_PENALTIES = np.logspace(-4, 3, 8)


class Losses(NamedTuple):
    """Mean log-losses."""

    model: float
    own: float
    """Of a regression of each judge's own."""

    one: float
    """Of one regression for all."""

    @property
    def below_better(self) -> float:
        return 1 - self.model / min(self.own, self.one)

    @property
    def below_own(self) -> float:
        return 1 - self.model / self.own


def compared(said: Said, test: np.ndarray, known: int | None = None) -> Losses:
    """Learn from the rest, or of each judge from the first `known` answers of it."""
    place = said.frame[~test].groupby("judge").cumcount().reindex(said.frame.index, fill_value=len(said.frame))
    train = ~test if known is None else (place < known).to_numpy()
    model = AnswerModel(answers=said.given).fit(said.judgments(train))
    right = said.frame["answer"][test].map({name: number for number, name in enumerate(COLUMNS)}).to_numpy()
    predicted = model.predict_proba(said.frame[test], people=said.people).to_numpy()[np.arange(test.sum()), right]
    return Losses(float(-np.log(predicted).mean()), *_regressions(said, train, test))


def _regressions(said: Said, train: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    encoder = PeopleEncoder.learn(said.people)
    people = encoder.encode(said.people)
    left, right = (said.people.index.get_indexer(pd.Index(said.frame[side])) for side in ("a", "b"))
    features = np.hstack([people.distances(left, right)[:, 1:], people.merit_differences(left, right)])
    spread = features[train].std(axis=0)
    features = (features - features[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    answer = said.frame["answer"].map({name: number for number, name in enumerate(said.given)}).to_numpy()
    shares = np.bincount(answer[train], minlength=len(said.given)) + 0.5
    shares = shares / shares.sum()
    judge = said.frame["judge"].to_numpy()
    own = np.empty(len(answer))
    for each in np.unique(judge[test]):
        rows, out = train & (judge == each), test & (judge == each)
        own[out] = _best(features[rows], answer[rows], shares)(features[out], answer[out])
    one = _best(features[train], answer[train], shares)(features[test], answer[test])
    return float(own[test].mean()), float(one.mean())


def _best(x: np.ndarray, y: np.ndarray, shares: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the losses of a regression whose penalty does best on five held-out parts."""
    if len(y) < 2:
        return partial(_losses, x, y, shares, 1.0)
    folds = list(KFold(min(5, len(y)), shuffle=True, random_state=0).split(x))
    losses = [sum(_losses(x[i], y[i], shares, c, x[o], y[o]).sum() for i, o in folds) for c in _PENALTIES]
    return partial(_losses, x, y, shares, _PENALTIES[int(np.argmin(losses))])


def _losses(
    x: np.ndarray, y: np.ndarray, shares: np.ndarray, c: float, other_x: np.ndarray, other_y: np.ndarray
) -> np.ndarray:
    """Beside its answers a regression counts one more, spread as those of all, so that none is impossible."""
    predicted = np.zeros((len(other_x), len(shares)))
    if len(np.unique(y)) == 1:
        predicted[:, y[0]] = 1
    else:
        fitted = LogisticRegression(C=c, max_iter=2000).fit(x, y)
        predicted[:, fitted.classes_] = fitted.predict_proba(other_x)
    predicted = (len(y) * predicted + shares) / (len(y) + 1)
    losses: np.ndarray = -np.log(predicted[np.arange(len(other_y)), other_y])
    return losses
