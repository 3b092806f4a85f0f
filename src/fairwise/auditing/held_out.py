"""How a model does on pairs, people and judges that it was not fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from fairwise.auditing import checks
from fairwise.auditing.audit import NOT_COVERED
from fairwise.auditing.intervals import answer_means, design_weights, has_design_weights
from fairwise.auditing.scores import binary_classes, favorable_is_second, judged_rows, second_class_probability
from fairwise.auditing.splits import METRICS, AnswerIndex, SplitSide, measure_side, splits
from fairwise.auditing.tables import measure
from fairwise.auditing.theorems import hoeffding
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.learning.large.passes import joblib_on
from fairwise.learning.settings import favorable_of
from fairwise.learning.solvers.progress import raise_interrupts
from fairwise.tables.frames import has_ids, to_pandas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.splits import By, Split
    from fairwise.constraints.pairs import FloatArray, IntArray


UNITS = {"pair": "pairs", "person": "pairs of people, none counted twice", "judge": "judges"}


@dataclass(frozen=True, eq=False, repr=False)
class HeldOut:
    """How a model does on what it was not fitted to.

    Attributes
    ----------
    overall : DataFrame
        One line per metric (error, mean_violation, mean_excess, share_followed): training and held_out averages over
        the splits, low and high (an interval over the held-out units), covered (whether there are enough of them for
        that interval to hold its level, in every split), hoeffding (half-width of an interval that holds without any
        assumption but independent units), units and independent_units held out in one split.
    by_split : DataFrame
        Two lines per split, training and held out, with what they were measured on.
    by, confidence
        As given.
    weighted : bool
        Whether answers were weighted by 1 / ``selection_probability``, because the judgments have it.
    dropped : float
        Share of the answers that could be used on neither side, because one of the two people was on each.
    """

    overall: pd.DataFrame
    by_split: pd.DataFrame
    by: By
    dropped: float
    weighted: bool
    confidence: float

    def __str__(self) -> str:
        table = self.overall.drop(columns=["units"]).round(4).to_string()
        note = f"\n{self.dropped:.0%} of the answers were about one person of each side and left out"
        uncovered = (~self.overall["covered"] & self.overall["low"].notna()).any()
        rough = f"\nnot covered: {NOT_COVERED.removeprefix('* ')}" if uncovered else ""
        weighted = "\nAnswers are weighted by 1 / selection_probability, for averages over all pairs alike"
        notes = f"{rough}{note if self.dropped else ''}{weighted if self.weighted else ''}"
        return (
            f"Held out by {self.by} ({self.by_split['split'].nunique()} splits); units are {UNITS[self.by]}, for error "
            f"people\n{table}{notes}"
        )

    __repr__ = __str__


def held_out(
    model: Any,
    people: Any,
    outcome: object,
    judgments: Judgments,
    *,
    by: By = "pair",
    test_size: float = 0.3,
    folds: int | None = None,
    n_repeats: int = 5,
    gamma: float | None = None,
    favorable_label: object = None,
    fit_params: Mapping[str, object] | None = None,
    deterministic: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
    client: object = None,
) -> HeldOut:
    """Refit clones of a model on part of the people and judgments and measure them on the rest.

    Parameters
    ----------
    model : classifier
        Anything with fit and predict; ``judgments=`` is given to ``fit`` where it takes them.
    people, outcome : table and labels
        As for ``fit``.
    judgments : Judgments
        What people said.
    by : {"pair", "person", "judge"}
        What is new in the held-out part: other pairs (of the same people, by the same judges), pairs of people of whom
        nobody was in the training part, or other judges.
    test_size, n_repeats : float, int
        Held-out share, and how many random splits.
    folds : int, optional
        Instead: so many parts, each held out once.
    gamma, favorable_label : optional
        As in ``audit``; by default the model's own.
    fit_params : mapping, optional
        More for ``fit``, such as sensitive_features; what has one entry per person is split along.
    deterministic : bool
        Whether each refit is made to decide without chance before it is measured (``derandomize``).
    confidence, seed
        For the intervals, and for the splits.
    client
        That of a dask cluster, whose workers then do the refits.

    Notes
    -----
    Where judgments have a ``selection_probability``, answers are measured with weights divided by it, so that averages
    are about pairs drawn uniformly. The average over splits keeps the half-width of a single split: overlapping
    splits add no independent units. Predicted rows are left out: they follow from answers that are held out here.
    """
    if not hasattr(model, "fit") or isinstance(model, type):
        raise InputError(f"model: a classifier with fit is needed, not {model!r}")
    judgments = checks.some_judgments(judgments).asked()
    checks.one_of("by", by, UNITS)
    test_size = checks.fraction("test_size", test_size, ends=False)
    folds = None if folds is None else checks.whole("folds", folds, 2)
    n_repeats = checks.whole("n_repeats", n_repeats, 1)
    confidence = checks.fraction("confidence", confidence, ends=False)
    seed = checks.whole("seed", seed, 0)
    people = to_pandas(people)
    outcome = to_pandas(outcome, people.index if isinstance(people, pd.DataFrame) else None)
    complete = judgments if judgments.people is not None else judgments.about(people)
    labels = _labels(outcome, people)
    takes = "judgments" in signature(model.fit).parameters
    own = model.get_params() if takes else {}
    gamma = checks.fraction("gamma", own.get("gamma", 0.1) if gamma is None else gamma)
    if favorable_label is None:
        values = own.get("label_values")
        favorable_label = own.get("favorable_label") if values is None else favorable_of(values)
    checks.direction(favorable_label, np.unique(np.asarray(outcome)).tolist(), complete)
    rows = PairRows.from_judgments(complete)
    ids = complete.person_ids()
    judged = judged_rows(complete, ids, people)
    weight = design_weights(complete, rows.answers)
    index = _answer_index(complete, rows, people, len(labels))
    lines, parts, dropped = [], [], []
    every = list(splits(index, by, test_size=test_size, folds=folds, n_repeats=n_repeats, seed=seed))
    for split in every:
        _require_both_sides(split, by)
    refits = _refit_all(
        (model, people, outcome, complete if takes else None),
        every,
        fit_params or {},
        client,
        deterministic=deterministic,
    )
    for number, (split, fitted) in enumerate(zip(every, refits, strict=True)):
        second = favorable_is_second(favorable_label, binary_classes(fitted), complete)
        probability = second_class_probability(fitted, judged)
        favorable = pd.Series(probability if second else 1.0 - probability, index=ids)
        averages = answer_means(measure(rows, favorable, gamma), "answers", weight)
        errors = _errors(fitted, people, labels)
        measured = partial(measure_side, averages=averages, errors=errors, index=index, by=by)
        sides = {
            "training": measured(people=split.train_people, answers=split.train),
            "held out": measured(people=split.test_people, answers=split.test),
        }
        lines += [{"split": number, "part": name} | side.line() for name, side in sides.items()]
        parts.append((sides["training"], sides["held out"].with_interval(confidence)))
        dropped.append(split.dropped / max(len(split.test), 1))
    return HeldOut(
        _overall(parts, confidence),
        pd.DataFrame(lines),
        by,
        float(np.mean(dropped)),
        has_design_weights(complete),
        confidence,
    )


def _overall(parts: list[tuple[SplitSide, SplitSide]], confidence: float) -> pd.DataFrame:
    """Averages over the splits; by convexity the average of sub-Gaussian deviations is no wider than each of them."""

    def mean(values: list[FloatArray]) -> FloatArray:
        stacked = np.stack(values)
        known = ~np.isnan(stacked)
        total = np.where(known, stacked, 0.0).sum(axis=0)
        return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)

    independent = np.min([test.independent_units for _, test in parts], axis=0)
    return pd.DataFrame(
        {
            "training": mean([train.value for train, _ in parts]),
            "held_out": mean([test.value for _, test in parts]),
            "low": mean([test.low for _, test in parts]),
            "high": mean([test.high for _, test in parts]),
            "covered": np.all([test.covered for _, test in parts], axis=0),
            "hoeffding": [hoeffding(float(units), 1 - confidence) for units in independent],
            "units": np.min([test.units for _, test in parts], axis=0),
            "independent_units": independent,
        },
        index=pd.Index(METRICS, name="metric"),
    )


def _refit_all(
    what: tuple[object, object, object, Judgments | None],
    every: list[Split],
    more: Mapping[str, object],
    client: object,
    *,
    deterministic: bool,
) -> Iterator[Any]:
    """The model fitted to the training part of each split, in their order."""
    refit = partial(_refit, *what, more=more, deterministic=deterministic)
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
) -> Any:
    from sklearn.base import clone  # who only audits scores does without scikit-learn
    from sklearn.utils import _safe_indexing

    n = len(outcome)
    chosen = {
        name: _safe_indexing(value, split.train_people) if hasattr(value, "__len__") and len(value) == n else value
        for name, value in more.items()
    }
    if judgments is not None:
        chosen["judgments"] = _select_answers(judgments, split.train, people)
    fitted = clone(model).fit(
        _safe_indexing(people, split.train_people), _safe_indexing(outcome, split.train_people), **chosen
    )
    return fitted.derandomize() if deterministic else fitted


def _select_answers(judgments: Judgments, chosen: NDArray[np.bool_], people: Any) -> Judgments:
    """These of the answers that count, with everyone they are about."""
    frame = judgments.frame.iloc[judgments.counted()["row"].to_numpy()[chosen]].reset_index(drop=True)
    attributes = judgments.judge_attributes
    return Judgments(
        frame,
        people=judgments.people if judgments.by == "id" else people,
        by=judgments.by,
        measured_only=(),
        rounds="all",
        judge_attributes=attributes[attributes.index.isin(frame["judge"])],
    )


def _errors(model: Any, people: Any, labels: IntArray) -> FloatArray:
    """Each person's probability of a wrong label: a mixture's over its draws, any other model's is 0 or 1."""
    if hasattr(model, "certificate_"):
        return np.abs(labels - second_class_probability(model, people))
    return np.asarray(np.asarray(model.predict(people)) != np.asarray(model.classes_)[labels], dtype=float)


