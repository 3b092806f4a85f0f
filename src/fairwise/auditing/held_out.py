"""How a model does on pairs, people and judges that it was not fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing import checks
from fairwise.auditing.audit import NOT_COVERED
from fairwise.auditing.decisions import person_costs
from fairwise.auditing.error_measure import ErrorMeasure, refuse_amounts
from fairwise.auditing.intervals import AnswerMeans, answer_means, design_weights, has_design_weights
from fairwise.auditing.scores import binary_classes, favorable_is_second, judged_rows, second_class_probability
from fairwise.auditing.splits import (
    METRICS,
    AnswerIndex,
    SplitSide,
    largest_values,
    measure_side,
    predictor,
    refit_all,
    splits,
)
from fairwise.auditing.tables import measure
from fairwise.auditing.theorems import hoeffding
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.learning.settings import favorable_of
from fairwise.tables.columns import has_ids, to_pandas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.splits import By, Split
    from fairwise.constraints.pairs import FloatArray, IntArray


_MEASURED = ["training", "held_out", "low", "high", "hoeffding"]
_COMPARED = ["asked", "with_predicted", "difference", "low", "high"]
UNITS = {"pair": "pairs", "person": "pairs of people, none counted twice", "judge": "judges"}


@dataclass(frozen=True, eq=False, repr=False)
class HeldOut:
    """How a model does on what it was not fitted to.

    Attributes
    ----------
    overall : DataFrame
        One line per metric (error, mean_violation, mean_excess, share_followed; with a ``loss`` error is the mean
        cost): training and held_out averages over the splits, low and high (an interval over the held-out units),
        covered (whether there are enough of them for that interval to hold its level, in every split), hoeffding
        (half-width of an interval that holds without any assumption but independent units), units and
        independent_units held out in one split.
    by_split : DataFrame
        Two lines per split, training and held out, with what they were measured on.
    by, confidence
        As given.
    weighted : bool
        Whether answers were weighted by 1 / ``selection_probability``, because the judgments have it.
    dropped : float
        Share of the answers that could be used on neither side, because one of the two people was on each.
    predicted : DataFrame or None
        With ``n_predicted``, one line per metric: ``asked``, held out, of the refits on asked judgments alone;
        ``with_predicted``, of those that used predicted ones too; their ``difference``, its ``low`` and ``high`` over
        the same held-out units, pair by pair of refits, and ``covered``.
    """

    overall: pd.DataFrame
    by_split: pd.DataFrame
    by: By
    dropped: float
    weighted: bool
    confidence: float
    predicted: pd.DataFrame | None = None

    def __str__(self) -> str:
        table = self.overall.drop(columns=["units"]).round(4).to_string()
        note = f"\n{self.dropped:.0%} of the answers were about one person of each side and left out"
        uncovered = (~self.overall["covered"] & self.overall["low"].notna()).any()
        rough = f"\nnot covered: {NOT_COVERED.removeprefix('* ')}" if uncovered else ""
        weighted = "\nAnswers are weighted by 1 / selection_probability, for averages over all pairs alike"
        notes = f"{rough}{note if self.dropped else ''}{weighted if self.weighted else ''}"
        if self.predicted is not None:
            notes += f"\nHeld out, with predicted judgments as well\n{self.predicted.round(4).to_string()}"
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
    n_predicted: int = 0,
    coverage: float = 0.9,
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
    n_predicted, coverage : int, float
        Refit once more on each training part, with so many predicted judgments beside its asked ones, as
        :meth:`Judgments.extended` adds them: by an `AnswerModel` of the training part alone, about its people.
        ``predicted`` of the result says whether that helps.

    Notes
    -----
    Where judgments have a ``selection_probability``, answers are measured with weights divided by it, so that averages
    are about pairs drawn uniformly. The average over splits keeps the half-width of a single split: overlapping
    splits add no independent units. Predicted rows are left out: they follow from answers that are held out here;
    ``n_predicted`` adds others.
    """
    _check_model(model)
    judgments = checks.some_judgments(judgments).asked()
    checks.one_of("by", by, UNITS)
    test_size = checks.fraction("test_size", test_size, ends=False)
    folds = None if folds is None else checks.whole("folds", folds, 2)
    n_repeats = checks.whole("n_repeats", n_repeats, 1)
    confidence = checks.fraction("confidence", confidence, ends=False)
    seed = checks.whole("seed", seed, 0)
    n_predicted = checks.whole("n_predicted", n_predicted, 0)
    coverage = checks.fraction("coverage", coverage, ends=False)
    people = to_pandas(people)
    outcome = to_pandas(outcome, people.index if isinstance(people, pd.DataFrame) else None)
    complete = judgments if judgments.people is not None else judgments.about(people)
    takes = "judgments" in signature(model.fit).parameters
    own = model.get_params() if takes else {}
    labels = _labels(outcome, people, several=own.get("label_values") is not None)
    gamma = checks.fraction("gamma", own.get("gamma", 0.1) if gamma is None else gamma)
    if favorable_label is None:
        values = own.get("label_values")
        favorable_label = own.get("favorable_label") if values is None else favorable_of(values)
    if len(own.get("label_values") or ()) <= 2:
        checks.direction(favorable_label, np.unique(np.asarray(outcome)).tolist(), complete)
    largest = ErrorMeasure.of(own.get("loss")).largest  # costs are counted in units of it, to be from 0 to 1
    rows = PairRows.from_judgments(complete)
    ids = complete.person_ids()
    judged = judged_rows(complete, ids, people)
    weight = design_weights(complete, rows.answers)
    index = answer_index(complete, rows, people, len(labels))
    if n_predicted and not takes:
        raise InputError("n_predicted: this model's fit takes no judgments, so predicted ones change nothing")
    every = list(splits(index, by, test_size=test_size, folds=folds, n_repeats=n_repeats, seed=seed))
    for split in every:
        _require_both_sides(split, by)
    what = (model, people, outcome, complete if takes else None)
    refits = partial(refit_all, what, every, fit_params or {}, client, deterministic=deterministic)

    def outcome_of(fitted: Any) -> _Outcome:
        favorable = pd.Series(_favorable(fitted, judged, favorable_label, complete), index=ids)
        averages = answer_means(measure(rows, favorable, gamma), "answers", weight)
        return _Outcome(averages, _errors(fitted, people, outcome, labels) / largest, index, by)

    alone: Iterable[_Outcome] = map(outcome_of, refits(extend=None))
    alone = list(alone) if n_predicted else alone  # otherwise each may go as soon as it is measured
    lines, parts = [], []
    for number, (split, found) in enumerate(zip(every, alone, strict=True)):
        sides = {"training": found.training(split), "held out": found.held_out(split)}
        lines += [{"split": number, "part": name} | side.line() for name, side in sides.items()]
        parts.append((sides["training"], sides["held out"].with_interval(confidence)))
    comparison = None
    if n_predicted:
        also = map(outcome_of, refits(extend=predictor(n_predicted, coverage, seed)))
        comparison = _comparison(zip(every, alone, also, strict=True), confidence)
    result = HeldOut(
        _overall(parts, confidence),
        pd.DataFrame(lines),
        by,
        float(np.mean([split.dropped / max(len(split.test), 1) for split in every])),
        has_design_weights(complete),
        confidence,
        comparison,
    )
    return _in_costs(result, largest)


