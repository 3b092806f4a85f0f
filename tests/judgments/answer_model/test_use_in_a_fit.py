"""Predicted and weighted judgments, rules of a committee: what was asked and what was predicted stay apart."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise import AnswerModel, Judgments, PairwiseFairClassifier, audit
from fairwise.auditing import compare_rules, without_judges
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.judgments import krippendorff_alpha
from fairwise.simulation import simulate_panel

PEOPLE, OUTCOME = make_people(300, 5, seed=0)


@pytest.fixture(scope="module")
def said() -> Judgments:
    return simulate_panel(PEOPLE, 10, 25, answers="four", seed=2)


@pytest.fixture(scope="module")
def model(said: Judgments) -> AnswerModel:
    return AnswerModel().fit(said)


@pytest.fixture(scope="module")
def extended(said: Judgments, model: AnswerModel) -> Judgments:
    return said.extended(model, 150, 0.8, people=PEOPLE)


def test_predicted_rows_are_new_sure_and_told_apart(said: Judgments, model: AnswerModel, extended: Judgments) -> None:
    rows = extended.frame
    predicted = rows[rows["design"] == "predicted"]
    assert len(predicted) == extended.n_predicted == 150
    assert extended.asked().frame.drop(columns="error_bound").equals(said.frame)
    keys = [
        {(judge, frozenset(pair)) for judge, *pair in frame[["judge", "a", "b"]].itertuples(index=False)}
        for frame in (said.frame, predicted)
    ]
    assert not keys[0] & keys[1]
    assert len(keys[1]) == 150
    sets = model.predict_sets(predicted, 0.8, people=PEOPLE)
    assert (sets.sum(axis=1) == 1).all()
    assert (sets.idxmax(axis=1).to_numpy() == predicted["answer"].to_numpy()).all()
    chance = model.predict_proba(predicted, people=PEOPLE).max(axis=1).to_numpy()
    assert predicted["weight"].to_numpy() == pytest.approx(chance)
    assert (predicted["error_bound"] == model.error_bound(0.8)).all()
    assert 0 < predicted["error_bound"].iloc[0] < 0.5
    assert not predicted["a"].isin(said.person_ids()).all()  # some were never compared by anyone


def test_the_same_seed_predicts_the_same(said: Judgments, model: AnswerModel) -> None:
    one, again, other = (said.extended(model, 40, 0.8, random_state=seed).frame for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)


def test_what_counts_and_measures_people_leaves_predictions_out(said: Judgments, extended: Judgments) -> None:
    assert "and 150 predicted" in repr(extended)
    judged = f"about {said.person_ids().size} people"
    assert judged in repr(said)
    assert judged in repr(extended), "those whom answers are about, not predictions"
    assert extended.counts().equals(said.counts())
    assert krippendorff_alpha(extended).alpha == pytest.approx(krippendorff_alpha(said).alpha, nan_ok=True)
    assert extended.counted()["predicted"].sum() == 150
    assert "predicted" not in said.counted()
    assert AnswerModel().fit(extended).reliability_.equals(AnswerModel().fit(said).reliability_)


def test_predicted_rows_survive_a_file(extended: Judgments, tmp_path: object) -> None:
    path = tmp_path / "judgments.csv"  # type: ignore[operator]
    extended.write(path)
    again = Judgments.read(path, people=PEOPLE)
    assert again.n_predicted == 150
    assert again.frame["error_bound"].to_numpy() == pytest.approx(extended.frame["error_bound"].to_numpy(), nan_ok=True)
    wrong = pd.read_csv(io.StringIO("judge,a,b,answer,error_bound\nx,1,2,same,7\n"))
    with pytest.raises(InputError, match=r"column error_bound: 7.*is no share"):
        Judgments(wrong)


def test_certificate_prices_and_audit_say_what_is_predicted(said: Judgments, extended: Judgments) -> None:
    settings: dict[str, Any] = {"estimator": "linear-regression", "gamma": 0.3, "eta": 0.1, "favorable_label": 1}
    asked, both = (
        PairwiseFairClassifier(**settings).fit(PEOPLE, OUTCOME, judgments=judgments) for judgments in (said, extended)
    )
    assert asked.certificate_.n_predicted == 0
    assert "predicted" not in str(asked.certificate_)
    assert "predicted" not in asked.prices_
    bound = extended.frame["error_bound"].max()
    sentence = f"150 of 400 judgments were predicted, not asked for, at most {bound:.1%} of them wrongly (95 %)."
    assert both.certificate_.predicted_error == pytest.approx(bound)
    assert sentence in str(both.certificate_)
    assert any("Predicted judgments" in row[0] for row in both.certificate_.rows())
    assert both.prices_["predicted"].sum() == 150
    assert sentence in both.card()
    scores = pd.Series(both.predict_proba(PEOPLE)[:, 1], index=PEOPLE.index)
    found = audit(scores, extended, gamma=0.3, favorable_label=1)
    assert found.overall.loc["value", "predicted"] == 150
    assert sentence in str(found)
    assert "predicted" not in str(audit(scores, said, gamma=0.3, favorable_label=1))


def test_what_people_gave_is_counted_without_predictions(said: Judgments, extended: Judgments, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"estimator": "tree", "max_depth": 1, "gamma": 0.3, "favorable_label": 1}
    model = PairwiseFairClassifier(**settings).fit(PEOPLE, OUTCOME, judgments=extended)
    n_said = len(said.counted())
    n_same = int((said.counted()["answer"] == "same").sum())
    assert f"gave {n_said} judgments about" in model.card()
    assert f"| same | {n_same} |" in model.card()
    model.save(tmp_path / "model.skops")
    loaded = PairwiseFairClassifier.load(tmp_path / "model.skops").card()
    assert f"{n_said} judgments. 150 of {n_said + 150} judgments were predicted" in loaded
    scores = pd.Series(model.predict_proba(PEOPLE)[:, 1], index=PEOPLE.index)
    assert str(audit(scores, extended, 0.3, 1)).startswith(f"{n_said} answers of ")
    for without in without_judges(model, PEOPLE, OUTCOME, extended)["followed"]:
        assert without <= n_said
    as_said = audit(scores, said, 0.3, 1).by_judge
    rules = compare_rules(PairwiseFairClassifier(**settings), PEOPLE, OUTCOME, extended, {"all": None})
    assert rules["share_followed"].iloc[0] == pytest.approx(as_said["followed"].sum() / as_said["in_force"].sum())


def test_simulated_judges_stay_simulated_as_a_panel() -> None:
    simulated = simulate_panel(PEOPLE, 3, 5, seed=0).aggregated("majority")
    assert simulated.judges == ["simulated-panel"]
    assert "1 simulated judge," in repr(simulated)


def test_who_has_no_attribute_has_no_veto() -> None:
    votes = ("same", "no_constraint", "same")
    rows = [{"judge": judge, "a": 1, "b": 2, "answer": answer} for judge, answer in zip("uvw", votes, strict=True)]
    known = pd.DataFrame({"relation": pd.array(["affected", None, "expert"], dtype="string")}, index=list("uvw"))
    panel = Judgments(rows, judge_attributes=known).aggregated({"veto": {"relation": "affected"}})
    assert panel.frame["answer"].tolist() == ["same"]


def test_rows_are_weighted_by_how_likely_they_are_meant(said: Judgments) -> None:
    again = said.frame[["judge", "a", "b", "answer"]].assign(design="repeat")
    turned = again["judge"] == said.judges[0]
    again.loc[turned, "answer"] = again.loc[turned, "answer"].map(
        {
            "same": "no_constraint",
            "no_constraint": "same",
            "a_at_least_b": "b_at_least_a",
            "b_at_least_a": "a_at_least_b",
        }
    )
    both = Judgments(pd.concat([said.frame[["judge", "a", "b", "answer", "design"]], again]), people=PEOPLE)
    weighted = both.weighted_by(AnswerModel().fit(both)).counted()
    unsteady = weighted["judge"] == said.judges[0]
    assert weighted["weight"].between(0, 1).all()
    assert weighted["weight"][~unsteady].mean() > weighted["weight"][unsteady].mean() + 0.1


def test_nothing_to_predict_is_said(said: Judgments, model: AnswerModel) -> None:
    with pytest.raises(InputError, match="n_pairs=0"):
        said.extended(model, 0)
    with pytest.raises(InputError, match="random_state=-1; allowed: a whole number, 0 or more"):
        said.extended(model, 5, 0.8, random_state=-1)
    with pytest.raises(InputError, match="no pair has a set of one answer"):
        said.extended(model, 1, 0.9999)
    with pytest.raises(InputError, match=r"n_pairs=2\.5; allowed: a whole number, 1 or more"):
        said.extended(model, 2.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="extended: an AnswerModel, fitted, is needed, not 'x'"):
        said.extended("x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="weighted_by: an AnswerModel, fitted, is needed, not 'x'"):
        said.weighted_by("x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not fitted"):
        said.extended(AnswerModel())
    with pytest.raises(InputError, match=r"^people: without .* whom judgments are about"):
        said.extended(model, 5, 0.8, people=PEOPLE.head(5))


def test_only_judges_of_these_judgments_are_predicted_and_the_model_must_know_them(
    said: Judgments, model: AnswerModel
) -> None:
    frame = said.frame[["judge", "a", "b", "answer"]]
    two = Judgments(frame[frame["judge"].isin(said.judges[:2])], people=PEOPLE)
    assert two.extended(model, 20, 0.8).judges == two.judges
    other = Judgments(frame[frame["judge"] == said.judges[0]].assign(judge="somebody new"), people=PEOPLE)
    with pytest.raises(InputError, match="learned nothing from 'somebody new'; fit it to these judgments"):
        other.extended(model, 20, 0.8)


VOTES = {  # by judge: what is said of (p, q)
    "u": "same",
    "v": "a_at_least_b",
    "w": "a_at_least_b",
    "x": "no_constraint",
    "y": "b_at_least_a",
}
RELATION = {"u": "affected", "v": "affected", "w": "affected", "x": "expert", "y": "expert"}


@pytest.mark.parametrize(
    ("rule", "in_force"),
    [
        ("majority", "a_at_least_b"),  # 3 of 5
        ({"quota": 0.4}, "same"),  # 3 and 2 of 5
        ({"quota": 0.6}, "a_at_least_b"),
        ({"quota": 0.7}, "no_constraint"),
        ({"veto": {"relation": "affected"}}, "a_at_least_b"),
        ({"veto": {"relation": "expert"}}, "no_constraint"),
        ({"one_vote_per": "relation"}, "no_constraint"),  # 1 and 0 of two groups; 1/3 and 1/2
        ({"one_vote_per": "relation", "quota": 0.5}, "a_at_least_b"),
    ],
)
def test_rules_of_a_committee(rule: object, in_force: str) -> None:
    rows = [{"judge": judge, "a": "p", "b": "q", "answer": answer} for judge, answer in VOTES.items()]
    # The same with sides changed must give the same.
    rows[1] = {"judge": "v", "a": "q", "b": "p", "answer": "b_at_least_a"}
    kinds = {judge: {"relation": relation} for judge, relation in RELATION.items()}
    panel = Judgments(rows, judge_attributes=kinds).aggregated(rule)  # type: ignore[arg-type]
    assert panel.judges == ["panel"]
    assert panel.frame[["a", "b", "answer"]].to_numpy().tolist() == [["p", "q", in_force]]


def test_pairs_of_which_all_votes_are_predicted_stay_predicted(extended: Judgments) -> None:
    panel = extended.aggregated("majority")
    assert panel.n_predicted > 100
    assert panel.n_judges == 1
    assert panel.frame["error_bound"].notna().sum() == panel.n_predicted


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ("all", "'all'; allowed: 'majority'"),
        ({"quota": 1.5}, "quota=1.5; allowed"),
        ({"quota": True}, "quota=True; allowed"),
        ({"veto": {"relation": "affected"}}, "no attribute 'relation'; there are none"),
        ({"one_vote_per": "town"}, "no attribute 'town'"),
        ({"veto": "me"}, "veto='me'; allowed"),
        ({}, "allowed: 'majority'"),
        ({"one_vote_per": ["town"]}, "the name of one attribute"),
    ],
)
def test_rules_that_are_none_are_refused(rule: object, named: str) -> None:
    with pytest.raises(InputError, match=named):
        Judgments([{"judge": "u", "a": 1, "b": 2, "answer": "same"}]).aggregated(rule)  # type: ignore[arg-type]


def test_a_veto_that_nobody_has_is_refused() -> None:
    judgments = Judgments(
        [{"judge": "u", "a": 1, "b": 2, "answer": "same"}], judge_attributes={"u": {"relation": "expert"}}
    )
    with pytest.raises(InputError, match="nobody could veto"):
        judgments.aggregated({"veto": {"relation": "affected"}})
    assert np.isfinite(judgments.aggregated("majority").frame["weight"]).all()
