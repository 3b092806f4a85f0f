"""Splits of what people said, by pair, by person or by judge, and refits to the parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fairwise.auditing.intervals import AVERAGES, LEAST_JUDGES, LEAST_PAIRS, Units, ends, ratio
from fairwise.judgments import Judgments
from fairwise.judgments.answer_model import AnswerModel
from fairwise.learning.large.passes import joblib_on
from fairwise.learning.solvers.progress import raise_interrupts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.intervals import AnswerMeans
    from fairwise.constraints.pairs import FloatArray, IntArray


By = Literal["pair", "person", "judge"]


@dataclass(frozen=True, eq=False)
class AnswerIndex:
    """Answers as numbers: ``(N,)`` judges, pairs and people a and b.

    People are numbered as in the table of ``n_people``; judged people who are not in it follow after.
    """

    judge: IntArray
    pair: IntArray
    a: IntArray
    b: IntArray
    n_people: int


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of people, and which answers, are for training and held out; ``dropped`` answers are neither."""

    train_people: IntArray
    test_people: IntArray
    train: NDArray[np.bool_]
    test: NDArray[np.bool_]

    @property
    def dropped(self) -> int:
        """Number of answers about one person of each side."""
        return int((~self.train & ~self.test).sum())


def splits(
    index: AnswerIndex, by: By, *, test_size: float, folds: int | None, n_repeats: int, seed: int
) -> Iterator[Split]:
    """``n_repeats`` random splits, or ``folds`` parts of which each is held out once.

    People are split as well, because error is about people. By judge and by pair that is a split of its own; by person
    it is the same one: an answer is held out when both its people are, and dropped when only one is.
    """
    shares = np.array([1 - test_size, test_size]) if folds is None else np.full(folds, 1 / folds)
    for repeat in range(n_repeats if folds is None else 1):
        rng = np.random.default_rng([seed, repeat])
        person = _assign_people(index, by, shares, rng)
        if by == "person":
            side_a, side_b = person[index.a], person[index.b]
        else:
            unit = index.judge if by == "judge" else index.pair
            side_a = side_b = _assign_parts(np.ones(int(unit.max(initial=-1)) + 1), shares, rng)[unit]
        of_people = person[: index.n_people]
        for held_out in [1] if folds is None else range(folds):
            yield Split(
                train_people=np.flatnonzero(of_people != held_out),
                test_people=np.flatnonzero(of_people == held_out),
                train=(side_a != held_out) & (side_b != held_out),
                test=(side_a == held_out) & (side_b == held_out),
            )