def _check_model(model: object) -> None:
    if not hasattr(model, "fit") or isinstance(model, type):
        raise InputError(f"model: a classifier with fit is needed, not {model!r}")
    refuse_amounts("held_out", model)


def _in_costs(found: HeldOut, largest: float) -> HeldOut:
    """The same with errors in the units of the loss, of which ``largest`` was counted as 1."""
    for table, columns in ((found.overall, _MEASURED), (found.predicted, _COMPARED)):
        if table is not None:
            table.loc["error", columns] *= largest
    found.by_split["error"] *= largest
    return found


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What one fitted model does to every answer and every person."""

    averages: AnswerMeans
    errors: FloatArray
    index: AnswerIndex
    by: By

    def training(self, split: Split) -> SplitSide:
        return self._side(split.train_people, split.train)

    def held_out(self, split: Split) -> SplitSide:
        return self._side(split.test_people, split.test)

    def _side(self, people: IntArray, answers: NDArray[np.bool_]) -> SplitSide:
        return measure_side(self.averages, self.errors, self.index, self.by, people=people, answers=answers)

    def less(self, other: _Outcome) -> _Outcome:
        """Return (difference + largest) / 2 for each answer and each person.

        Of what lies between 0 and its largest, that does so again, and has the same kind of interval.
        """
        mine, theirs = self.averages, other.averages
        moved = (mine.numerator - theirs.numerator + mine.largest * mine.denominator) / 2
        errors = (self.errors - other.errors + 1) / 2
        return replace(self, averages=replace(mine, numerator=moved), errors=errors)


def _comparison(refits: Iterable[tuple[Split, _Outcome, _Outcome]], confidence: float) -> pd.DataFrame:
    """Averages over the splits, of refits on asked judgments alone, with predicted ones, and of their differences."""
    sides = [
        (asked.held_out(split), also.held_out(split), also.less(asked).held_out(split).with_interval(confidence))
        for split, asked, also in refits
    ]
    alone, both, apart = zip(*sides, strict=True)
    largest = largest_values(alone[0].averages)
    ends = {name: 2 * _mean([getattr(side, name) for side in apart]) - largest for name in ("value", "low", "high")}
    return pd.DataFrame(
        {
            "asked": _mean([side.value for side in alone]),
            "with_predicted": _mean([side.value for side in both]),
            "difference": ends["value"],
            "low": ends["low"],
            "high": ends["high"],
            "covered": np.all([side.covered for side in apart], axis=0),
        },
        index=pd.Index(METRICS, name="metric"),
    )


def _overall(parts: list[tuple[SplitSide, SplitSide]], confidence: float) -> pd.DataFrame:
    """Averages over the splits; by convexity the average of sub-Gaussian deviations is no wider than each of them."""
    independent = np.min([test.independent_units for _, test in parts], axis=0)
    return pd.DataFrame(
        {
            "training": _mean([train.value for train, _ in parts]),
            "held_out": _mean([test.value for _, test in parts]),
            "low": _mean([test.low for _, test in parts]),
            "high": _mean([test.high for _, test in parts]),
            "covered": np.all([test.covered for _, test in parts], axis=0),
            "hoeffding": [hoeffding(float(units), 1 - confidence) for units in independent],
            "units": np.min([test.units for _, test in parts], axis=0),
            "independent_units": independent,
        },
        index=pd.Index(METRICS, name="metric"),
    )


def _mean(values: list[FloatArray]) -> FloatArray:
    """The mean of what is known of each."""
    stacked = np.stack(values)
    known = ~np.isnan(stacked)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def _favorable(model: Any, rows: Any, favorable_label: object, judgments: Judgments) -> FloatArray:
    """How well people are treated: by the values of labels, or the probability of the favourable one of two."""
    if getattr(model, "label_values", None) is not None:
        return np.asarray(model.predict_value(rows))
    second = favorable_is_second(favorable_label, binary_classes(model), judgments)
    probability = second_class_probability(model, rows)
    return probability if second else 1.0 - probability


def _errors(model: Any, people: Any, outcome: Any, labels: IntArray) -> FloatArray:
    """Each person's probability of a wrong label: a mixture's over its draws, any other model's is 0 or 1.

    With a ``loss``, what is decided costs them instead.
    """
    if hasattr(model, "certificate_") and (len(model.classes_) > 2 or model.loss is not None):
        right = np.searchsorted(model.classes_, np.asarray(outcome))
        return person_costs(model, model.predict_proba(people), right)
    if hasattr(model, "certificate_"):
        return np.abs(labels - second_class_probability(model, people))
    return np.asarray(np.asarray(model.predict(people)) != np.asarray(model.classes_)[labels], dtype=float)


def answer_index(judgments: Judgments, rows: PairRows, people: object, n_people: int) -> AnswerIndex:
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


def _labels(outcome: Any, people: Any, *, several: bool) -> IntArray:
    if len(outcome) != len(people):
        raise InputError(f"There are {len(people)} people but {len(outcome)} outcomes")
    if isinstance(outcome, pd.Series) and isinstance(people, pd.DataFrame) and not outcome.index.equals(people.index):
        raise InputError("outcome: its index is not that of people; use outcome.loc[people.index]")
    classes, codes = np.unique(np.asarray(outcome), return_inverse=True)
    if len(classes) != 2 and not (several and len(classes) > 2):
        raise InputError(f"outcome: two different values are needed; there are {len(classes)}")
    return codes.astype(np.intp)


def _require_both_sides(split: Split, by: By) -> None:
    for name, chosen in (("training", split.train), ("held out", split.test)):
        if not chosen.any():
            raise InputError(
                f"by={by!r}: no answer is left for the {name} part; use more judgments or another test_size"
            )
