"""Audit any model from its scores alone: how far it is from what people said, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from fairwise import notebook
from fairwise.auditing import checks, tables
from fairwise.auditing.effects import BLOCK
from fairwise.auditing.intervals import AVERAGES, LEAST_JUDGES, LEAST_PAIRS, answer_means, has_design_weights, interval
from fairwise.auditing.scores import (
    checked_groups,
    checked_outcome,
    checked_scores,
    judged_scores,
    positions_of,
    scores_in_blocks,
    two_classes,
)
from fairwise.auditing.tables import measure
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.judgments import Answer, Judgments
from fairwise.judgments.table import are_simulated
from fairwise.judgments.validation import AFFECTED, SIMULATED
from fairwise.numbers import counted
from fairwise.results.certificate import predicted_in_words
from fairwise.tables.columns import to_pandas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.intervals import AnswerMeans, Interval
    from fairwise.auditing.tables import MeasuredAnswers
    from fairwise.constraints.pairs import Weighting


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Result of an audit: how far a model's scores are from a panel's judgments.

    Attributes
    ----------
    overall : DataFrame
        Rows value, low, high and covered; columns max_violation, mean_violation, mean_excess, fairness_loss,
        share_followed, and counts (which have a value only). Counts and share_followed are of answers that were given;
        ``predicted`` is how many others there are, which the other averages hold, too. ``covered`` is 1 where the
        interval holds the truth about as often as ``confidence`` says, and 0 where there are too few judges (under 5),
        or too few pairs (under 10) with a violation or without one; the interval is then a rough guide.
    by_judge : DataFrame
        One line per judge.
    by_pair : DataFrame
        One line per unordered pair, the worst first: a, b, favorable_a, favorable_b (probabilities of the favourable
        label), how often each answer was given, judges, weight, violation, excess.
    by_attribute : DataFrame
        One line per value of each judge attribute: the audit of those judges alone, with intervals.
    by_group, group_gaps : DataFrame or None
        Rates of each group of people, and the largest difference between two groups; None without ``groups``.
    judgments : DataFrame
        One line per answer that counts: violation, excess, and status (followed, not followed or asks nothing); where
        some are predicted, also which.
    predicted_error : float
        What share of predicted judgments is wrong, at most (95 %); NaN where none is.
    classes
        The two labels; scores are probabilities of the second.
    selection_probability : {"ignored", "not given"}
        Whether the judgments say how likely each pair was to be shown. An audit is about the answers that were given,
        as ``eta`` and a certificate are, so it does not weight by it; ``held_out`` does.
    gamma, favorable_label, weighting, confidence
        As given.
    """

    overall: pd.DataFrame
    by_judge: pd.DataFrame
    by_pair: pd.DataFrame
    by_attribute: pd.DataFrame
    by_group: pd.DataFrame | None
    group_gaps: pd.DataFrame | None
    judgments: pd.DataFrame
    gamma: float
    favorable_label: object
    classes: tuple[object, object]
    selection_probability: Literal["ignored", "not given"]
    weighting: Weighting
    confidence: float
    predicted_error: float = math.nan

    def worst(self, n: int = 10) -> list[str]:
        """The ``n`` pairs with the largest excess in plain words; numbers are probabilities of the good outcome."""
        return worst_pairs(self.by_pair, n)

    def __str__(self) -> str:
        lines = [summary(self.overall, self.by_pair, self.gamma, self.confidence, self._judge), *self._notes()]
        return "\n".join(lines)

    @property
    def _judge(self) -> str:
        return "simulated judge" if are_simulated(self.by_judge["judge"]) else "judge"

    def _notes(self) -> list[str]:
        value = self.overall.loc["value"].to_dict()
        n_predicted = int(value["predicted"])
        predicted = predicted_in_words(n_predicted, n_predicted + int(value["answers"]), self.predicted_error)
        return [predicted] * bool(predicted) + [NOT_WEIGHTED] * (self.selection_probability == "ignored")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        value = self.overall.loc["value"].to_dict()
        measures = list(_measures(self.overall))
        notes = [NOT_COVERED] if any(ends.endswith("*") for _, _, ends in measures) else []
        notes += self._notes()
        return notebook.page(
            notebook.section(
                f"Audit of {counted(value['answers'], 'judgment')} of {counted(value['judges'], self._judge)}",
                notebook.paragraph(
                    f"Not followed, that is broken by more than gamma = {self.gamma:g}: "
                    f"{counted(value['not_followed'])} of {counted(value['in_force'])} that ask for something."
                ),
                notebook.table(measures, head=("", "Value", f"{self.confidence:.0%} interval"), numbers=(1, 2)),
                notebook.bullets(self.worst(3)),
                *map(notebook.paragraph, notes),
                warn=value["not_followed"] > 0,
            )
        )


