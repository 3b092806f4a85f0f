"""What an operator may ask of a fit; whatever else is refused in a sentence that says what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fairwise.errors import InputError
from fairwise.study.fit_choices import ESTIMATORS, FitChoices, outcome_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.study.folder import StudyFolder

ASKED = {"name": "First try", "favorable_label": "0"}
RULE = {"rate": "fpr", "bound": "0.02", "column": "town"}


def test_numbers_may_be_text_and_what_is_kept_reads_back() -> None:
    given = {**ASKED, "gamma": "0.25", "eta": None, "max_depth": "3", "group_rules": [RULE]}
    settings = FitChoices.checked(given)
    assert (settings.gamma, settings.eta, settings.max_depth, settings.group_rules[0].bound) == (0.25, None, 3, 0.02)
    assert FitChoices.checked(settings.model_dump(mode="json")) == settings


def test_jobs_of_before_included_simulated_participants() -> None:
    stored = FitChoices.checked({"name": "One"}).model_dump(mode="json")
    assert not FitChoices.of_job(stored).include_simulated
    del stored["include_simulated"]
    assert FitChoices.of_job(stored).include_simulated


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_kind_of_model_in_the_list_is_allowed(estimator: str) -> None:
    assert FitChoices.checked({**ASKED, "estimator": estimator}).estimator == estimator


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": " "}, "The name of the model must have"),
        ({"estimator": "neural"}, "The kind of model must be one of linear, tree, logistic, linear-regression."),
        ({"max_depth": 4}, "The depth of a tree must be a whole number from 1 to 3."),
        ({"gamma": "much"}, "(gamma) must be a number from 0 to 1, such as 0.1."),
        ({"gamma": float("nan")}, "(gamma) must be"),
        ({"eta": 1.5}, "(eta) must be a number from 0 to 1, such as 0.1, or empty for no limit."),
        ({"judge_budget": -1}, "What each participant may be disappointed by"),
        ({"favorable_label": ""}, "Say which of the two outcomes is the good one."),
        ({"group_rules": [{**RULE, "rate": "f1"}]}, "A rule for groups needs a rate (dp, tpr, fpr, eo, error)"),
        ({"group_rules": [RULE, {**RULE, "column": "age"}]}, "must be about the same column"),
        ({"speed": 3}, "There is no setting speed."),
    ],
)
def test_what_is_not_allowed_is_said_in_a_sentence(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        FitChoices.checked({**ASKED, **changed})
    assert said in str(refused.value)
    assert "Input should" not in str(refused.value)


def test_it_must_suit_the_study(make_study: Callable[..., StudyFolder]) -> None:
    study = make_study()
    labels = outcome_labels(study)
    assert labels == ("outcome-0-never", "outcome-1-never")
    with pytest.raises(InputError, match="Say which one is good: outcome-0-never or outcome-1-never"):
        FitChoices.checked(ASKED, study)
    suited = {**ASKED, "favorable_label": labels[1]}
    assert FitChoices.checked({**suited, "group_rules": [RULE]}, study).favorable_label == labels[1]
    with pytest.raises(InputError, match=r"names the column 'race'; there are age, town\."):
        FitChoices.checked({**suited, "group_rules": [{**RULE, "column": "race"}]}, study)
    with pytest.raises(InputError, match="a bound from 0 to 1"):
        FitChoices.checked({**suited, "group_rules": [{**RULE, "bound": 1.5}]}, study)