def _answer_index(judgments: Judgments, rows: PairRows, people: object, n_people: int) -> AnswerIndex:
    answers = rows.answers
    sides = [pd.Index(answers[side]) for side in ("a", "b")]
    if judgments.by == "id":
        if not isinstance(people, pd.DataFrame) or not has_ids(people):
            raise InputError("people: a DataFrame indexed by person id is needed, as the judgments name people by id")
        everyone = people.index.append(judgments.person_ids().difference(people.index, sort=False))
        sides = [pd.Index(everyone.get_indexer(side)) for side in sides]
    return AnswerIndex(
        judge=pd.factorize(answers["judge"])[0].astype(np.intp),
        pair=pd.factorize(rows.answer_pair)[0].astype(np.intp),
        a=sides[0].to_numpy(dtype=np.intp),
        b=sides[1].to_numpy(dtype=np.intp),
        n_people=n_people,
    )


def _labels(outcome: Any, people: Any) -> IntArray:
    if len(outcome) != len(people):
        raise InputError(f"There are {len(people)} people but {len(outcome)} outcomes")
    if isinstance(outcome, pd.Series) and isinstance(people, pd.DataFrame) and not outcome.index.equals(people.index):
        raise InputError("outcome: its index is not that of people; use outcome.loc[people.index]")
    classes, codes = np.unique(np.asarray(outcome), return_inverse=True)
    if len(classes) != 2:
        raise InputError(f"outcome: two different values are needed; there are {len(classes)}")
    return codes.astype(np.intp)


def _require_both_sides(split: Split, by: By) -> None:
    for name, chosen in (("training", split.train), ("held out", split.test)):
        if not chosen.any():
            raise InputError(
                f"by={by!r}: no answer is left for the {name} part; use more judgments or another test_size"
            )
