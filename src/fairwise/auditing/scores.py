"""Scores of models: by person id, in memory or read in blocks, and scorers for choosing among models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from fairwise.auditing import checks
from fairwise.constraints.pairs import PairRows
from fairwise.constraints.violations import excess
from fairwise.errors import InputError, TableError, quote, some
from fairwise.learning.large.passes import over_spans
from fairwise.learning.large.table import LargeTable, large_table
from fairwise.tables.columns import has_ids, indexed_by, to_pandas
from fairwise.tables.rows import PeopleIds, encode, require_column

if TYPE_CHECKING:
    from fairwise.constraints.pairs import FloatArray, IntArray, Weighting
    from fairwise.judgments import Judgments
    from fairwise.learning.large.first_pass import JudgedIds
    from fairwise.learning.large.passes import Span


def checked_scores(
    given: Any, judgments: Judgments, id_column: str | None = None, ends: tuple[float, float] | None = None
) -> pd.Series:
    """P(label = 1) by person id, every one a number from 0 to 1; or amounts between two ``ends``, as shares of that.

    Judgments by position go with a plain array or a Series numbered 0, 1, …; ids are never matched to positions. A
    frame has the scores in a column ``score`` and the ids in ``id_column``.
    """
    scores = to_pandas(given)
    if id_column is not None:
        table = indexed_by(scores, id_column, "scores")
        require_column(SCORE, [str(name) for name in table.columns], "scores")
        scores = table[SCORE]
    if judgments.by == "position" and not isinstance(scores, pd.Series):
        scores = pd.Series(np.asarray(scores)) if np.ndim(scores) == 1 else scores
    if judgments.by == "id" and not (isinstance(scores, pd.Series) and has_ids(scores)):
        raise InputError(
            f"scores: a Series of P(label = 1) indexed by person id is needed, not {type(given).__name__}; or a frame "
            f"with a column {SCORE!r} and one of ids, which id='…' names"
        )
    if not isinstance(scores, pd.Series):
        raise InputError(f"scores: one number for each person is needed, not {type(given).__name__}")
    if judgments.by == "position" and not scores.index.equals(pd.RangeIndex(len(scores))):
        raise InputError(
            "scores: the judgments name people by position, so the scores must be in that order: give scores.to_numpy()"
        )
    checked = pd.Series(_numbers(scores, "scores"), index=scores.index)
    if ends is not None:
        return _shares(checked, ends)
    outside = checked[(checked < 0) | (checked > 1)]
    if len(outside):
        raise InputError(
            f"scores: {float(outside.iloc[0])!r} for person {quote(outside.index[0])} is not a probability"
            f"{_more(len(outside))}; allowed: 0 to 1, the probability of label 1"
        )
    return checked


def _shares(amounts: pd.Series, ends: tuple[float, float]) -> pd.Series:
    low, high = ends
    outside = amounts[(amounts < low) | (amounts > high)]
    if len(outside):
        raise InputError(
            f"scores: {float(outside.iloc[0])!r} for person {quote(outside.index[0])} is not in score_range"
            f"{_more(len(outside))}; allowed: {low:g} to {high:g}"
        )
    return (amounts - low) / (high - low)


def two_classes(classes: object, outcome: object) -> tuple[object, object]:
    """The two labels: as given, or those of the outcome in sorted order as for a fit, or else 0 and 1."""
    if classes is not None:
        labels = np.asarray(classes).tolist()
        if not isinstance(labels, list) or len(labels) != 2 or labels[0] == labels[1]:
            raise InputError(
                f"classes={classes!r} is not allowed: give the two labels, such as model.classes_; the scores are "
                "probabilities of the second"
            )
        return labels[0], labels[1]
    if isinstance(outcome, pd.Series):
        values = outcome.dropna().unique().tolist()
        if len(values) == 2 and not set(values) <= {0, 1}:
            try:
                first, second = sorted(values)
            except TypeError:
                raise InputError(f"outcome: labels of different kinds, {values[0]!r} and {values[1]!r}") from None
            return first, second
    return 0, 1


def checked_outcome(outcome: object, ids: pd.Index, classes: tuple[object, object] = (0, 1)) -> FloatArray:
    """Each person's outcome: 0.0 for the first of the two classes and 1.0 for the second."""
    allowed = " and ".join(map(repr, classes))
    if not isinstance(outcome, pd.Series):
        raise InputError(f"outcome: a Series of {allowed} indexed by person id is needed, not {type(outcome).__name__}")
    if outcome.isna().any():
        raise InputError(f"outcome: missing (NaN) for these people: {some(outcome.index[outcome.isna()])}")
    values = outcome.to_numpy(dtype=object)[positions_of(outcome.index, ids, "outcome")]
    is_second = np.asarray(values == classes[1], dtype=bool)
    odd = ~(is_second | np.asarray(values == classes[0], dtype=bool))
    if odd.any():
        raise InputError(
            f"outcome: {quote(values[odd][0])} for person {quote(ids[odd][0])} is not an outcome"
            f"{_more(int(odd.sum()))}; allowed: {allowed}"
        )
    return is_second.astype(float)


