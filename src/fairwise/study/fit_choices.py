"""Choices of an operator for one fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator

from fairwise.errors import InputError
from fairwise.study.folder import StudyFolder
from fairwise.study.toml import Line, SettingsTable
from fairwise.tables.rows import text_of

Estimator = Literal["linear", "tree", "logistic", "linear-regression"]
Rate = Literal["dp", "tpr", "fpr", "eo", "error"]
ESTIMATORS: Mapping[str, tuple[str, str]] = {
    "tree": (
        "Decision tree",
        "A few yes-or-no questions, easy to explain. The only kind with a proof that no other tree does better.",
    ),
    "linear": ("Weighted score", "Every detail adds or takes away points. Usually the most accurate."),
    "logistic": ("Logistic regression", "The model that statisticians know best. The fastest."),
    "linear-regression": ("Linear regression", "Every detail adds to the amount or takes away from it. The fastest."),
}
"""Kinds of model, each with its name on pages and what is said about it."""

_OF_AMOUNTS = ("tree", "linear-regression")

DEEPEST = 3
MOST_LEFT_OUT = 60
"""Largest number of participants for whom the influence of each is computed."""

MOST_PREDICTED = 20_000

Fraction = Annotated[float, Field(ge=0, le=1)]

_FROM_0_TO_1 = "must be a number from 0 to 1, such as 0.1"
_NEEDED = {
    "name": "The name of the model must have 1 to 500 letters.",
    "estimator": f"The kind of model must be one of {', '.join(get_args(Estimator))}.",
    "max_depth": f"The depth of a tree must be a whole number from 1 to {DEEPEST}.",
    "gamma": f"The difference that is allowed against a judgment (gamma) {_FROM_0_TO_1}.",
    "eta": f"What the panel may be disappointed by on average (eta) {_FROM_0_TO_1}, or empty for no limit.",
    "judge_budget": f"What each participant may be disappointed by on average {_FROM_0_TO_1}, or empty for no limit.",
    "favorable_label": "Say which of the two outcomes is the good one.",
    "features": "A model must look at something: leave it at least one of the columns.",
    "predicted": f"How many answers are predicted is a whole number from 0 to {MOST_PREDICTED}, or empty for none.",
    "coverage": "How sure a prediction must be is a number from 0.5 to below 1, such as 0.9.",
    "group_rules": (
        f"A rule for groups needs a rate ({', '.join(get_args(Rate))}), a bound from 0 to 1 and a column of the people."
    ),
}


class GroupRule(SettingsTable):
    """The rate of each group may differ from everyone's by at most the bound.

    Of amounts the rate is the mean error, which of no group may be above the bound, in the unit of the amounts.
    """

    rate: Rate
    bound: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    column: Line


class FitChoices(SettingsTable):
    """One fit, and perhaps the frontier around it."""

    name: Annotated[Line, Field(title="Name")]
    estimator: Annotated[Estimator, Field(title="Kind of model")] = "linear"
    max_depth: Annotated[int, Field(ge=1, le=DEEPEST)] = 2
    """Largest number of questions in a row of a tree."""

    gamma: Annotated[Fraction, Field(title="Tolerance γ")] = 0.1
    """Difference between the chances of two people that is allowed against a judgment."""

    eta: Annotated[Fraction | None, Field(title="Allowance η")] = 0.0
    """Average excess that is allowed over the panel; None for no limit."""

    judge_budget: Annotated[Fraction | None, Field(title="Allowance for each participant")] = None
    """Average excess that is allowed for any single participant; None for no limit."""

    favorable_label: Annotated[Line | None, Field(title="The good outcome")] = None
    """The good one of two outcomes, as written in the people's table: 0 or 1, for example; None of several decisions,
    of which the study says how good each is."""

    features: Annotated[tuple[Line, ...] | None, Field(title="What the model may look at", min_length=1)] = None
    """Columns of the people's table; None for all that participants see."""

    group_rules: Annotated[tuple[GroupRule, ...], Field(title="Rules about groups")] = ()
    deterministic: Annotated[bool, Field(title="Chance")] = False
    """Whether the model is made to decide everyone for certain, which breaks some of what was asked for."""

    frontier: bool = True
    """Whether to find out, too, what other values of eta would cost."""

    predicted: Annotated[int, Field(title="Predicted answers", ge=0, le=MOST_PREDICTED)] = 0
    """Largest number of answers that are added from the model of answers."""

    coverage: Annotated[float, Field(ge=0.5, lt=1)] = 0.9
    """Probability with which the set of a predicted answer holds the real answer."""

    weighted: Annotated[bool, Field(title="Weight of an answer")] = False
    """Whether each answer counts by the probability that it is meant."""

    influence: Annotated[bool, Field(title="What each participant changes")] = True
    """Whether to find out, too, what the model would be without each participant; not of very many of them."""

    finished_only: Annotated[bool, Field(title="Whose answers count")] = False
    """Whether the answers of those who did not finish are left out."""

    include_simulated: Annotated[bool, Field(title="Simulated participants")] = False
    """Whether the answers of simulated participants count where there are also real ones."""

    case_details: Annotated[bool, Field(title="Ids and free texts in the report")] = False
    """Whether the report names ids of people and participants, and shows columns of free text."""

    @model_validator(mode="after")
    def _one_division(self) -> Self:
        if len({rule.column for rule in self.group_rules}) > 1:
            raise ValueError("All rules for groups in one model must be about the same column.")
        return self

    @classmethod
    def checked(cls, content: Mapping[str, object], study: StudyFolder | None = None) -> Self:
        """Return settings from plain values (numbers may be text); with a study, also whether they suit it."""
        try:
            settings = cls.model_validate(content)
        except ValidationError as error:
            raise InputError(_in_words(error)) from None
        if study is not None:
            settings.check_for(study)
        return settings

    @classmethod
    def of_job(cls, stored: Mapping[str, object], study: StudyFolder | None = None) -> Self:
        """Return the settings of a job; those of before 0.3 do not mention simulated participants, and include them."""
        return cls.checked({"include_simulated": True, **stored}, study)

    def check_for(self, study: StudyFolder) -> None:
        """Refuse an outcome or a column that the study does not have."""
        self._check_outcomes(study)
        kinds = estimators_for(study)
        if self.estimator not in kinds:
            raise InputError(f"The kind of model must be one of {', '.join(kinds)}.")
        columns = [column.name for column in study.settings.columns]
        for name in self.features or ():
            if name not in columns:
                raise InputError(
                    f"The model is to look at {name!r}, which is no column; there are {', '.join(columns)}."
                )
        for rule in self.group_rules:
            if rule.column not in columns:
                raise InputError(f"A rule for groups names the column {rule.column!r}; there are {', '.join(columns)}.")

    def _check_outcomes(self, study: StudyFolder) -> None:
        """One of two outcomes is the good one; of several decisions and amounts the study says what is good."""
        kind = study.settings.outcome_kind
        if kind == "amount":
            self._check_amounts()
            return
        if any(rule.bound > 1 for rule in self.group_rules):
            raise InputError(_NEEDED["group_rules"])
        if kind == "tiers":
            if self.favorable_label is not None:
                raise InputError("The study says how good each decision is: leave out which one is the good one.")
            if any(rule.rate == "error" for rule in self.group_rules):
                raise InputError(
                    "Equal shares of wrong decisions may be impossible to keep where there are several decisions. "
                    "Choose another rule for groups."
                )
            return
        if self.favorable_label is None:
            raise InputError(_NEEDED["favorable_label"])
        labels = outcome_labels(study)
        if self.favorable_label not in labels:
            raise InputError(
                f"{self.favorable_label!r} is not one of the outcomes. Say which one is good: {' or '.join(labels)}."
            )

    def _check_amounts(self) -> None:
        """Refuse what is about labels, or about chance: a person is given the mean of what a mixture says."""
        if self.favorable_label is not None:
            raise InputError("The study says which amounts are better: leave out which outcome is the good one.")
        if self.deterministic:
            raise InputError("A model of amounts gives everyone an amount without a lot: leave out to do so.")
        if any(rule.rate != "error" for rule in self.group_rules):
            raise InputError(
                "Amounts have no rates: a rule for groups is about their mean error (error), at most so much."
            )


def estimators_for(study: StudyFolder) -> Mapping[str, tuple[str, str]]:
    """The kinds of model that suit what is decided, as in `ESTIMATORS`."""
    amounts = study.settings.outcome_kind == "amount"
    kinds = _OF_AMOUNTS if amounts else tuple(name for name in ESTIMATORS if name != "linear-regression")
    return {name: ESTIMATORS[name] for name in kinds}


def outcome_labels(study: StudyFolder) -> tuple[str, ...]:
    """The outcomes as they are written, those of decisions the best first; without outcomes there is no fit.

    Amounts are no labels, and there are none of them.
    """
    outcome = study.outcome()
    if study.settings.amount is not None:
        return ()
    if study.settings.decisions:
        return tuple(one.label for one in sorted(study.settings.decisions, key=lambda one: -one.value))
    return tuple(text_of(label) for label in outcome.drop_duplicates().sort_values().tolist())


def _in_words(error: ValidationError) -> str:
    """The first thing that is wrong, as one sentence that says what is allowed."""
    problem = error.errors()[0]
    name = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "extra_forbidden":
        return f"There is no setting {name}."
    return _NEEDED.get(name) or problem["msg"].removeprefix("Value error, ")
