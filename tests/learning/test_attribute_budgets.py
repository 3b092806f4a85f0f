"""No group of judges suffers more than its budget: who gets to define what is fair can be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import audit
from fairwise.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.learning.conftest import Town

    from fairwise.constraints.pairs import Weighting

RELATION = {"ann": {"relation": "affected"}, "bea": {"relation": "expert"}, "cal": {"relation": "affected"}}


@pytest.fixture(scope="module")
def judgments(town: Town) -> Judgments:
    return Judgments(town.judgments.frame, people=town.people, judge_attributes=RELATION)


def fit(town: Town, judgments: Judgments, **given: Any) -> PairwiseFairClassifier:
    learner = PairwiseFairClassifier("tree", **({"gamma": 0.05, "eta": None, "tol": 1e-7} | given))
    return learner.fit(town.people, town.outcome, judgments=judgments)


def suffered(
    model: PairwiseFairClassifier, town: Town, judgments: Judgments, weighting: Weighting = "answers"
) -> dict[str, float]:
    """Mean excess of each group, from the audit."""
    scores = pd.Series(model.predict_proba(town.people)[:, 1], index=town.people.index)
    result = audit(scores, judgments, model.gamma, weighting=weighting)
    return {str(line["value"]): line["mean_excess"] for line in result.by_attribute.to_dict("records")}


@pytest.mark.parametrize("weighting", ["answers", "panel"])
@pytest.mark.parametrize("limit", [0.0, 0.02])
def test_the_audit_finds_the_budget_kept_and_used_to_the_full(
    town: Town, judgments: Judgments, weighting: Weighting, limit: float
) -> None:
    free = fit(town, judgments)
    assert suffered(free, town, judgments, weighting)["affected"] > 0.03
    for group, other in [("affected", "expert"), ("expert", "affected")]:
        bound = fit(town, judgments, judge_budgets={"relation": {group: limit}}, weighting=weighting)
        found = suffered(bound, town, judgments, weighting)
        assert found[group] == pytest.approx(limit, abs=1e-6)
        assert found[other] > 0.03  # nobody asked that they be spared
        assert bound.certificate_.gap <= 1e-6
        assert bound.certificate_.error > free.certificate_.error + 1e-3


def test_groups_and_judges_may_have_budgets_at_once(town: Town, judgments: Judgments) -> None:
    limits = {"relation": {"affected": 0.02, "expert": 0.01}, "ann": 0.005}
    model = fit(town, judgments, judge_budgets=limits)
    found = suffered(model, town, judgments)
    assert found["affected"] <= 0.02 + 1e-6
    assert found["expert"] <= 0.01 + 1e-6
    ann = model.prices_[model.prices_["judge"] == "ann"]
    assert ann["excess"].sum() / (2 * len(ann)) <= 0.005 + 1e-6


def test_a_number_is_about_a_judge_and_a_mapping_about_an_attribute_of_the_same_name(town: Town) -> None:
    named = {"ann": {"bea": "yes"}, "bea": {"bea": "no"}, "cal": {"bea": "yes"}}
    judgments = Judgments(town.judgments.frame, people=town.people, judge_attributes=named)
    group = fit(town, judgments, judge_budgets={"bea": {"yes": 0.0}})
    assert suffered(group, town, judgments)["yes"] <= 1e-6
    assert suffered(group, town, judgments)["no"] > 0.03
    judge = fit(town, judgments, judge_budgets={"bea": 0.0})
    assert suffered(judge, town, judgments)["no"] <= 1e-6
    assert suffered(judge, town, judgments)["yes"] > 0.03


def test_the_game_keeps_a_groups_budget_about_as_well(town: Town, judgments: Judgments) -> None:
    limits = {"relation": {"affected": 0.01}}
    game = {"solver": "no-regret", "n_rounds": 400, "lambda_bound": 5.0, "tau_bound": 5.0}
    found = suffered(fit(town, judgments, judge_budgets=limits, **game), town, judgments)
    assert found["affected"] <= 0.03 < found["expert"]


def test_a_budget_for_a_group_that_is_not_there_is_refused_by_the_fit(town: Town, judgments: Judgments) -> None:
    with pytest.raises(InputError, match="'relation' 'friend', but no judge has it"):
        fit(town, judgments, judge_budgets={"relation": {"friend": 0.1}})
    with pytest.raises(InputError, match="'relation', no attribute of these judges: they have none"):
        fit(town, town.judgments, judge_budgets={"relation": {"affected": 0.1}})


def test_a_model_with_such_a_budget_can_be_saved(town: Town, judgments: Judgments, tmp_path: Path) -> None:
    limits = {"relation": {"affected": 0.02}, "ann": 0.01}
    model = fit(town, judgments, judge_budgets=limits)
    files = tmp_path / "model.skops", tmp_path / "prices.parquet"
    model.save(files[0], prices=files[1])
    again = PairwiseFairClassifier.load(files[0], prices=files[1])
    assert again.judge_budgets == limits
    pd.testing.assert_frame_equal(again.prices_, model.prices_)
    assert {"followed", "not followed"} == set(again.prices_["status"])
