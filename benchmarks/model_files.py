"""How large a saved model is, and how long a mixture of Pipelines takes for one person."""

from __future__ import annotations

import warnings
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.compas import panel, people
from benchmarks.row import Row, seconds
from fairwise import PairwiseFairClassifier

_GAMMA = 0.1
_REPEATS = 300
_ROUNDS = 30  # of the game, each of which leaves a Pipeline
_MOST_BYTES, _MOST_TIMES = 25_000, 3.0


def run() -> Row:
    table, outcome = people()
    trees = _fitted("tree")
    pipeline = _pipeline()
    mixture = _fitted(pipeline, solver="no-regret", n_rounds=_ROUNDS)
    plain = clone(pipeline).fit(table, outcome)
    one = table.iloc[[3]]
    in_turn = [
        (seconds(lambda: mixture.predict_proba(one)), seconds(lambda: plain.predict_proba(one)))
        for _ in range(_REPEATS)
    ]
    ours, theirs = (median(times) for times in zip(*in_turn, strict=True))
    of_trees, of_pipelines = _size(trees), _size(mixture)
    return Row(
        what="a saved tree model; one row through a mixture of logistic Pipelines, against the plain Pipeline",
        bar=f"≤ {_MOST_BYTES // 1000} KB; ≤ {_MOST_TIMES:g} times",
        measured=f"{of_trees / 1000:.1f} KB; {ours / theirs:.2f} times "
        f"({1e3 * ours:.1f} ms against {1e3 * theirs:.1f} ms)",
        reached=of_trees <= _MOST_BYTES and ours <= _MOST_TIMES * theirs,
        notes=f"COMPAS, 43 simulated judges × 50 pairs, gamma = {_GAMMA}: {len(trees.weights_)} trees, and "
        f"{len(mixture.weights_)} Pipelines of {_ROUNDS} rounds of the no-regret game in a file of "
        f"{of_pipelines / 1000:.1f} KB. Medians of {_REPEATS}, in turn.",
        ratios={"bar / tree model's file": _MOST_BYTES / of_trees, "plain Pipeline / mixture": theirs / ours},
    )


def _fitted(estimator: str | Pipeline, **settings: Any) -> PairwiseFairClassifier:
    table, outcome = people()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a heuristic says so
        return PairwiseFairClassifier(estimator, gamma=_GAMMA, **settings).fit(table, outcome, judgments=panel())


def _pipeline() -> Pipeline:
    words = make_column_selector(dtype_exclude="number")
    one_hot = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder=StandardScaler())
    return make_pipeline(one_hot, LogisticRegression(max_iter=200))


def _size(model: PairwiseFairClassifier) -> int:
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.skops")
        return (Path(folder) / "model.skops").stat().st_size
