"""Curves that fall and bend the right way, agree with single fits, and survive being killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from fairwise import Judgments, PairwiseFairClassifier, frontier
from fairwise.auditing import provenance
from fairwise.auditing.provenance import checksum_of_code
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.simulation import simulate_panel

GAMMAS = (0.0, 0.1, 0.25, 0.5, 1.0)
LOOSE = 1e-7  # the linear programmes' own precision, with room


class Town:
    """Some made-up people and a simulated panel."""

    def __init__(self) -> None:
        self.people, self.outcome = make_people(120, 4, seed=3)
        self.judgments = simulate_panel(self.people, n_judges=5, n_pairs=12, seed=1)

    def curves(self, **settings: Any) -> pd.DataFrame:
        return frontier(self.people, self.outcome, self.judgments, favorable_label=1, **settings)


@pytest.fixture(scope="module")
def town() -> Town:
    return Town()


@pytest.mark.parametrize("estimator", ["tree", "linear", "linear-regression"])
def test_errors_never_rise_and_are_convex(town: Town, estimator: str) -> None:
    gammas, etas = np.linspace(0.0, 1.0, 21), np.linspace(0.0, 0.06, 4)
    # However early the solver stops: the curve is convex because all points share what was found for any.
    curve = town.curves(estimator=estimator, gammas=gammas, etas=etas, tol=0.02)
    errors = curve["error"].to_numpy().reshape(len(etas), len(gammas))
    for along in (errors, errors.T, np.array([np.diag(errors)])):  # and along eta, and along both
        assert (np.diff(along) <= LOOSE).all()
        assert (np.diff(along, n=2) >= -LOOSE).all()


def test_no_budget_is_the_loosest(town: Town) -> None:
    curve = town.curves(estimator="tree", gammas=(0.0,), etas=(0.05, None))
    assert curve["eta"].isna().tolist() == [False, True]
    plain = PairwiseFairClassifier("tree").fit(town.people, town.outcome).certificate_.error
    assert curve["error"].tolist()[1] == pytest.approx(plain)


def test_points_of_a_curve_are_what_single_fits_find(town: Town) -> None:
    curve = town.curves(estimator="tree", gammas=(0.0, 0.25), etas=(0.0, 0.05))
    row: Any
    for row in curve.itertuples():
        model = PairwiseFairClassifier("tree", gamma=row.gamma, eta=row.eta, favorable_label=1, tol=1e-6)
        certificate = model.fit(town.people, town.outcome, judgments=town.judgments).certificate_
        assert row.kind == "exact"
        assert row.error == pytest.approx(certificate.error, abs=1.1e-4)  # the solver's tol
        assert row.lower_bound <= certificate.error + LOOSE


def test_judgments_not_followed_are_counted_and_the_most_expensive_listed(town: Town) -> None:
    etas = (0.0, 0.02, None)
    curve = town.curves(estimator="tree", gammas=(0.1,), etas=etas, n_not_followed=3)
    asking = int((town.judgments.counted()["answer"] != "no_constraint").sum())
    assert (curve["followed"] + curve["not_followed"]).tolist() == [asking] * len(etas)
    assert curve["not_followed"].iloc[0] == 0
    for not_followed, listed in zip(curve["not_followed"], curve["judgments"], strict=True):
        assert len(listed) == min(not_followed, 3)
        assert all(one["violation"] > 0.1 for one in listed)


def test_a_curve_that_begins_with_a_model_is_the_same_and_never_above_it(town: Town) -> None:
    for estimator in ("tree", "linear"):
        model = PairwiseFairClassifier(estimator, gamma=0.1, eta=0.01, favorable_label=1)
        model.fit(town.people, town.outcome, judgments=town.judgments)
        settings: dict[str, Any] = {"estimator": estimator, "gammas": (0.1,), "etas": (0.0, 0.01, 0.03)}
        begun, anew = town.curves(start=model, **settings), town.curves(**settings)
        assert begun["error"].iloc[1] <= model.certificate_.error + LOOSE
        if estimator == "tree":
            assert begun["error"].tolist() == pytest.approx(anew["error"].tolist(), abs=1.1e-4)  # the solver's tol


def test_what_is_realised_is_told_and_keeps_what_was_asked(town: Town) -> None:
    curve = town.curves(gammas=GAMMAS, etas=(0.0, 0.05))
    assert (curve["mean_excess"] <= curve["eta"] + 1e-6).all()
    hard = curve[curve["eta"] == 0]
    assert (hard["max_violation"] <= hard["gamma"] + 1e-6).all()
    assert curve["lower_bound"].isna().all()  # nothing is proved about linear thresholds
    assert curve["error"].between(curve["error_low"], curve["error_high"]).all()


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_numbers(town: Town) -> None:
    settings: dict[str, Any] = {"gammas": (0.0, 0.3), "by": "judge"}
    one, two = town.curves(n_jobs=1, **settings), town.curves(n_jobs=2, **settings)
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert one["judge"].unique().tolist() == town.judgments.judges


def test_each_judges_curve_is_theirs_alone(town: Town) -> None:
    everyone = town.curves(estimator="tree", gammas=(0.1,), by="judge").set_index("judge")["error"]
    for judge in town.judgments.judges:
        alone = frontier(
            town.people,
            town.outcome,
            town.judgments.select([judge]),
            gammas=(0.1,),
            estimator="tree",
            favorable_label=1,
        )
        assert everyone[judge] == pytest.approx(alone["error"].item(), abs=1e-4)


def test_no_regret_dynamics_give_a_point_each(town: Town) -> None:
    curve = town.curves(estimator="linear-regression", solver="no-regret", n_rounds=50, gammas=(0.0, 0.5))
    row: Any
    for row in curve.itertuples():
        model = PairwiseFairClassifier(
            "linear-regression", solver="no-regret", n_rounds=50, gamma=row.gamma, eta=0.0, favorable_label=1
        )
        model.fit(town.people, town.outcome, judgments=town.judgments)
        assert row.error == pytest.approx(model.certificate_.error, abs=1e-9)


def test_someone_who_asks_for_nothing_costs_nothing(town: Town) -> None:
    a, b = town.people.index[:2]
    answers = [
        {"judge": "panel", "a": a, "b": b, "answer": "no_constraint"},
        {"judge": "x", "a": a, "b": b, "answer": "same"},
    ]
    curve = frontier(
        town.people, town.outcome, Judgments(answers, people=town.people), estimator="tree", gammas=(0.0,), by="judge"
    ).set_index("judge")
    plain = PairwiseFairClassifier("tree").fit(town.people, town.outcome).certificate_.error
    assert curve.loc["panel", "error"] == pytest.approx(plain)  # a judge of that name, not the panel


def test_weights_and_groups_reach_the_fits(town: Town) -> None:
    weight = np.where(town.outcome == 1, 3.0, 1.0)
    curve = town.curves(estimator="tree", gammas=(0.2,), sample_weight=weight)
    model = PairwiseFairClassifier("tree", gamma=0.2, favorable_label=1)
    model.fit(town.people, town.outcome, judgments=town.judgments, sample_weight=weight)
    assert curve["error"].item() == pytest.approx(model.certificate_.error, abs=1e-4)
    plain = town.curves(estimator="tree", gammas=(0.2,))
    width, wider = (float((c["error_high"] - c["error_low"]).item()) for c in (plain, curve))
    assert wider > width * 0.9


def test_group_rates_are_those_of_the_fitted_model(town: Town) -> None:
    group = pd.Series(np.where(town.people.iloc[:, 0] > 0, "over", "under"), index=town.people.index)
    curve = town.curves(estimator="tree", gammas=(1.0,), groups=group)
    model = PairwiseFairClassifier("tree", gamma=1.0, favorable_label=1)
    probability = model.fit(town.people, town.outcome, judgments=town.judgments).predict_proba(town.people)[:, 1]
    for name in ("over", "under"):
        among = (group == name) & (town.outcome == 0)
        assert curve[f"false_positive_rate {name}"].item() == pytest.approx(probability[among].mean())
    plain = town.curves(estimator="tree", gammas=(1.0,), groups=group.to_numpy())
    pd.testing.assert_frame_equal(curve, plain, check_exact=True)
    with pytest.raises(InputError, match="120 people"):
        town.curves(groups=group.iloc[:5])
    with pytest.raises(InputError, match="groups list the people in another order"):
        town.curves(groups=group.iloc[::-1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 0.1}, "gammas"),
        ({"eta": 0.1}, "etas"),
        ({"gammas": (0.0, 1.5)}, "gamma=1.5"),
        ({"etas": (-0.1,)}, "eta=-0.1"),
        ({"gammas": ()}, "at least one gamma"),
        ({"gammas": 0.5}, "gammas=0.5"),
        ({"etas": 0.5}, "etas=0.5"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"colour": "blue"}, "'colour'"),
        ({"by": "street"}, "'street'"),
        ({"by": "judge", "judge_budgets": 0.1}, "by='panel'"),
    ],
)
def test_what_cannot_be_asked_is_told(town: Town, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        town.curves(**settings)


def test_values_that_can_be_read_only_once_are_combined_all_the_same(town: Town) -> None:
    curve = town.curves(estimator="tree", gammas=iter((0.5, 1.0)), etas=iter((0.0, 0.1)))
    assert curve[["gamma", "eta"]].to_numpy().tolist() == [[0.5, 0.0], [1.0, 0.0], [0.5, 0.1], [1.0, 0.1]]


def test_nobody_has_no_curve(town: Town) -> None:
    with pytest.raises(InputError, match="no judge"):
        frontier(town.people, town.outcome, Judgments([], people=town.people), by="judge")


def test_a_bare_table_is_refused(town: Town) -> None:
    with pytest.raises(InputError, match="wrap"):
        frontier(town.people, town.outcome, town.judgments.frame)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_progress_reaches_its_end(town: Town, n_jobs: int) -> None:
    told: list[tuple[int, int]] = []
    town.curves(estimator="tree", gammas=(0.0, 1.0), by="judge", n_jobs=n_jobs, progress=lambda *now: told.append(now))
    assert told[0] == (0, 10)
    assert told[-1] == (10, 10)
    assert told == sorted(told)


def test_a_finished_run_is_read_not_repeated(town: Town, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "estimator": "tree",
        "gammas": (0.0, 1.0),
        "by": "judge",
        "checkpoint": tmp_path / "kept",
    }
    first = town.curves(**settings)
    told: list[tuple[int, int]] = []
    again = town.curves(**settings, progress=lambda *now: told.append(now))
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    assert told == [(10, 10)]
    with pytest.raises(InputError, match="another run"):
        town.curves(**{**settings, "gammas": (0.0, 0.5)})
    with pytest.raises(InputError, match="another run"):
        town.curves(**{**settings, "max_depth": 1})


def test_a_run_of_other_code_is_another_run(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"estimator": "tree", "max_depth": 1, "gammas": (1.0,), "checkpoint": tmp_path / "kept"}
    town.curves(**settings)
    source = Path(provenance.__file__)
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda file: read(file) + b"\n" * (file == source))
    checksum_of_code.cache_clear()
    with pytest.raises(InputError, match="another run"):
        town.curves(**settings)
    checksum_of_code.cache_clear()


def test_whatever_changes_the_numbers_is_another_run(town: Town, tmp_path: Path) -> None:
    answers = town.judgments.frame.assign(design=np.where(np.arange(60) < 10, "repeat", "uniform"))
    relation = [{judge: {"relation": kind} for judge in town.judgments.judges} for kind in ("affected", "expert")]
    group = np.where(town.people.iloc[:, 0] > 0, "over", "under")
    pipelines = [make_pipeline(StandardScaler(), LogisticRegression(C=c)) for c in (1.0, 2.0)]
    first: dict[str, Any] = {
        "judgments": Judgments(answers, people=town.people, judge_attributes=relation[0]),
        "estimator": pipelines[0],
        "groups": group,
    }
    changed: dict[str, Any] = {
        "judgments": Judgments(answers, people=town.people, judge_attributes=relation[0], measured_only=()),
        "estimator": pipelines[1],
        "groups": group[::-1],
    }
    other_judges = Judgments(answers, people=town.people, judge_attributes=relation[1])

    def run(settings: dict[str, Any]) -> pd.DataFrame:
        said = {"gammas": (1.0,), "favorable_label": 1, "checkpoint": tmp_path / "kept", **settings}
        return frontier(town.people, town.outcome, **said)

    pd.testing.assert_frame_equal(run(first), run({**first, "estimator": clone(pipelines[0])}), check_exact=True)
    for name, value in [*changed.items(), ("judgments", other_judges)]:
        with pytest.raises(InputError, match="another run"):
            run({**first, name: value})
    nameless = make_pipeline(FunctionTransformer(lambda people: people), LogisticRegression())
    with pytest.raises(InputError, match="pickled"):
        run({**first, "estimator": nameless})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas
def test_a_run_with_statistical_rules_goes_on_too(town: Town, tmp_path: Path) -> None:
    def run(bound: float) -> pd.DataFrame:
        return town.curves(
            estimator="tree",
            gammas=(0.3,),
            checkpoint=tmp_path / "kept",
            group_constraints=[DemographicParity(difference_bound=bound)],
            sensitive_features=(town.people.iloc[:, 0] > 0).to_numpy(),
        )

    pd.testing.assert_frame_equal(run(0.05), run(0.05), check_exact=True)
    with pytest.raises(InputError, match="another run"):
        run(0.1)


KILLED = """
import sys
from tests.auditing.test_frontier import Town
if __name__ == "__main__":
    Town().curves(gammas=(0.0, 0.2, 0.6), by="judge", n_jobs=int(sys.argv[2]), checkpoint=sys.argv[1])
"""


@pytest.mark.slow
def test_killed_five_times_it_ends_with_the_same_numbers(town: Town, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    random = np.random.default_rng(0)
    lengths = [0]
    for attempt in range(5):
        run = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path), str(1 + attempt % 2)],
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])},  # the code tested here
        )
        wait_until(lambda: run.poll() is not None or (path.exists() and path.stat().st_size > lengths[-1]))  # noqa: B023
        time.sleep(float(random.uniform(0.0, 0.3)))
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        lengths.append(path.stat().st_size)
    settings: dict[str, Any] = {"gammas": (0.0, 0.2, 0.6), "by": "judge"}
    pd.testing.assert_frame_equal(town.curves(**settings, checkpoint=path), town.curves(**settings), check_exact=True)


def wait_until(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
