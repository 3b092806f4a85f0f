"""A model fitted again to the training part of each split, with or without predicted judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd
from joblib import Parallel, delayed

from fairwise.judgments import Judgments
from fairwise.judgments.answer_model import AnswerModel
from fairwise.learning.large.passes import joblib_on
from fairwise.learning.solvers.progress import raise_interrupts

if TYPE_CHECKING:
    from fairwise.auditing.splits import Split

Extend: TypeAlias = Callable[[Judgments, Any], Judgments]
"""Adds predicted judgments to those of a training part, given the table of its people."""


def predictor(n_pairs: int, coverage: float, seed: int) -> Extend | None:
    """Return what adds so many predicted judgments; nothing for none."""
    return partial(_with_predicted, n_pairs=n_pairs, coverage=coverage, seed=seed) if n_pairs else None


def _with_predicted(asked: Judgments, people: Any, *, n_pairs: int, coverage: float, seed: int) -> Judgments:
    """Predict by what is learned from these judgments alone, about those judged and other people of this part."""
    answers = AnswerModel(random_state=seed).fit(asked)
    about = None
    if asked.by == "id" and isinstance(asked.people, pd.DataFrame):
        known = asked.person_ids().union(people.index, sort=False)
        about = asked.people[asked.people.index.isin(known)]
    return asked.extended(answers, n_pairs, coverage, people=about, random_state=seed)


def refit_all(
    what: tuple[object, object, object, Judgments | None],
    every: list[Split],
    more: Mapping[str, object],
    client: object,
    *,
    deterministic: bool,
    extend: Extend | None,
) -> Iterator[Any]:
    """The model fitted to the training part of each split, in their order."""
    refit = partial(_refit, *what, more=more, deterministic=deterministic, extend=extend)
    if client is None:
        yield from map(refit, every)
        return
    with joblib_on(client):
        yield from Parallel(n_jobs=-1, return_as="generator")(delayed(refit)(split) for split in every)


@raise_interrupts()
def _refit(
    model: object,
    people: object,
    outcome: Any,
    judgments: Judgments | None,
    split: Split,
    *,
    more: Mapping[str, object],
    deterministic: bool,
    extend: Extend | None,
) -> Any:
    from sklearn.base import clone  # who only audits scores does without scikit-learn
    from sklearn.utils import _safe_indexing

    n = len(outcome)
    chosen = {
        name: _safe_indexing(value, split.train_people) if hasattr(value, "__len__") and len(value) == n else value
        for name, value in more.items()
    }
    known = _safe_indexing(people, split.train_people)
    if judgments is not None:
        asked = judgments.select_answers(split.train)
        chosen["judgments"] = asked if extend is None else extend(asked, known)
    fitted = clone(model).fit(known, _safe_indexing(outcome, split.train_people), **chosen)
    return fitted.derandomize() if deterministic else fitted
