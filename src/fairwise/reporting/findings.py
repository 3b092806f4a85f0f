"""Everything a report says, gathered as data: the statistics are those of `auditing` and `judgments`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing import audit, honoured_by_judge, honoured_by_pair, lorenz, price_by_person
from fairwise.auditing.made_from import MadeFrom, refuse_other_origin
from fairwise.constraints.violations import PRECISION
from fairwise.errors import InputError
from fairwise.reporting.curve import Curve
from fairwise.reporting.dearest import DearPair, dearest_pairs
from fairwise.reporting.labels import Labels
from fairwise.reporting.panel import Panel
from fairwise.reporting.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairwise.auditing import Audit, HeldOut
    from fairwise.judgments import Judgments
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.model.certificate import Certificate


@dataclass(frozen=True)
class HeldOutError:
    """Error on people left out of a fit, with its interval, and in the same splits on those it was made from."""

    error: float
    training: float
    low: float
    high: float
    splits: int

    @classmethod
    def of(cls, measured: HeldOut) -> HeldOutError:
        line = measured.overall.loc["error"].astype(float).to_dict()
        splits = int(measured.by_split["split"].nunique())
        return cls(line["held_out"], line["training"], line["low"], line["high"], splits)


TITLE = "What people said is fair, and a model that respects it"
KEY = ["judge", "a", "b", "answer"]


@dataclass(frozen=True, eq=False)
class Findings:
    """What there is to report about one fitted model and the panel it listened to.

    Attributes
    ----------
    title, question, design, date
        Words of the study's own; the last three may be None.
    simulated
        Whether the judges are simulated: the report and each of its figures then say so.
    labels
        What the two outcomes are called, and which is the good one.
    n_people
        How many people the model was applied to.
    panel
        Who answered and how they agree.
    audit
        What the model does with what they said; with the rates of groups, or without.
    certificate
        What is proved about the model.
    plain_error, guess_error
        Error of the same kind of model without any judgment, and of always giving the commoner outcome; None without
        outcomes.
    held_out
        Error on people that such a model was not made from, or None.
    curve
        What the judgments cost at other settings, or None.
    prices, price_by_judge, price_by_person
        Of each judgment, and summed.
    lorenz_excess, lorenz_price
        How unevenly pairs are disappointed, and how unevenly they cost.
    dearest
        The most expensive pairs, with the two people.
    recipe
        Settings, versions and checksums.
    """

    title: str
    question: str | None
    design: str | None
    date: str | None
    simulated: bool
    labels: Labels
    n_people: int
    panel: Panel
    audit: Audit
    certificate: Certificate
    plain_error: float | None
    guess_error: float | None
    held_out: HeldOutError | None
    curve: Curve | None
    prices: pd.DataFrame
    price_by_judge: pd.DataFrame
    price_by_person: pd.Series[float]
    lorenz_excess: pd.DataFrame
    lorenz_price: pd.DataFrame
    dearest: tuple[DearPair, ...]
    recipe: Recipe

    @property
    def weighted(self) -> bool:
        """Whether judgments have different weights, so that a share of them is no quotient of counts."""
        weight = self.audit.judgments["weight"]
        return bool((weight != weight.iloc[0]).any())


def findings(
    model: PairwiseFairClassifier,
    people: Any,
    judgments: Judgments,
    outcome: Any = None,
    *,
    frontier: pd.DataFrame | None = None,
    groups: Sequence[str] | None = None,
    question: str | None = None,
    design: str | None = None,
    title: str | None = None,
    date: str | None = None,
    simulated: bool = False,
    affected: Sequence[str] = ("affected",),
    chosen: tuple[float, float | None] | None = None,
    labels: Mapping[Any, str] | None = None,
    n_dearest: int = 6,
    held_out: HeldOut | None = None,
) -> Findings:
    """Gather what a report says.

    Parameters
    ----------
    model : PairwiseFairClassifier
        Fitted with these judgments, or loaded from a file.
    people : DataFrame
        One row per person. Only columns the model uses are shown, never the outcome; others may be there, for groups.
    judgments : Judgments
        What people said.
    outcome : Series, optional
        What happened to each person; for the plain model's error and the error rates of groups.
    frontier : DataFrame, optional
        Of :func:`fairwise.auditing.frontier`: what the judgments cost at other settings. One that was made from other
        people, outcomes, judgments or settings is refused.
    groups : column names, optional
        Columns of ``people`` by which to compare groups; needs ``outcome``.
    question, design, title, date : str, optional
        What was asked, how the pairs were chosen, the heading, and the day, in your own words.
    simulated : bool
        Whether the judges are simulated.
    affected : values
        Values of judge attributes that mark someone as affected by the decision.
    chosen : (gamma, eta), optional
        Which point of the frontier to mark; by default the model's own.
    labels : mapping, optional
        Words for the two outcomes, such as ``{0: "not re-arrested", 1: "re-arrested"}``.
    n_dearest : int
        How many of the most expensive pairs to show.
    held_out : HeldOut, optional
        Of :func:`fairwise.auditing.held_out` for this model: its error on people left out then stands beside the error.
    """
    _check_same_judgments(model, judgments)
    table = pd.DataFrame(people)
    if judgments.by == "position":
        table = table.reset_index(drop=True)
    words = Labels.of(model, labels)
    labelled = None if outcome is None else _as_numbers(outcome, table, model)
    by_groups = _group_columns(table, groups, labelled)
    known = _as_in_the_fit(model, people)
    if frontier is not None:
        made_from = MadeFrom.of(pd.DataFrame(known), labelled, judgments, model.get_params(deep=False))
        refuse_other_origin(frontier, made_from)
    scores = pd.Series(model.predict_proba(known)[:, 1], index=table.index)
    result = audit(
        scores if judgments.by == "id" else scores.to_numpy(),
        judgments,
        float(model.gamma),
        words.favorable,
        weighting=model.weighting,
        groups=by_groups,
        outcome=None if by_groups is None else labelled,
    )
    prices = model.prices_
    pairs = honoured_by_pair(prices)
    curve = None if frontier is None else Curve.of(frontier, model, chosen, len(table))
    shown = _shown_columns(model, table, outcome)
    return Findings(
        title=title or TITLE,
        question=question,
        design=design,
        date=date,
        simulated=simulated,
        labels=words,
        n_people=len(table),
        panel=Panel.of(judgments, affected),
        audit=result,
        certificate=model.certificate_,
        plain_error=None if labelled is None else _plain_error(model, known, labelled, curve),
        guess_error=None if labelled is None else _guess_error(labelled),
        held_out=None if held_out is None else HeldOutError.of(held_out),
        curve=curve,
        prices=prices,
        price_by_judge=honoured_by_judge(prices),
        price_by_person=price_by_person(prices),
        lorenz_excess=lorenz(_above_noise(pairs["excess"])),
        lorenz_price=lorenz(_above_noise(pairs["price"])),
        dearest=dearest_pairs(pairs, prices, result.by_pair, table[shown], n_dearest),
        recipe=Recipe.of(model, judgments, table),
    )


def _check_same_judgments(model: PairwiseFairClassifier, judgments: Judgments) -> None:
    """Prices are about the judgments of the fit, so a report with other ones would mix two stories."""
    fitted, given = (table[KEY].astype(str) for table in (model.prices_, judgments.counted()))
    if not fitted.sort_values(KEY, ignore_index=True).equals(given.sort_values(KEY, ignore_index=True)):
        raise InputError(
            f"report: the model was fitted with other judgments ({len(fitted)} answers that count) than these "
            f"({len(given)}); give the judgments of the fit"
        )


def _as_in_the_fit(model: PairwiseFairClassifier, people: Any) -> Any:
    """The columns of the fit alone: groups may be compared by columns that the model never sees."""
    used = getattr(model, "feature_names_in_", None)
    if used is None or not isinstance(people, pd.DataFrame):
        return people
    missing = [name for name in used if name not in people.columns]
    if missing:
        raise InputError(f"people: missing column {missing[0]!r}, which the model was fitted with")
    return people[list(used)]


def _as_numbers(outcome: Any, people: pd.DataFrame, model: PairwiseFairClassifier) -> pd.Series[int]:
    """0 and 1 by person, in the order of people; a Series is matched by id."""
    series = outcome if isinstance(outcome, pd.Series) else pd.Series(outcome, index=people.index)
    if not series.index.equals(people.index):
        missing = people.index.difference(series.index)
        if len(missing):
            raise InputError(f"outcome: nothing for {len(missing)} people, such as {missing[0]!r}")
        series = series.loc[people.index]
    unknown = sorted({str(value) for value in series.unique()} - {str(label) for label in model.classes_})
    if unknown:
        raise InputError(f"outcome: {unknown[0]!r} is no outcome of the model, whose outcomes are {model.classes_}")
    numbers: pd.Series[int] = (series == model.classes_[1]).astype(int)
    return numbers


def _group_columns(people: pd.DataFrame, groups: Sequence[str] | None, outcome: Any) -> pd.DataFrame | None:
    if not groups or outcome is None:
        return None
    missing = [name for name in groups if name not in people.columns]
    if missing:
        raise InputError(f"groups: no such column of people: {missing[0]!r}; there are {', '.join(people.columns)}")
    known = people[list(groups)].astype(object)
    return known.where(known.notna(), "not known")


def _shown_columns(model: PairwiseFairClassifier, people: pd.DataFrame, outcome: Any) -> list[str]:
    """What the model was told about people, and never what happened to them."""
    used = getattr(model, "feature_names_in_", people.columns)
    hidden = getattr(outcome, "name", None)
    return [name for name in used if name in people.columns and (hidden is None or name != hidden)]


def _plain_error(model: PairwiseFairClassifier, people: Any, outcome: pd.Series[int], curve: Curve | None) -> float:
    """Least error of the same kind of model that listens to nobody; where a search is heuristic, the better of two.

    The least, because a fit with judgments has the least that keeps them. The plain model of ``linear`` itself is
    chosen for other people and has a higher one. Models of version 0.1 do not tell it, and are fitted again.
    """
    from sklearn.base import clone

    error = model.certificate_.plain_error
    if np.isnan(error):
        plain = clone(model).set_params(group_constraints=None, judge_budgets=None, favorable_label=None)
        error = float(plain.fit(people, outcome.to_numpy()).certificate_.plain_error)
    return error if curve is None else min(error, curve.unbound_error)


def _above_noise(values: pd.Series) -> pd.Series:
    """What counts as more than nothing: a solver's rounding is not disappointment."""
    return values.where(values > PRECISION, 0.0)


def _guess_error(outcome: pd.Series[int]) -> float:
    """Error of always giving the commoner outcome."""
    from sklearn.dummy import DummyClassifier

    guess = DummyClassifier(strategy="most_frequent").fit(outcome.to_frame(), outcome)
    return float(1.0 - guess.score(outcome.to_frame(), outcome))
