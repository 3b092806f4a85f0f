"""The model without some judges, against fits from scratch and against what must hold of any change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity
from tests.support.listed_decisions import Decisions

from fairwise import Judgments, PairwiseFairClassifier, PairwiseFairRegressor
from fairwise.auditing import answer_bands, held_out, influential_judges, without_judges
from fairwise.auditing.influence import Influence
from fairwise.datasets import make_people
from fairwise.errors import InputError, JudgmentsError
from fairwise.judgments.answer_model import AnswerModel
from fairwise.simulation import simulate_panel

PEOPLE, OUTCOME = make_people(200, 3, 5)
SIDE = pd.Series(np.where(PEOPLE.iloc[:, 0] > 0, "right", "left"), index=PEOPLE.index)


@pytest.fixture(scope="module")
def judgments() -> Judgments:
    simulated = simulate_panel(PEOPLE, n_judges=5, n_pairs=8, seed=2, answers="four")
    half = {judge: {"half": "first" if number < 2 else "second"} for number, judge in enumerate(simulated.judges)}
    return Judgments(simulated.frame, people=PEOPLE, judge_attributes=half)


RULES: dict[str, dict[str, Any]] = {
    "gamma": {"gamma": 0.1},
    "eta": {"gamma": 0.0, "eta": 0.02, "favorable_label": 0},
    "panel": {"gamma": 0.0, "eta": 0.02, "weighting": "panel"},
    "judges": {"gamma": 0.0, "eta": None, "judge_budgets": {"simulated-01": 0.01, "simulated-03": 0.02}},
    "groups": {"gamma": 0.1, "group_constraints": [DemographicParity(difference_bound=0.05)]},
}
rules = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))


def fitted(rule: dict[str, Any], judgments: Judgments, **more: Any) -> tuple[PairwiseFairClassifier, dict[str, Any]]:
    extra: dict[str, Any] = {"sensitive_features": SIDE} if "group_constraints" in rule else {}
    learner = PairwiseFairClassifier("tree", max_depth=1, **{"favorable_label": 1, **rule, **more})
    return learner.fit(PEOPLE, OUTCOME, judgments=judgments, **extra), extra


@rules
def test_errors_are_those_of_fits_from_scratch(rule: dict[str, Any], judgments: Judgments) -> None:
    model, extra = fitted(rule, judgments)
    table = without_judges(model, PEOPLE, OUTCOME, judgments, **extra)
    assert list(table.index) == judgments.judges
    assert list(table.columns) == ["error", "error_change", "followed", "largest_change", "people_changed"]
    exact = fitted(rule, judgments, tol=1e-9)[0].certificate_.error
    for judge, line in table.iterrows():
        others = judgments.select([other for other in judgments.judges if other != judge])
        named = rule.get("judge_budgets") and {
            who: limit for who, limit in rule["judge_budgets"].items() if who != judge
        }
        again = fitted({**rule, **({"judge_budgets": named} if named else {})}, others, tol=1e-9)[0]
        assert line["error"] == pytest.approx(again.certificate_.error, abs=1e-6)
        assert line["error_change"] == pytest.approx(again.certificate_.error - exact, abs=1e-6)
    if rule.get("eta", 0.0) == 0.0:
        assert table["error_change"].max() <= 1e-6  # fewer rules never cost more
    assert table["error_change"].abs().max() > 1e-3


@rules
def test_who_changes_no_error_changes_nobody(rule: dict[str, Any], judgments: Judgments) -> None:
    """Where the model as it is stays a best one, nothing is said to change; where it does not, somebody must."""
    model, extra = fitted(rule, judgments, tol=1e-9)
    table = without_judges(model, PEOPLE, OUTCOME, judgments, least_change=0.0001, **extra)
    less = table["error_change"] < -1e-6
    assert (table.loc[less, "largest_change"] > 0).all()
    assert (table.loc[less, "people_changed"] > 0).all()
    if rule.get("eta", 0.0) == 0.0:
        assert (table.loc[~less, "largest_change"] == 0).all()
    assert (table["followed"] <= (model.prices_["status"] != "asks nothing").sum()).all()


def test_a_judge_who_asks_for_nothing_changes_nothing(judgments: Judgments) -> None:
    ids = PEOPLE.index[:4]
    rows = [{"judge": "quiet", "a": a, "b": b, "answer": "no_constraint"} for a, b in (ids[:2], ids[2:])]
    answers = judgments.frame[["judge", "a", "b", "answer"]]
    more = Judgments(pd.concat([answers, pd.DataFrame(rows)]), people=PEOPLE)
    model, _ = fitted({"gamma": 0.1}, more)
    line = without_judges(model, PEOPLE, OUTCOME, more).loc["quiet"]
    assert line["error_change"] == pytest.approx(0.0, abs=1e-6)
    assert (line["largest_change"], line["people_changed"]) == (0.0, 0.0)
    assert line["followed"] == (model.prices_["status"] == "followed").sum()


def test_without_the_only_judge_the_plain_model_is_left(judgments: Judgments) -> None:
    alone = judgments.select([judgments.judges[0]])
    model, _ = fitted({"gamma": 0.0}, alone)
    table = without_judges(model, PEOPLE, OUTCOME, alone)
    assert table["error"].item() == pytest.approx(model.certificate_.plain_error, abs=1e-9)
    assert table["error_change"].item() < 0


def test_groups_of_judges_go_together(judgments: Judgments) -> None:
    model, _ = fitted({"gamma": 0.1}, judgments)
    by_half = without_judges(model, PEOPLE, OUTCOME, judgments, by="half", n_jobs=2)
    assert by_half.index.name == "half"
    second = fitted({"gamma": 0.1}, judgments.select(judgments.judges[2:]), tol=1e-9)[0]
    assert by_half.loc["first", "error"] == pytest.approx(second.certificate_.error, abs=1e-6)


def test_a_judge_at_whose_rows_nothing_is_paid_takes_one_question(judgments: Judgments) -> None:
    """Rows without a price can be left out of a best solution, which needs no new search then."""
    loose = {"gamma": 0.8}
    model, _ = fitted(loose, judgments, tol=1e-9)
    free = [judge for judge, price in model.prices_.groupby("judge")["price"].sum().items() if price == 0]
    assert free
    search = Influence.of(model, PEOPLE, OUTCOME, judgments).search
    for judge, without in zip(free, search.each_without([[judge] for judge in free]), strict=True):
        assert without.solution.oracle_calls == 1
        again = fitted(loose, judgments.select(set(judgments.judges) - {judge}), tol=1e-9)[0]
        assert without.solution.error == pytest.approx(again.certificate_.error, abs=1e-6)


def test_numbers_are_the_same_for_any_number_of_processes(
    judgments: Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairwise.auditing.influence._SHARE", 2)
    model, _ = fitted({"gamma": 0.1}, judgments)
    told: list[tuple[int, int]] = []
    one = without_judges(model, PEOPLE, OUTCOME, judgments, progress=lambda *done: told.append(done))
    pd.testing.assert_frame_equal(one, without_judges(model, PEOPLE, OUTCOME, judgments, n_jobs=2))
    assert told == [(2, 5), (4, 5), (5, 5)]
    told.clear()
    most = influential_judges(model, PEOPLE, OUTCOME, judgments, n=2, progress=lambda *done: told.append(done))
    pd.testing.assert_frame_equal(most, influential_judges(model, PEOPLE, OUTCOME, judgments, n=2, n_jobs=2))
    assert told == [(2, 9), (4, 9), (5, 9), (7, 9), (9, 9)]


def test_of_a_heuristic_no_longer_search_is_told_as_a_change(judgments: Judgments) -> None:
    """All are mixtures of what was found for everyone: fewer rules never cost more, and nothing else can change."""
    model = PairwiseFairClassifier("linear", gamma=0.1, favorable_label=1).fit(PEOPLE, OUTCOME, judgments=judgments)
    influence = Influence.of(model, PEOPLE, OUTCOME, judgments)
    for without in influence.search.each_without([[judge] for judge in judgments.judges]):
        assert without.solution.oracle_calls == 0
        assert without.error_change <= 1e-6
        assert without.solution.weights.sum() == pytest.approx(1.0)
        _, values = without.prepared.problem.evaluate(without.solution.classifiers)
        assert (without.solution.weights @ values).max() <= 0.1 + 1e-6
    assert influence.by()["error_change"].min() < -1e-3


def test_the_search_for_influential_judges_takes_the_largest_change_first(judgments: Judgments) -> None:
    model, _ = fitted({"gamma": 0.0}, judgments)
    alone = without_judges(model, PEOPLE, OUTCOME, judgments)
    found = influential_judges(model, PEOPLE, OUTCOME, judgments, n=2)
    assert found.index[0] == alone["error_change"].abs().idxmax()
    pd.testing.assert_series_equal(found.iloc[0], alone.loc[found.index[0]])
    both = fitted({"gamma": 0.0}, judgments.select(set(judgments.judges) - set(found.index)), tol=1e-9)[0]
    assert found["error"].iloc[1] == pytest.approx(both.certificate_.error, abs=1e-6)
    assert found["error_change"].iloc[1] <= found["error_change"].iloc[0]


def test_what_cannot_be_compared_is_refused(judgments: Judgments) -> None:
    model, _ = fitted({"gamma": 0.1}, judgments)
    with pytest.raises(InputError, match="by='relation': the judges have no such attribute; there is 'half'"):
        without_judges(model, PEOPLE, OUTCOME, judgments, by="relation")
    with pytest.raises(InputError, match="least_change=2 is not allowed"):
        without_judges(model, PEOPLE, OUTCOME, judgments, least_change=2)
    with pytest.raises(InputError, match="n=9 is not allowed"):
        influential_judges(model, PEOPLE, OUTCOME, judgments, n=9)
    with pytest.raises(JudgmentsError, match=r"a fairwise\.Judgments is needed"):
        without_judges(model, PEOPLE, OUTCOME, judgments.frame)  # type: ignore[arg-type]
    paper = PairwiseFairClassifier("linear-regression", solver="no-regret", n_rounds=5, favorable_label=1)
    paper.fit(PEOPLE, OUTCOME, judgments=judgments)
    with pytest.raises(InputError, match='only models of solver="column-generation"'):
        without_judges(paper, PEOPLE, OUTCOME, judgments)
    amounts = PairwiseFairRegressor(larger_is_better=True, grid=3).fit(PEOPLE, 1.0 * OUTCOME, judgments=judgments)
    with pytest.raises(InputError, match="without_judges is for classifiers so far"):
        without_judges(amounts, PEOPLE, OUTCOME, judgments)
    with pytest.raises(InputError, match="held_out is for classifiers so far"):
        held_out(PairwiseFairRegressor(), PEOPLE, OUTCOME, judgments)
    with pytest.raises(InputError, match="answer_bands is for classifiers so far"):
        answer_bands(amounts, PEOPLE, OUTCOME, judgments, AnswerModel())
    with pytest.raises(InputError, match=r"sensitive_feature= is not known: .* sample_weight and sensitive_features"):
        without_judges(model, PEOPLE, OUTCOME, judgments, sensitive_feature=SIDE)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas
@pytest.mark.parametrize("seed", range(8))
def test_of_several_labels_errors_are_those_of_fits_from_scratch(seed: int) -> None:
    """With values, losses, weights, budgets and rules about groups, all drawn at random."""
    problem = Decisions.draw(seed, 3)
    extra: dict[str, Any] = {"sample_weight": problem.weight}
    extra |= {} if problem.rule is None else {"sensitive_features": problem.group}

    def fit(judgments: Judgments) -> PairwiseFairClassifier:
        model = PairwiseFairClassifier(
            "tree", max_depth=1, label_values=problem.values, loss=problem.loss, tol=1e-9, **problem.settings
        )
        return model.fit(problem.people, problem.outcome, judgments=judgments, **extra)

    model = fit(problem.judgments)
    table = without_judges(model, problem.people, problem.outcome, problem.judgments, **extra)
    for judge, line in table.iterrows():
        alone = fit(problem.judgments.select([other for other in problem.judgments.judges if other != judge]))
        assert line["error"] == pytest.approx(alone.certificate_.error, abs=1e-6)
        assert line["error_change"] == pytest.approx(alone.certificate_.error - model.certificate_.error, abs=1e-6)
        assert 0 <= line["largest_change"] <= 1 + 1e-9
        assert (line["people_changed"] > 0) <= (line["largest_change"] >= 0.01 - 1e-9)
        if line["error_change"] < -1e-4:
            assert line["largest_change"] > 0


@rules
def test_a_third_label_that_is_never_worth_it_changes_no_number(rule: dict[str, Any], judgments: Judgments) -> None:
    """Two labels by the way of several: the nearest models, who changes and what is followed are the same."""
    two, extra = fitted({key: value for key, value in rule.items() if key != "group_constraints"}, judgments)
    values = {0: float(two.favorable_label == 0), 1: float(two.favorable_label == 1), 2: 0.5}
    loss = pd.DataFrame([[0, 1, 9], [1, 0, 9], [9, 9, 0]], index=[0, 1, 2], columns=[0, 1, 2])
    settings = two.get_params() | {"favorable_label": None, "label_values": values, "loss": loss}
    three = PairwiseFairClassifier(**settings).fit(PEOPLE, OUTCOME, judgments=judgments, **extra)
    tables = [without_judges(model, PEOPLE, OUTCOME, judgments) for model in (two, three)]
    np.testing.assert_allclose(tables[1]["error"], tables[0]["error"], atol=1e-6)
    np.testing.assert_allclose(tables[1]["error_change"], tables[0]["error_change"], atol=1e-6)
    assert three.predict_proba(PEOPLE)[:, 2].max() == 0
    for table, model in zip(tables, (two, three), strict=True):
        assert table["largest_change"].max() <= 1
        silent = Influence.of(model, PEOPLE, OUTCOME, judgments).search.without([])
        assert silent.line(0.01)["largest_change"] == pytest.approx(0, abs=1e-6)
        assert silent.line(0.01)["people_changed"] == 0