def _assign_people(index: AnswerIndex, by: By, shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """A part for each person; people linked by answers stay together as long as there are few enough of them."""
    n_nodes = max(index.n_people, int(max(index.a.max(initial=-1), index.b.max(initial=-1))) + 1)
    if by != "person":
        return _assign_parts(np.ones(n_nodes), shares, rng)
    judged = np.zeros(n_nodes, dtype=bool)
    judged[index.a] = judged[index.b] = True
    block = _components(index.a, index.b, n_nodes)
    # Too many to be held out together: these people are split one by one, which drops the answers between.
    crowded = (np.bincount(block) > shares.min() * judged.sum())[block]
    block[crowded] = block.max() + 1 + np.arange(int(crowded.sum()))
    part = np.empty(n_nodes, dtype=np.intp)
    for chosen in (judged, ~judged):
        _, own = np.unique(block[chosen], return_inverse=True)
        part[chosen] = _assign_parts(np.bincount(own).astype(float), shares, rng)[own]
    return part


def _assign_parts(sizes: FloatArray, shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """A part for each block, in random order but the largest first: each goes where most room is left."""
    part = np.empty(len(sizes), dtype=np.intp)
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    room = shares * sizes.sum()
    several = int((sizes > 1).sum())
    for block in order[:several].tolist():
        part[block] = int(np.argmax(room))
        room[part[block]] -= sizes[block]
    # What is left has size 1 and fills the room exactly.
    ends = np.round(np.cumsum(np.maximum(room, 0)) / max(np.maximum(room, 0).sum(), 1e-12) * (len(sizes) - several))
    part[order[several:]] = np.searchsorted(ends, np.arange(len(sizes) - several), side="right").clip(
        0, len(shares) - 1
    )
    return part


def _components(a: IntArray, b: IntArray, n_nodes: int) -> IntArray:
    """The number of each person's component in the graph of judged pairs."""
    graph = coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(n_nodes, n_nodes)).tocsr()
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


METRICS = ("error", "mean_violation", "mean_excess", "share_followed")
_CHOSEN = [AVERAGES.index(name) for name in METRICS[1:]]


@dataclass(frozen=True, eq=False)
class SplitSide:
    """``(4,)`` numbers for each of `METRICS`, with the honest number of independent units behind each.

    *By judge* the units are judges, *by pair* distinct pairs, each with the weight it has in the average: units of
    weights ``u`` are worth ``(sum u)^2 / sum u^2`` equal ones (Kish). *By person*, pairs that share a person are not
    independent. With at most ``D`` pairs to a person, the pairs fall into ``D + 1`` classes in which nobody occurs
    twice (Vizing), and averages over them concentrate as if there were ``D + 1`` times fewer (Janson, 2004); with
    ``D = 1`` none is lost. For error the units are people.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    units: IntArray
    independent_units: FloatArray
    covered: NDArray[np.bool_]
    averages: AnswerMeans
    errors: FloatArray
    ends: tuple[IntArray, IntArray] | None
    by: By

    def line(self) -> dict[str, float | int]:
        """Values and counts by name."""
        values = dict(zip(METRICS, self.value.tolist(), strict=True))
        counts = {"people": len(self.errors), "judges": self.averages.n_judges, "pairs": self.averages.n_pairs}
        return values | counts | {"answers": len(self.averages.judge)}

    def with_interval(self, confidence: float) -> SplitSide:
        """Add intervals: people vary for error, judges, pairs or people (``by``) for the rest."""
        of_error = _variation_of_mean(self.errors)
        pairs = _units(self.averages, self.averages.pair)
        if self.ends is not None:
            of_answers = _variation_over_people(self.averages, self.ends, pairs)
        else:
            of_answers = _variation(_units(self.averages, self.averages.judge) if self.by == "judge" else pairs, pairs)
        varied = _Variation(*(np.concatenate(both) for both in zip(of_error, of_answers, strict=True)))
        largest = largest_values(self.averages)
        low, high = ends(np.nan_to_num(self.value), varied.variance, varied.degrees, varied.units, largest, confidence)
        nothing = varied.units < 2
        covered = ~nothing & (varied.differing >= LEAST_PAIRS)
        if self.by == "judge":
            covered[1:] &= varied.units[1:] >= LEAST_JUDGES
        return replace(self, low=np.where(nothing, np.nan, low), high=np.where(nothing, np.nan, high), covered=covered)


def mean_interval(
    values: FloatArray, confidence: float, weight: FloatArray | None = None
) -> tuple[float, float, float]:
    """The mean of numbers from 0 to 1, one for each person, and the ends of its interval; NaN for fewer than two."""
    varied, mean = _variation_of_mean(values, weight), np.array([np.average(values, weights=weight)])
    if varied.units[0] < 2:
        return float(mean[0]), np.nan, np.nan
    low, high = ends(mean, varied.variance, varied.degrees, varied.units, np.ones(1), confidence)
    return float(mean[0]), float(low[0]), float(high[0])


def largest_values(averages: AnswerMeans) -> FloatArray:
    """``(4,)`` what each of `METRICS` can be at most."""
    return np.concatenate([[1.0], averages.largest[_CHOSEN]])


class _Variation(NamedTuple):
    """``(k,)`` of each average: its variance, degrees of freedom, units, and pairs (or people) on the rarer side."""

    variance: FloatArray
    degrees: FloatArray
    units: IntArray
    differing: IntArray


def measure_side(
    averages: AnswerMeans,
    errors: FloatArray,
    index: AnswerIndex,
    by: By,
    *,
    people: IntArray,
    answers: NDArray[np.bool_],
) -> SplitSide:
    """Measure these people's errors and these answers."""
    chosen = averages.where(answers)
    ends = (index.a[answers], index.b[answers]) if by == "person" else None
    unit = chosen.judge if by == "judge" else chosen.pair
    masses = _units(chosen, unit).denominator
    independent = np.nan_to_num(ratio(masses.sum(axis=0) ** 2, (masses**2).sum(axis=0)))
    if ends is not None:
        independent = independent / _classes_of_disjoint_pairs(chosen.pair, *ends)
    own_errors = errors[people]
    nothing = np.full(len(METRICS), np.nan)
    return SplitSide(
        value=np.concatenate([[own_errors.mean() if len(people) else np.nan], chosen.value()[_CHOSEN]]),
        low=nothing,
        high=nothing,
        units=np.array([len(people), *(masses > 0).sum(axis=0).tolist()]),
        independent_units=np.array([float(len(people)), *independent.tolist()]),
        covered=np.zeros(len(METRICS), dtype=bool),
        averages=chosen,
        errors=own_errors,
        ends=ends,
        by=by,
    )


def _classes_of_disjoint_pairs(pair: IntArray, a: IntArray, b: IntArray) -> int:
    """Into how many classes, each without a repeated person, the distinct pairs certainly fall."""
    _, first = np.unique(pair, return_index=True)
    most = int(np.bincount(np.concatenate([a[first], b[first]])).max(initial=0))
    return 1 if most <= 1 else most + 1


def _units(averages: AnswerMeans, unit: IntArray) -> Units:
    every = Units.of(averages, unit)
    return Units(every.numerator[:, _CHOSEN], every.denominator[:, _CHOSEN], every.largest[_CHOSEN])


def _variation_of_mean(values: FloatArray, weight: FloatArray | None = None) -> _Variation:
    each = np.ones(len(values)) if weight is None else weight
    everyone = Units((values * each)[:, None], each[:, None], np.ones(1))
    return _variation(everyone, everyone)


def _variation(units: Units, pairs: Units) -> _Variation:
    total = units.denominator.sum(axis=0)
    value = np.nan_to_num(ratio(units.numerator.sum(axis=0), total))
    return _Variation(units.variance(value, total, units.counts), units.degrees, units.counts, pairs.differing)


def _variation_over_people(averages: AnswerMeans, ends: tuple[IntArray, IntArray], pairs: Units) -> _Variation:
    """Pairs that share people: ``V_people - V_pairs``, at least ``V_pairs``; each answer counts for both its people."""
    of_pairs = _variation(pairs, pairs)
    total = pairs.denominator.sum(axis=0)
    value = np.nan_to_num(ratio(pairs.numerator.sum(axis=0), total))
    both = averages.where(np.arange(len(averages.judge)).repeat(2))
    people = _units(both, np.stack(ends, axis=1).ravel())
    variance = np.maximum(people.variance(value, total, people.counts) - of_pairs.variance, of_pairs.variance)
    degrees = np.minimum(people.degrees / 2, of_pairs.degrees).clip(1.0)
    return _Variation(variance, degrees, np.minimum(people.counts // 2, of_pairs.units), of_pairs.differing)


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