def audit(
    scores: pd.Series | NDArray[np.float64] | object,
    judgments: Judgments,
    gamma: float = 0.1,
    favorable_label: object = None,
    *,
    classes: Sequence[object] | NDArray[np.generic] | None = None,
    weighting: Weighting = "answers",
    groups: pd.Series | pd.DataFrame | None = None,
    outcome: pd.Series | None = None,
    score_range: tuple[float, float] | None = None,
    id: str | None = None,  # noqa: A002
    confidence: float = 0.95,
    client: object = None,
) -> Audit:
    """Compare scores from any model with judgments.

    Parameters
    ----------
    scores : Series
        P(label = 1) by person id; everyone judged must be there, others may be. For judgments by position, an array.
        Or a DataFrame (of pandas, polars, pyarrow …) with a column ``score`` and one of ids, which ``id`` names.
        Label 1 is the second of ``classes``, as in ``model.predict_proba(people)[:, 1]``.
        Scores that do not fit into memory: the path of a Parquet file with columns ``id`` and ``score``, a dask
        DataFrame or chunks with a column ``score``, or a :class:`~fairwise.LargeTable` whose outcome is the score.
    judgments : Judgments
        What people said.
    gamma : float
        By how much probabilities may differ against a judgment before it counts as not followed.
    favorable_label : optional
        The good outcome's label, 0 or 1 or one of ``classes``; needed as soon as an answer is ordered.
    classes : optional
        The two labels as in ``model.classes_``, if they are not 0 and 1: ``classes=["bad", "good"]`` says that scores
        are probabilities of "good". Not needed beside an ``outcome`` with these labels, whose sorted order it is.
    weighting : {"answers", "panel"}
        How mean excess is counted when judges saw different pairs; ``"panel"`` is the paper's letter.
    groups : Series or DataFrame, optional
        Group of everyone in ``scores`` by person id; one column for each way of dividing people.
    outcome : Series, optional
        One of the two labels by person id, for error rates of the groups.
    score_range : (float, float), optional
        For scores that are amounts: the least and the largest that there may be. All is then about shares of that
        range; ``favorable_label=1`` says that more is better for a person, 0 that less is. Of groups there is then
        ``mean_score``, in the units of the scores, and no rate.
    id : str, optional
        The column of ``scores`` that holds the ids, where they are not in an index.
    confidence : float
        Of the intervals.
    client : optional
        That of a dask cluster, whose workers then share the pass over scores that are read in blocks.

    Notes
    -----
    ``selection_probability`` is not used: the numbers are about the answers that were given, like those that a fit
    bounds and a certificate states. For numbers about pairs drawn uniformly use :func:`held_out`.

    Examples
    --------
    >>> import pandas as pd
    >>> said = Judgments([{"judge": "u", "a": "Williams", "b": "Blake", "answer": "a_at_least_b"}])
    >>> result = audit(pd.Series({"Williams": 0.5, "Blake": 0.8}), said, gamma=0.1, favorable_label=1)
    >>> result.worst(1)
    ['Person Williams was to be treated at least as well as Blake, but gets 0.50 against 0.80']
    """
    judgments = checks.some_judgments(judgments)
    gamma = checks.fraction("gamma", gamma)
    ends = checks.score_range(score_range)
    if ends is not None and (classes is not None or outcome is not None):
        raise InputError(
            "score_range= is for amounts: classes= and outcome=, error rates of labels, do not go with it."
        )
    labels = two_classes(classes, to_pandas(outcome))
    unnamed = classes is None and outcome is None
    checks.direction(favorable_label, labels, judgments, ", or name the two labels: classes=" if unnamed else "")
    checks.one_of("weighting", weighting, ("answers", "panel"))
    confidence = checks.fraction("confidence", confidence, ends=False)
    judged = judgments.person_ids()
    in_blocks = scores_in_blocks(scores, id)
    if in_blocks is not None:
        if groups is not None or outcome is not None or ends is not None:
            raise InputError(
                "groups=, outcome= and score_range= need the scores in memory, not a table that is read in blocks."
            )
        by_person = judged_scores(in_blocks, judgments, client)
        of_label_1 = by_person.to_numpy()
    else:
        by_person = checked_scores(scores, judgments, id, ends)
        # Rows of frames without an index are in the order of the scores.
        groups, outcome = to_pandas(groups, by_person.index), to_pandas(outcome, by_person.index)
        of_label_1 = by_person.to_numpy()[positions_of(by_person.index, judged, "scores")]
    first_is_good = favorable_label is not None and favorable_label == labels[0]
    favorable = pd.Series(1.0 - of_label_1 if first_is_good else of_label_1, index=judged)
    if outcome is not None and groups is None and (classes is not None or labels == (0, 1)):
        raise InputError("outcome= is for the error rates of groups: give groups= too")
    by_group, group_gaps = _group_tables(by_person, groups, outcome, labels, ends)

    measured = measure(PairRows.from_judgments(judgments), favorable, gamma)
    averages = _followed_of_given(answer_means(measured, weighting), measured.asked)
    of_panel = partial(interval, confidence=confidence)
    return Audit(
        overall=_overall(measured, averages, len(judged), of_panel(averages)),
        by_judge=tables.judge_table(measured, averages, judgments.judges),
        by_pair=tables.pair_table(measured),
        by_attribute=tables.attribute_table(measured, averages, about_judges(judgments), of_panel),
        by_group=by_group,
        group_gaps=group_gaps,
        judgments=measured.table,
        gamma=gamma,
        favorable_label=favorable_label,
        classes=labels,
        selection_probability="ignored" if has_design_weights(judgments) else "not given",
        weighting=weighting,
        confidence=confidence,
        predicted_error=measured.rows.predicted_error,
    )