def checked_groups(groups: object, ids: pd.Index) -> pd.DataFrame:
    """Each person's groups, one column per way of dividing people."""
    if isinstance(groups, pd.Series):
        groups = groups.to_frame("group" if groups.name is None else groups.name)
    if not isinstance(groups, pd.DataFrame):
        raise InputError(f"groups: a Series or DataFrame indexed by person id is needed, not {type(groups).__name__}")
    if not groups.columns.is_unique:
        raise InputError(f"groups: columns with the same name: {some(groups.columns[groups.columns.duplicated()])}")
    chosen = groups.iloc[positions_of(groups.index, ids, "groups")].set_axis(ids)
    empty = chosen.isna()
    if empty.to_numpy().any():
        column = empty.any().idxmax()
        raise InputError(f"groups: {column!r} is missing for {some(ids[empty[column].to_numpy()])}")
    return chosen


def positions_of(index: pd.Index, ids: pd.Index, what: str) -> IntArray:
    """Return the position of each of ``ids`` in ``index``: 12, 12.0 and "12" are one person, "012" is another."""
    try:
        people = PeopleIds(index)
    except TableError as error:
        raise InputError(str(error).replace("people", what, 1)) from None
    if pd.api.types.is_integer_dtype(index.dtype) and pd.api.types.is_integer_dtype(ids.dtype):
        positions = np.asarray(index.get_indexer(ids), dtype=np.intp)
    else:
        codes, texts = encode(pd.Series(ids))
        positions = people.positions(texts)[codes]
    if (positions < 0).any():
        raise InputError(f"{what}: nothing for these people: {some(ids[positions < 0])}")
    return positions


def _numbers(values: pd.Series, what: str) -> FloatArray:
    if not (pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype)):
        raise InputError(f"{what}: numbers are needed, not values of type {values.dtype}")
    numbers: FloatArray = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isnan(numbers).any():
        raise InputError(f"{what}: missing (NaN) for these people: {some(values.index[np.isnan(numbers)])}")
    return numbers


def _more(count: int) -> str:
    return f" ({count - 1} more like it)" if count > 1 else ""


SCORE = "score"


def scores_in_blocks(scores: object, id_column: str | None = None) -> LargeTable | None:
    """Scores that are to be read in blocks (with a column ``score``), as such a table; None for those in memory."""
    if isinstance(scores, LargeTable):
        return scores
    table = large_table(scores, SCORE)
    if table is not None:
        # Without such a column, the index.
        table.read_only((), id=id_column or ("id" if "id" in table.header else None))
    return table


def judged_scores(table: LargeTable, judgments: Judgments, client: object = None) -> pd.Series[Any]:
    """The score of everyone in a judgment that counts, by id."""
    from fairwise.learning.large.first_pass import JudgedIds  # scikit-learn and the compiler take a second to load

    judged = JudgedIds.of(judgments)
    work = _Look(judged, table.outcome, table.name)
    parts = [who for results in over_spans(table.spans(client), work, client) for who in results]
    if not parts:
        raise InputError(f"{table.name}: not a single row")
    return judged.collect(parts, table.name)[table.outcome]


