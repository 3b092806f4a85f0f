"""Everything a report says, gathered as data: about the panel, the model, its frontier and its prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing import audit, followed_by_judge, followed_by_pair, price_by_person
from fairwise.auditing.decisions import AmountsGiven, Labels, chances, constant_costs, decision_table, outcome_numbers
from fairwise.auditing.error_measure import ErrorMeasure, is_of_amounts
from fairwise.auditing.frontier import Curve
from fairwise.auditing.groups import FeatureUse, default_groups, free_texts, gains, group_values
from fairwise.auditing.panel import Panel
from fairwise.auditing.prices import ExpensivePair, expensive_pairs, plain_error, spread_over_pairs
from fairwise.auditing.provenance import Provenance, Recipe, refuse_other_origin
from fairwise.constraints.pairs import answered_rows
from fairwise.constraints.violations import STATUSES, status_counts
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.results.fits import Headline, Predicted
from fairwise.tables.columns import to_pandas

if TYPE_CHECKING:
    from fairwise.auditing import Audit, Effects
    from fairwise.auditing.error_measure import Model
    from fairwise.constraints.pairs import FloatArray
    from fairwise.judgments import Judgments
    from fairwise.learning.model.rules import ModelRules
    from fairwise.results.certificate import Certificate, HeldOutErrors
    from fairwise.results.fits import JudgeInfluence


KEY = ["judge", "a", "b", "answer"]


@dataclass(frozen=True, eq=False)
class Findings:
    """Content of a report about one fitted model and its panel.

    Attributes
    ----------
    title, question, design, date
        Words of the study's own, or None.
    labels
        What the outcomes are called, and how good each is.
    measure
        What an error is: a share of people, or a mean cost.
    decisions
        Who gets which decision (:func:`fairwise.auditing.decisions.decision_table`), or None of two labels of which one
        is good: there the rates of groups of the audit say it. So it is of amounts, which have ``amounts``.
    n_people
        How many people the model was applied to.
    features
        Which columns it uses, and which of these are protected.
    panel
        Who answered and how they agree.
    audit
        What the model does with what they said; with the rates of groups, or without.
    certificate
        What is proved about the model.
    plain_error, guess_error, guess_label
        Error of the same kind of model without any judgment, and of always giving the same outcome, the one that is
        wrong least, and that outcome in words; None without outcomes.
    held_out
        Errors on people that such models were not made from, or None.
    curve
        What the judgments cost at other settings, or None.
    prices, price_by_judge, price_by_person
        Of each judgment, and summed.
    lorenz_excess, lorenz_price
        How unevenly pairs are disappointed, and how unevenly they cost.
    gains
        What each group gains or loses by what people asked for (:func:`fairwise.auditing.groups.gains`), or None.
    dearest, rules
        The most expensive pairs, with the two people; the model in words, with the names that people read.
    free_texts
        Columns of sentences, as people read their names.
    recipe
        Settings, versions and checksums.
    influence
        What the model would be without some of the judges, or None.
    effects
        What a second round changed, and what arms have to do with it, or None.
    predicted
        Of judgments that nobody gave, or None where there are none; all else is about those that were given.
    """

    title: str | None
    question: str | None
    design: str | None
    date: str | None
    labels: Labels
    measure: ErrorMeasure
    n_people: int
    features: FeatureUse
    panel: Panel
    audit: Audit
    certificate: Certificate
    plain_error: float | None
    guess_error: float | None
    guess_label: str | None
    held_out: HeldOutErrors | None
    curve: Curve | None
    prices: pd.DataFrame
    price_by_judge: pd.DataFrame
    price_by_person: pd.Series[float]
    lorenz_excess: pd.DataFrame
    lorenz_price: pd.DataFrame
    gains: pd.DataFrame | None
    dearest: tuple[ExpensivePair, ...]
    free_texts: tuple[str, ...]
    rules: ModelRules
    recipe: Recipe
    decisions: pd.DataFrame | None = None
    amounts: AmountsGiven | None = None
    influence: JudgeInfluence | None = None
    effects: Effects | None = None
    predicted: Predicted | None = None

    @property
    def weighted(self) -> bool:
        """Whether judgments have different weights, so that a share of them is no quotient of counts."""
        weight = self.audit.judgments["weight"]
        return bool((weight != weight.iloc[0]).any())

    @property
    def wishes(self) -> pd.DataFrame:
        """Number of answers that ask for the ``same``, an ``order`` or nothing, by what was done.

        Columns: ``followed``, ``not followed`` and ``asks nothing``, in answers.
        """
        kinds = {Answer.SAME: "same", Answer.NO_CONSTRAINT: "nothing"}
        table = self.audit.judgments
        kind = table["answer"].map(lambda answer: kinds.get(Answer(answer), "order"))
        counts = pd.crosstab(kind, table["status"])
        return counts.reindex(index=["same", "order", "nothing"], columns=list(STATUSES), fill_value=0)

    @property
    def simulated(self) -> bool:
        """Whether all judges are simulated: the report and each of its figures then say so."""
        return self.panel.all_simulated

    @property
    def headline(self) -> Headline:
        """All claims of the first page."""
        overall = self.audit.overall.loc["value"].to_dict()
        asked = int(overall["in_force"])
        return Headline(
            participants=self.panel.n_judges,
            simulated=self.panel.n_simulated,
            affected=self.panel.n_affected,
            affected_not_known=self.panel.n_not_known,
            asked=asked,
            followed=asked - int(overall["not_followed"]),
            people=self.n_people,
            error=self.certificate.error,
            plain_error=self.plain_error,
            constant_error=self.guess_error,
            constant=self.guess_label,
            proved=self.certificate.kind == "exact",
            held_out=self.held_out,
        )

    def interval(self, error: float) -> tuple[float, float]:
        """Return the interval of an error, 95 times in 100, for other people like these."""
        return self.measure.interval(error, self.n_people)


def findings(
    model: Model,
    people: Any,
    judgments: Judgments,
    outcome: object = None,
    *,
    frontier: pd.DataFrame | None = None,
    groups: Sequence[str] | None = None,
    protected: Sequence[str] = (),
    question: str | None = None,
    design: str | None = None,
    title: str | None = None,
    date: str | None = None,
    simulated: bool = False,
    chosen: tuple[float, float | None] | None = None,
    labels: Mapping[Any, str] | None = None,
    unit: str = "",
    columns: Mapping[str, str] | None = None,
    n_dearest: int = 6,
    held_out: HeldOutErrors | None = None,
    influence: JudgeInfluence | None = None,
    effects: Effects | None = None,
    price_bands: pd.DataFrame | None = None,
) -> Findings:
    """Gather what a report says.

    Parameters
    ----------
    model : PairwiseFairClassifier or PairwiseFairRegressor
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
        Columns of ``people`` by which to compare groups; needs ``outcome``. By default those whose names look protected
        and that have few values, or numbers; none if it is empty.
    protected : column names, optional
        Columns that a model should not use without a reason; the report warns if it does. So are ``groups``.
    question, design, title, date : str, optional
        What was asked, how the pairs were chosen, the heading, and the day, in your own words.
    simulated : bool
        Whether all judges are simulated, whatever ``judgments.simulated`` says.
    chosen : (gamma, eta), optional
        Which point of the frontier to mark; by default the model's own.
    labels : mapping, optional
        Words for the outcomes, such as ``{0: "not re-arrested", 1: "re-arrested"}``.
    unit : str
        What amounts are counted in, such as ``"€"``.
    columns : mapping, optional
        Words for columns of ``people``, such as ``{"priors_count": "Earlier offences"}``; others go by their names.
    n_dearest : int
        How many of the most expensive pairs to show.
    held_out : HeldOutErrors, optional
        Of :func:`fairwise.auditing.held_out_errors` for this model: the first page then compares errors on new people.
    influence : JudgeInfluence, optional
        Of :meth:`fairwise.auditing.influence.Influence.tables`: what the model would be without some of the judges.
    effects : Effects, optional
        Of :func:`fairwise.auditing.effects`, if there was a second round.
    price_bands : DataFrame, optional
        ``prices`` of :func:`fairwise.auditing.answer_bands`, whose ``on(frontier)`` gives the frontier its bands.
    """
    _check_same_judgments(model, judgments)
    people = to_pandas(people)
    table = pd.DataFrame(people)
    if judgments.by == "position":
        table = table.reset_index(drop=True)
    words = Labels.of(model, labels)
    outcome = to_pandas(outcome, table.index)
    labelled = None if outcome is None else outcome_numbers(outcome, table, model)
    called = dict(columns or {})
    compared = default_groups(table, called) if groups is None else list(groups)
    by_groups = None if labelled is None or not compared else group_values(table, compared).rename(columns=called)
    inputs = _as_in_the_fit(model, people)
    if frontier is not None:
        made_from = Provenance.of(pd.DataFrame(inputs), labelled, judgments, model.get_params(deep=False))
        refuse_other_origin(frontier, made_from)
    probability, measure = chances(model, inputs), replace(ErrorMeasure.of_model(model), unit=unit)
    asked = judgments.asked()
    result = _audit(model, words, probability, table.index, asked, by_groups, labelled)
    constants = None if labelled is None else constant_costs(model, labelled.to_numpy())
    prices = answered_rows(model.prices_)
    pairs, spread = followed_by_pair(prices), spread_over_pairs(prices, measure.largest)
    curve = None if frontier is None else Curve.of(frontier, model, chosen, len(table))
    least_traced = np.inf if curve is None else curve.unbound_error  # where a search is heuristic, the better of two
    shown = table[_shown_columns(model, table, outcome)].rename(columns=called)
    return Findings(
        title=title,
        question=question,
        design=design,
        date=date,
        labels=words,
        measure=measure,
        n_people=len(table),
        features=FeatureUse.of(model, {*protected, *(groups or ())}, called),
        panel=Panel.of(asked, simulated=simulated),
        audit=result,
        certificate=model.certificate_,
        plain_error=None if labelled is None else min(plain_error(model, inputs, labelled), least_traced),
        guess_error=None if constants is None else float(constants.min()),
        guess_label=None if constants is None else _least(constants, words),
        held_out=held_out,
        curve=curve,
        prices=prices,
        price_by_judge=followed_by_judge(prices),
        price_by_person=price_by_person(prices),
        lorenz_excess=spread["excess"],
        lorenz_price=spread["price"],
        gains=None
        if by_groups is None or labelled is None
        else gains(model, inputs, labelled, judgments, by_groups, words),
        dearest=tuple(
            pair.on_other_days(price_bands)
            for pair in expensive_pairs(pairs, prices, result.by_pair, shown, n_dearest, measure.largest)
        ),
        free_texts=tuple(called.get(name, name) for name in free_texts(table)),
        rules=model.rules_.for_people(called, words.words),
        recipe=Recipe.of(model, judgments, table),
        decisions=None
        if words.label_values is None or is_of_amounts(model)
        else decision_table(probability, None if labelled is None else labelled.to_numpy(), by_groups),
        amounts=AmountsGiven.of(model, inputs, labelled, by_groups, unit),
        influence=influence,
        effects=effects,
        predicted=_predicted(model),
    )


def _predicted(model: Model) -> Predicted | None:
    """Return what is known of predicted judgments; None without any."""
    prices, proved = model.prices_, model.certificate_
    if "predicted" not in prices:
        return None
    counts = status_counts(prices.loc[prices["predicted"], "status"])
    in_force = counts["followed"] + counts["not_followed"]
    return Predicted(proved.n_predicted, in_force, counts["followed"], proved.predicted_error)


def _audit(
    model: Model,
    labels: Labels,
    probability: FloatArray,
    index: pd.Index,
    asked: Judgments,
    groups: pd.DataFrame | None,
    outcome: pd.Series[Any] | None,
) -> Audit:
    """Audit the model; rates of groups are of two labels, one of which is good."""
    valued = labels.label_values is not None
    scores = pd.Series(labels.treatment(probability) if valued else probability[:, 1], index=index)
    by_groups = None if valued else groups
    return audit(
        scores if asked.by == "id" else scores.to_numpy(),
        asked,
        float(model.gamma),
        1 if valued else labels.favorable,
        weighting=model.weighting,
        groups=by_groups,
        outcome=None if by_groups is None else outcome,
    )


def _least(constants: FloatArray, labels: Labels) -> str:
    """The label that is wrong least for everyone; of equal ones the last."""
    return labels.words[len(constants) - 1 - int(np.argmin(constants[::-1]))]


def _check_same_judgments(model: Model, judgments: Judgments) -> None:
    """Prices are about the judgments of the fit, so a report with other ones would mix two stories."""
    fitted, current = (table[KEY].astype(str) for table in (model.prices_, judgments.counted()))
    if not fitted.sort_values(KEY, ignore_index=True).equals(current.sort_values(KEY, ignore_index=True)):
        raise InputError(
            f"report: the model was fitted with other judgments ({len(fitted)} answers that count) than these "
            f"({len(current)}); give the judgments of the fit"
        )


def _as_in_the_fit(model: Model, people: object) -> Any:
    """The columns of the fit alone: groups may be compared by columns that the model never sees."""
    used = getattr(model, "feature_names_in_", None)
    if used is None or not isinstance(people, pd.DataFrame):
        return people
    missing = [name for name in used if name not in people.columns]
    if missing:
        raise InputError(f"people: missing column {missing[0]!r}, which the model was fitted with")
    return people[list(used)]


def _shown_columns(model: Model, people: pd.DataFrame, outcome: object) -> list[str]:
    """Return the columns that the model uses, never the outcome."""
    used = getattr(model, "feature_names_in_", people.columns)
    hidden = getattr(outcome, "name", None)
    return [name for name in used if name in people.columns and (hidden is None or name != hidden)]