def _followed_of_given(averages: AnswerMeans, given: NDArray[np.bool_]) -> AnswerMeans:
    """Return the averages, with the share followed over the answers that were given alone."""
    counted_in = np.ones_like(averages.numerator)
    counted_in[~given, AVERAGES.index("share_followed")] = 0.0
    return replace(averages, numerator=averages.numerator * counted_in, denominator=averages.denominator * counted_in)


def about_judges(judgments: Judgments) -> pd.DataFrame:
    """Kinds of judges. Blocks tell only how arms fell to them; who is simulated or affected is counted on its own."""
    return judgments.judge_attributes.drop(columns=[BLOCK, SIMULATED, AFFECTED], errors="ignore")


def _overall(measured: MeasuredAnswers, averages: AnswerMeans, n_people: int, ends: Interval) -> pd.DataFrame:
    """Values, intervals and counts. Pairs not asked can only hide a larger violation than the largest seen."""
    table = measured.table[measured.asked]
    asks = measured.asks & measured.asked
    largest = float(measured.rows.violations(measured.favorable).max(initial=0.0))
    answer_counts = table["answer"].value_counts()
    counts = {
        "judges": table["judge"].nunique(),
        "answers": len(table),
        "pairs": int(measured.pair.max(initial=-1)) + 1,
        "people": n_people,
        "in_force": int(asks.sum()),
        "not_followed": int((asks & ~measured.followed).sum()),
        **{str(answer): int(answer_counts.get(answer, 0)) for answer in Answer},
        "predicted": int(measured.rows.predicted.sum()),
    }
    frame = pd.DataFrame(
        {"max_violation": [largest, largest, 1.0, 1.0]}, index=pd.Index(["value", "low", "high", "covered"])
    )
    for name, *column in zip(AVERAGES, averages.reported().values(), ends.low, ends.high, ends.covered, strict=True):
        frame[name] = np.array(column, dtype=float)
    for name, count in counts.items():
        frame[name] = [float(count), np.nan, np.nan, np.nan]
    return frame


