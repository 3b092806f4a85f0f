"""A fit from the queue to its files, by the process that does them."""

from __future__ import annotations

import json
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.fits import read_json
from tests.support.fitting import answered, ended, study_of, submitted, until, working

from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.store.export import judgments
from fairwise.store.fit_files import (
    FRONTIER,
    INFLUENCE,
    MODEL,
    PRICES,
    REPORT,
    REPORTS,
    RULES,
    SCORES,
    SUMMARY,
    job_folder,
)
from fairwise.store.store import Store
from fairwise.study.folder import OUTCOME

if TYPE_CHECKING:
    from pathlib import Path

    from tests.jobs.conftest import Panel

    from fairwise.store.jobs import Job

pytestmark = pytest.mark.slow


def done(panel: Panel, **settings: Any) -> Job:
    job_id = submitted(panel.store, **settings)
    with working(panel.study.path, panel.database):
        return until(panel.store, job_id, ended)


def people_of(panel: Panel) -> pd.DataFrame:
    return pd.read_parquet(panel.study.path / "people.parquet").set_index("id")


@pytest.fixture(scope="module")
def job(panel: Panel) -> Job:
    return done(panel)


def test_the_files_say_what_a_fit_by_hand_says(panel: Panel, job: Job) -> None:
    assert (job.state, job.message, job.progress) == ("done", "", 1.0)
    home = job_folder(panel.study.path, job.id)
    assert {file.name for file in home.iterdir()} == {
        *(SUMMARY, FRONTIER, INFLUENCE, RULES, MODEL, PRICES, SCORES),
        *REPORTS.values(),
    }
    assert [file.name for file in panel.jobs.iterdir()] == [str(job.id)], "nothing else is left"

    people, outcome = people_of(panel), panel.study.outcome()
    said = panel.store.read_now(judgments).about(people)
    by_hand = PairwiseFairClassifier("tree", gamma=0.1, eta=0.01, favorable_label=0, random_state=0)
    by_hand.fit(people, outcome, judgments=said)
    summary = read_json(panel.study.path, job.id, SUMMARY)
    assert summary["certificate"]["error"] == pytest.approx(by_hand.certificate_.error)
    assert summary["certificate"]["lower_bound"] == pytest.approx(by_hand.certificate_.lower_bound)
    assert (summary["judges"], summary["answers"], summary["people"]) == (8, 96, 80)
    status = by_hand.prices_["status"].value_counts()
    assert (summary["followed"], summary["not_followed"]) == (status["followed"], status["not followed"])
    plain = PairwiseFairClassifier("tree").fit(people, outcome)
    assert summary["error_without_judgments"] == pytest.approx(plain.certificate_.error)
    scores = pd.read_parquet(home / SCORES).set_index("id")["good"]
    model = PairwiseFairClassifier.load(home / MODEL)
    assert scores.to_numpy() == pytest.approx(model.predict_proba(people)[:, 0])
    report = (home / REPORT).read_text(encoding="utf-8")
    assert "Who goes home: First try" in report
    rules = read_json(panel.study.path, job.id, RULES)
    words = tuple(f"{outcome.name} = {label}" for label in model.classes_)
    assert rules["lead"] == model.rules_.for_people(labels=words).lead
    assert rules["lead"] in report
    assert sum(rule["share"] or 1 for rule in rules["rules"]) == pytest.approx(1)


def test_the_frontier_goes_from_all_kept_to_nothing_gained(panel: Panel, job: Job) -> None:
    points = read_json(panel.study.path, job.id, FRONTIER)["points"]
    summary = read_json(panel.study.path, job.id, SUMMARY)
    etas, errors = ([point[name] for point in points] for name in ("eta", "error"))
    assert etas == sorted(etas)
    assert 0.01 in etas
    assert len(etas) == 12
    assert (points[0]["eta"], points[0]["not_followed"], points[0]["judgments"]) == (0.0, 0, [])
    assert points[-1]["error"] == pytest.approx(summary["error_without_judgments"], abs=1e-3)
    own = points[etas.index(0.01)]
    assert own["error"] == pytest.approx(summary["certificate"]["error"], abs=1e-4)
    slopes = [(errors[k + 1] - errors[k]) / (etas[k + 1] - etas[k]) for k in range(len(etas) - 1)]
    assert all(slope <= 1e-9 for slope in slopes), "more room, less error"
    assert all(later >= earlier - 1e-6 for earlier, later in pairwise(slopes)), "convex"
    for point in points:
        assert point["followed"] + point["not_followed"] == points[0]["followed"]
        assert len(point["judgments"]) == min(point["not_followed"], 50)
        assert all(one["violation"] > 0.1 for one in point["judgments"])
        assert point["error"] >= point["lower_bound"] - 1e-9


