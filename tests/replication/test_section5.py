"""Section 5 on a small town: the measures mean what they say, the files hold what was computed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairwise import Judgments
from fairwise.datasets import make_people
from fairwise.replication import compare, run_study, write_study
from fairwise.replication.measures import (
    constraint_counts,
    correlation,
    difficulty,
    excess_over_default,
    lowest_error,
    panel_violation_at,
    rate_correlations,
    spread,
    subjects,
    worst_error,
)
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.replication import Study


@pytest.fixture(scope="module")
def study() -> Study:
    people, outcome = make_people(250, 3, seed=5)
    groups = pd.Series(np.where(np.arange(250) % 25 == 0, "few <b>", "many"), index=people.index)
    judgments = simulate_panel(people, n_judges=5, n_pairs=15, seed=2)
    return run_study(people, outcome, judgments, favorable_label=1, groups=groups, simulated=True, n_jobs=1)


def test_correlations_and_their_intervals_are_scipys() -> None:
    rng = np.random.default_rng(0)
    x, y = pd.Series(rng.normal(size=43)), pd.Series(rng.normal(size=43))
    y += 0.7 * x
    ours, theirs = correlation(x, y), stats.pearsonr(x, y)
    low, high = theirs.confidence_interval(0.95)
    assert (ours.r, ours.low, ours.high) == pytest.approx((theirs.statistic, low, high))
    assert math.isnan(correlation(x, pd.Series(np.ones(43))).r)
    assert math.isnan(correlation(x[:3], y[:3]).r)


def test_difficulty_is_0_on_the_floor_1_on_the_line_and_above_beyond() -> None:
    gamma = np.linspace(0, 1, 11)

    def score(error: np.ndarray) -> float:
        return difficulty(pd.DataFrame({"gamma": gamma, "error": error}), worst=0.46, lowest=0.3)

    assert score(np.full(11, 0.3)) == pytest.approx(0)
    assert score(0.46 - 0.16 * gamma) == pytest.approx(1)
    assert score(0.5 - 0.1 * gamma) > 1
    assert 0 < score(0.3 + 0.16 * (1 - gamma) ** 2) < 1
    assert math.isnan(difficulty(pd.DataFrame({"gamma": gamma, "error": gamma}), worst=0.2, lowest=0.3))


def test_opposing_constraints_are_counted_by_true_label() -> None:
    outcome = pd.Series([0, 1, 1], index=["x", "y", "z"])
    said = [
        {"judge": "ann", "a": "x", "b": "y", "answer": "same"},
        {"judge": "ann", "a": "y", "b": "z", "answer": "a_at_least_b"},
        {"judge": "ann", "a": "x", "b": "z", "answer": "no_constraint"},
        {"judge": "bob", "a": "x", "b": "z", "answer": "no_constraint"},
    ]
    counts = constraint_counts(Judgments(said), outcome)
    assert list(counts.loc["ann"]) == [2, 1]
    assert list(counts.loc["bob"]) == [0, 0]


def test_spread_looks_only_at_about_16_constraints() -> None:
    table = pd.DataFrame({"constraints": [13, 14, 16, 18, 19], "error": [0.0, 0.3, 0.35, 0.31, 1.0]})
    assert spread(table) == pytest.approx((0.05, 3))
    assert math.isnan(spread(table[:2])[0])


def test_the_default_solver_is_never_above_the_papers_algorithm(study: Study) -> None:
    excess = excess_over_default(study)
    assert len(excess) == 5 * 11
    assert (excess["excess"] >= -1e-6).all()


def test_measures_of_a_study_lie_where_they_must(study: Study) -> None:
    table = subjects(study)
    assert len(table) == 3 * 5
    for method in ("default", "proven"):
        assert (table.loc[table["method"] == method, "difficulty"] <= 1 + 1e-6).all()
        assert lowest_error(study, method) <= worst_error(study)
    assert worst_error(study) == pytest.approx(min(study.outcome.mean(), 1 - study.outcome.mean()))
    cells = rate_correlations(study, "default")
    assert cells["correlation"].between(-1, 1).all()
    assert cells["few"].tolist() == [True]  # ten people in one group
    assert panel_violation_at(study, "default", 1.0) == pytest.approx(0.0)
    assert math.isnan(panel_violation_at(study, "default", 0.0))


def test_every_number_of_the_paper_has_ours_beside_it(study: Study) -> None:
    table = compare(study)
    assert table["reported"].tolist()[:4] == ["0.32", "1432", "0.69", "0.489"]
    assert all(text for method in ("paper", "default") for text in table[method])
    assert table.loc[table["number"].str.startswith("points at or below"), "default"].item() == "55 of 55"


def test_files_say_simulated_and_hold_the_numbers(study: Study, tmp_path: Path) -> None:
    files = write_study(study, tmp_path / "out", command="fairwise reproduce", seconds=1.0, seed=2)
    page = (tmp_path / "out" / "section5.html").read_text()
    assert "Simulated people: no real person was asked" in page
    assert "few &lt;b&gt;" in page
    assert "few <b>" not in page
    figures = [file for file in files if file.suffix == ".svg"]
    assert len(figures) == 10
    assert all("simulated" in figure.read_text().lower() for figure in figures)
    kept = pd.read_csv(tmp_path / "out" / "curves.csv")
    assert kept["error"].to_numpy() == pytest.approx(study.curves["error"].to_numpy())