def _group_tables(
    scores: pd.Series,
    groups: object,
    outcome: object,
    classes: tuple[object, object],
    ends: tuple[float, float] | None,
) -> tuple[pd.DataFrame, pd.DataFrame] | tuple[None, None]:
    if groups is None:
        return None, None
    labels = None if outcome is None else checked_outcome(outcome, scores.index, classes)
    found = tables.group_tables(scores.to_numpy(dtype=float), checked_groups(groups, scores.index), labels)
    return found if ends is None else _in_units(*found, ends)


def _in_units(
    by_group: pd.DataFrame, gaps: pd.DataFrame, ends: tuple[float, float]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Means of shares of a range as means of amounts: no rate of a label."""
    low, width = ends[0], ends[1] - ends[0]
    named = {"selection_rate": "mean_score"}
    by_group, gaps = by_group.rename(columns=named), gaps.rename(columns=named)
    return by_group.assign(mean_score=low + width * by_group["mean_score"]), gaps.assign(
        mean_score=width * gaps["mean_score"]
    )


_LINES = {
    "max_violation": "Largest violation of a pair",
    "mean_violation": "Mean violation of 'same'",
    "mean_excess": "Mean excess over gamma",
    "fairness_loss": "Fairness loss (the paper's)",
    "share_followed": "Judgments followed",
}

NOT_COVERED = (
    f"* a rough guide only: fewer than {LEAST_JUDGES} judges, or fewer than {LEAST_PAIRS} pairs with a violation (or "
    "without one)"
)
"""Note below intervals that are not `covered`."""


NOT_WEIGHTED = "These numbers are about the answers given; selection_probability is not used (held_out weights by it)."


def worst_pairs(by_pair: pd.DataFrame, n: int) -> list[str]:
    """Say what was asked and what happens, for the ``n`` pairs with the largest excess; only those that have any."""
    broken = by_pair[by_pair["excess"] > 0].head(n)
    return [_sentence(line) for line in broken.to_dict("records")]


def _sentence(line: Mapping[Hashable, Any]) -> str:
    worse, better = ("a", "b") if line["favorable_a"] < line["favorable_b"] else ("b", "a")
    gets = [f"{line[f'favorable_{side}']:.2f}" for side in (worse, better)]
    if line[str(Answer.A_AT_LEAST_B if worse == "a" else Answer.B_AT_LEAST_A)]:
        return (
            f"Person {line[worse]} was to be treated at least as well as {line[better]}, "
            f"but gets {gets[0]} against {gets[1]}"
        )
    return f"Person {line[worse]} was to be treated the same as {line[better]}, but gets {gets[0]} against {gets[1]}"


def summary(overall: pd.DataFrame, by_pair: pd.DataFrame, gamma: float, confidence: float, judge: str) -> str:
    """A few lines for reading."""
    value = overall.loc["value"].to_dict()
    counts = {name: int(value[name]) for name in ("judges", "answers", "pairs", "people", "in_force", "not_followed")}
    about = f"{counts['pairs']} pairs of {counts['people']} people"
    predicted = int(value["predicted"])
    more = f", and {predicted} predicted," if predicted else ""
    lines = [
        f"{counts['answers']} answers of {counted(counts['judges'], judge)}{more} about {about}",
        f"{counts['in_force']} ask for something; {counts['not_followed']} of these are broken by more than {gamma:g}",
        f"{'':30}{'value':>7}   {confidence:.0%} interval",
    ]
    measures = list(_measures(overall))
    lines += [f"{words:30}{number:>7}   {ends}".rstrip() for words, number, ends in measures]
    if any(ends.endswith("*") for _, _, ends in measures):
        lines.append(NOT_COVERED)
    return "\n".join([*lines, *worst_pairs(by_pair, 3)])


def _measures(overall: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Each measure in words, its value, and its interval, which ends in a star where it is a rough guide only."""
    value, low, high, covered = (overall.loc[row].to_dict() for row in ("value", "low", "high", "covered"))
    for name, words in _LINES.items():
        has_interval = name != "max_violation" and not np.isnan(low[name])
        ends = f"{low[name]:.4f} to {high[name]:.4f}{'' if covered[name] else ' *'}" if has_interval else ""
        yield words, f"{value[name]:.4f}", ends