def test_what_each_participant_changes_is_what_a_fit_without_them_says(panel: Panel, job: Job) -> None:
    people, outcome = people_of(panel), panel.study.outcome()
    said = panel.store.read_now(judgments).about(people)
    found = read_json(panel.study.path, job.id, INFLUENCE)
    assert [one["who"] for one in found["judges"]] == said.judges
    assert len(found["together"]) == 3
    without = PairwiseFairClassifier("tree", gamma=0.1, eta=0.01, favorable_label=0, tol=1e-9)
    for one in (found["judges"][0], found["together"][0]):
        without.fit(people, outcome, judgments=said.select(set(said.judges) - {one["who"]}))
        assert one["error"] == pytest.approx(without.certificate_.error, abs=1e-6)
    report = (job_folder(panel.study.path, job.id) / REPORT).read_text(encoding="utf-8")
    assert "What each participant changes" in report
    assert "that is no proof" in report


def test_predicted_answers_and_weights_are_used_and_counted_apart(panel: Panel) -> None:
    settings = {"predicted": 40, "coverage": 0.6, "weighted": True, "influence": False}
    job = done(panel, **settings, eta=0.02)
    assert job.state == "done", job.message
    said = panel.store.read_now(judgments)
    summary = read_json(panel.study.path, job.id, SUMMARY)
    predicted = summary["predicted"]
    assert 0 < predicted["answers"] <= 40
    assert predicted["answers"] == summary["certificate"]["n_predicted"]
    assert 0 < predicted["error_bound"] < 1
    assert summary["answers"] == len(said.counted())
    assert summary["followed"] + summary["not_followed"] + summary["asks_nothing"] == len(said.counted())
    home = job_folder(panel.study.path, job.id)
    assert not (home / INFLUENCE).exists()
    report = (home / REPORT).read_text(encoding="utf-8")
    assert f"The model was made with {predicted['answers']} predicted answer" in report
    prices = pd.read_parquet(home / PRICES)
    assert prices["predicted"].sum() == predicted["answers"]
    curve = read_json(panel.study.path, job.id, FRONTIER)
    asked = {frozenset(pair) for pair in zip(said.frame["a"], said.frame["b"], strict=True)}
    assert all(point["answers_low"] <= point["error"] + 1e-9 for point in curve["points"])
    assert {frozenset((one["a"], one["b"])) for one in curve["prices"]} <= asked


def test_rules_for_groups_a_budget_each_and_only_those_who_finished(panel: Panel) -> None:
    rule = {"rate": "fpr", "bound": 0.02, "column": "town"}
    job = done(
        panel,
        estimator="logistic",
        eta=None,
        judge_budget=0.02,
        group_rules=[rule],
        frontier=False,
        finished_only=True,
    )
    assert (job.state, job.message) == ("done", "")
    home = job_folder(panel.study.path, job.id)
    assert not (home / FRONTIER).exists()
    summary = json.loads((home / SUMMARY).read_text(encoding="utf-8"))
    assert (summary["judges"], summary["answers"]) == (6, 72)
    assert summary["certificate"]["kind"] == "heuristic"
    assert summary["certificate"]["lower_bound"] is None
    assert len(summary["group_rules"]) == 4
    assert all(one["value"] <= one["limit"] + 1e-6 for one in summary["group_rules"])


def test_what_cannot_be_fitted_ends_with_a_sentence(tmp_path: Path) -> None:
    study = study_of(tmp_path, n_people=30, pairs_each=3)
    database = study.path / "study.sqlite"
    with closing(Store.open(database, study.fingerprint)) as store, working(study.path, database):
        nobody = until(store, submitted(store), ended)
        assert (nobody.state, nobody.message) == ("failed", "There is no answer yet that a model could follow.")
        answered(study, store, 1)
        label = until(store, submitted(store, favorable_label="2"), ended)
        assert (label.state, label.message) == (
            "failed",
            "'2' is not one of the outcomes. Say which one is good: 0 or 1.",
        )
        (study.path / OUTCOME).rename(study.path / "elsewhere")
        without = until(store, submitted(store), ended)
        assert without.state == "failed"
        assert "this study was made without" in without.message
        (study.path / "elsewhere").rename(study.path / OUTCOME)
        last = until(store, submitted(store, frontier=False), ended)
        assert (last.state, last.message) == ("done", ""), "the next job is not to blame"
    assert [file.name for file in (study.path / "jobs").iterdir()] == [str(last.id)]


def test_an_error_nobody_foresaw_is_no_traceback_for_the_operator(tmp_path: Path) -> None:
    study = study_of(tmp_path, n_people=30, pairs_each=3)
    (study.path / "jobs").write_text("where a folder must be", encoding="utf-8")
    database = study.path / "study.sqlite"
    with closing(Store.open(database, study.fingerprint)) as store, working(study.path, database):
        job = until(store, submitted(store), ended)
    assert job.state == "failed"
    assert job.message == "The model could not be made: an error that is not yours. The log of the server says more."
