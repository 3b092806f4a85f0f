"""Pairs nobody was asked about: drawn at random, kept where the model is sure what would be said."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.errors import InputError, some
from fairwise.judgments.answer import Answer, PairDesign
from fairwise.judgments.answer_model.rows import people_table

if TYPE_CHECKING:
    from fairwise.judgments.answer_model.model import AnswerModel
    from fairwise.judgments.table import Judgments
    from fairwise.judgments.validation import People

# So many candidates are looked at for each row wanted, before it is taken that there are no more.
_CANDIDATES_PER_ROW = 40
_AT_ONCE = 20_000


def predicted_rows(
    model: AnswerModel, judgments: Judgments, among: People | None, n_pairs: int, coverage: float, random_state: int
) -> pd.DataFrame:
    """Return up to `n_pairs` rows, each for a judge and a pair of people that this judge was not asked about.

    They are drawn from `among`, or from those whom the judgments are about.
    """
    source = judgments if among is None else among
    people = people_table(source, judgments.by)
    if isinstance(n_pairs, bool) or not isinstance(n_pairs, Integral) or n_pairs < 1:
        raise InputError(f"n_pairs={n_pairs!r}; allowed: a whole number, 1 or more")
    if len(people) < 2:
        raise InputError("people: two or more are needed to make pairs of")
    check_seed(random_state)
    _check_known(judgments, model.judges_, people.index)
    rng = np.random.default_rng(random_state)
    ours = set(judgments.frame["judge"])
    judges = pd.Series([judge for judge in model.judges_ if judge in ours], dtype=object)
    taken = _asked(judgments, judges, people.index)
    kept: list[pd.DataFrame] = []
    found, looked_at = 0, 0
    while found < n_pairs and looked_at < _CANDIDATES_PER_ROW * n_pairs:
        judge, left, right = _candidates(rng, len(judges), len(people), taken)
        looked_at += _AT_ONCE
        pairs = pd.DataFrame(
            {"judge": judges.take(judge).to_numpy(), "a": people.index.take(left), "b": people.index.take(right)}
        )
        sure = _sure(model, pairs, source, coverage).head(n_pairs - found)
        kept.append(sure)
        found += len(sure)
        if not len(judge):
            break
    if not found:
        raise InputError(
            f"extended: at coverage {coverage:g} no pair has a set of one answer, so nothing can be predicted; a lower "
            "coverage, or more answers to learn from, may help"
        )
    rows = pd.concat(kept, ignore_index=True)
    same_type = rows["judge"].astype(judgments.frame["judge"].dtype)
    return rows.assign(
        judge=same_type, design=str(PairDesign.PREDICTED), round=1, error_bound=model.error_bound(coverage)
    )


def check_seed(seed: object) -> None:
    """Refuse what cannot seed a draw."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or int(seed) < 0:
        raise InputError(f"random_state={seed!r}; allowed: a whole number, 0 or more")


def _check_known(judgments: Judgments, judges: list[object], people: pd.Index) -> None:
    """What sets were not calibrated for, or whom no row describes, cannot be predicted."""
    frame = judgments.frame
    strangers = frame["judge"][~frame["judge"].isin(judges)].unique()
    if len(strangers):
        raise InputError(
            f"extended: the model has learned nothing from {some(strangers)}; fit it to these judgments, or to "
            "others of the same judges"
        )
    missing = judgments.person_ids().difference(people, sort=False)
    if len(missing):
        raise InputError(f"people: without {some(missing)}, whom judgments are about; give the rows of everybody")


def _asked(judgments: Judgments, judges: pd.Series, people: pd.Index) -> set[tuple[int, int, int]]:
    """Return what was asked or predicted already, as places of judge and people, the lower first."""
    frame = judgments.frame
    places = [
        pd.Index(judges).get_indexer(pd.Index(frame["judge"])),
        *(people.get_indexer(pd.Index(frame[side])) for side in "ab"),
    ]
    return {(int(j), min(int(a), int(b)), max(int(a), int(b))) for j, a, b in zip(*places, strict=True)}


def _candidates(
    rng: np.random.Generator, n_judges: int, n_people: int, taken: set[tuple[int, int, int]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return judges and pairs that are new, each once, and note them as taken."""
    drawn = np.stack([rng.integers(n_judges, size=_AT_ONCE), *rng.integers(n_people, size=(2, _AT_ONCE))])
    new = []
    for judge, left, right in drawn[:, drawn[1] != drawn[2]].T.tolist():
        key = (judge, min(left, right), max(left, right))
        if key not in taken:
            taken.add(key)
            new.append((judge, left, right))
    judge, left, right = np.array(new, dtype=np.int64).reshape(-1, 3).T
    return judge, left, right


def _sure(model: AnswerModel, pairs: pd.DataFrame, people: Any, coverage: float) -> pd.DataFrame:
    """Return the pairs whose set has one answer, with it and its probability."""
    if not len(pairs):
        return pairs.assign(answer=pd.Series(dtype=str), weight=pd.Series(dtype=np.float64))
    sets = model.predict_sets(pairs, coverage, people=people).to_numpy(dtype=bool)
    chance = model.predict_proba(pairs, people=people).to_numpy()
    single = sets.sum(axis=1) == 1
    which = sets[single].argmax(axis=1)
    answers = np.array([str(answer) for answer in Answer], dtype=object)[which]
    sure: pd.DataFrame = pairs[single].assign(answer=answers, weight=chance[single, which]).reset_index(drop=True)
    return sure