@dataclass(frozen=True, eq=False)
class _Look:
    """The work on one span: every score checked, those of judged people returned."""

    judged: JudgedIds
    column: str
    name: str

    def __call__(self, span: Span) -> list[tuple[IntArray, IntArray, pd.DataFrame]]:
        parts = []
        for block in span.blocks():
            scores = pd.to_numeric(block.table[self.column], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
            wrong = np.flatnonzero(~((scores >= 0) & (scores <= 1)))
            if len(wrong):
                first = int(wrong[0])
                raise InputError(
                    f"{self.name}, row {block.start + first} (counting from 0), column {self.column}: "
                    f"{quote(block.table[self.column].iloc[first])} for person {quote(block.table.index[first])} is "
                    "not the probability of label 1; allowed: a number from 0 to 1"
                )
            which, rows = self.judged.among(block)
            parts.append((which, block.start + rows, pd.DataFrame({self.column: scores[rows]})))
        return parts


# Scorers for scikit-learn, for classifiers of any make.

Metric = Literal["mean_violation", "max_violation", "mean_excess"]


@dataclass(frozen=True, eq=False)
class ViolationScorer:
    """``scorer(model, X, y)``: minus the model's violation on everyone the judgments are about, whatever X and y."""

    judgments: Judgments
    rows: PairRows
    metric: Metric
    gamma: float
    favorable_label: Any
    weighting: Weighting

    def __call__(self, model: object, X: object, y: object = None) -> float:
        """Larger is better, as scikit-learn wants it."""
        del y
        rows = self.rows
        if not len(rows):  # nothing is asked of anyone
            return 0.0
        probability = second_class_probability(model, judged_rows(self.judgments, rows.people, X))
        classes = binary_classes(model)
        second = favorable_is_second(self.favorable_label, classes, self.judgments)
        favorable = probability if second else 1.0 - probability
        if self.metric == "mean_violation":
            return -rows.mean_violation(favorable)
        violations = rows.violations(favorable)
        if self.metric == "max_violation":
            return -float(violations.max(initial=0.0))
        return -float(rows.shares(self.weighting) @ excess(violations, self.gamma))


def violation_scorer(
    judgments: Judgments,
    metric: Metric = "mean_violation",
    *,
    gamma: float = 0.1,
    favorable_label: object = None,
    weighting: Weighting = "answers",
) -> ViolationScorer:
    """A scorer for ``cross_val_score``, ``GridSearchCV`` and the like, for any classifier of two classes.

    Parameters
    ----------
    judgments : Judgments
        What people said, with the people they said it about. To choose a model honestly, use judgments that none of
        the candidates is fitted to.
    metric : {"mean_violation", "max_violation", "mean_excess"}
        As defined for audits; the score is its negative.
    gamma, weighting
        For mean_excess.
    favorable_label
        The good outcome's label, in the model's own terms; needed as soon as an answer is ordered.
    """
    judgments = checks.some_judgments(judgments)
    if judgments.people is None:
        raise InputError("judgments: made without people=, so nobody's row is known; use judgments.about(people)")
    checks.one_of("metric", metric, get_args(Metric))
    checks.one_of("weighting", weighting, ("answers", "panel"))
    if favorable_label is None:
        checks.direction(None, ("one of the two labels",), judgments)
    rows = PairRows.from_judgments(judgments)
    return ViolationScorer(judgments, rows, metric, checks.fraction("gamma", gamma), favorable_label, weighting)


def expected_accuracy(model: object, X: object, y: object) -> float:
    """A scorer for mixtures: the probability of a right label, without the noise of a single draw per person."""
    of_second = second_class_probability(model, X)
    is_second = np.asarray(y) == binary_classes(model)[1]
    return float(np.mean(np.where(is_second, of_second, 1.0 - of_second)))


def second_class_probability(model: Any, rows: Any) -> FloatArray:
    """``predict_proba`` of the second class where there is one, else 1 where ``predict`` says so."""
    classes = binary_classes(model)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), dtype=float)[:, 1]
    return np.asarray(model.predict(rows) == classes[1], dtype=float)


def binary_classes(model: object) -> list[object]:
    """The two labels, in the model's own order."""
    classes: list[object] = np.asarray(getattr(model, "classes_", [])).tolist()
    if len(classes) != 2:
        raise InputError(f"{type(model).__name__}: a fitted classifier with two classes is needed; it has {classes!r}")
    return classes


def favorable_is_second(favorable_label: object, classes: list[object], judgments: Judgments) -> bool:
    """Whether the second class is the good one; answers that are all the same do not notice."""
    checks.direction(favorable_label, classes, judgments)
    return favorable_label is None or bool(favorable_label == classes[1])


def judged_rows(judgments: Judgments, ids: pd.Index, like: object) -> Any:
    """The judged people's rows, with the columns of the table ``like``."""
    if judgments.people is None:
        raise InputError("judgments: made without people=, so nobody's row is known; use judgments.about(people)")
    rows = judgments.people_rows(ids)
    like = to_pandas(like)
    if isinstance(rows, pd.DataFrame) and isinstance(like, pd.DataFrame):
        missing = [column for column in like.columns if column not in rows.columns]
        if missing:
            raise InputError(f"judgments: the judged people's table has no column {missing[0]!r}")
        return rows[list(like.columns)]
    return rows
