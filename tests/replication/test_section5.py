"""Section 5 on a small town: the measures mean what they say, the files hold what was computed."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from replication.measures import (
    PARTS,
    beside_the_paper,
    constraint_counts,
    correlation,
    difficulty,
    excess_by_game,
    excess_by_oracle,
    excess_by_rounds,
    excess_in_parts,
    lowest_error,
    panel_by_bounds,
    panel_curve,
    panel_violation_at,
    rate_correlations,
    spread,
    subjects,
    worst_error,
)
from scipy import stats
from tests.support.pages import ROOT
from tests.support.replicated_page import check_page

from fairwise import Judgments
from fairwise.datasets import make_people
from fairwise.simulation import simulate_panel
from replication import compare, run_study, write_markdown, write_study

if TYPE_CHECKING:
    from pathlib import Path

    from replication import Study


@pytest.fixture(scope="module")
def study() -> Study:
    people, outcome = make_people(160, 3, seed=5)
    groups = pd.Series(np.where(np.arange(160) % 20 == 0, "few <b>", "many"), index=people.index)
    judgments = simulate_panel(people, n_judges=5, n_pairs=15, seed=2)
    return run_study(
        people, outcome, judgments, favorable_label=1, groups=groups, simulated=True, rounds=(10, 40), n_jobs=1
    )


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
    excess = beside_the_paper(study, "default")
    assert len(excess) == 5 * 11
    assert (excess["excess"] >= -1e-6).all()


def test_measures_of_a_study_lie_where_they_must(study: Study) -> None:
    table = subjects(study)
    assert len(table) == 4 * 5
    for method in ("same_oracle", "default", "proven"):
        assert (table.loc[table["method"] == method, "difficulty"] <= 1 + 1e-6).all()
        assert lowest_error(study, method) <= worst_error(study)
    assert worst_error(study) == pytest.approx(min(study.outcome.mean(), 1 - study.outcome.mean()))
    cells = rate_correlations(study, "default")
    assert cells["correlation"].between(-1, 1).all()
    assert cells["few"].tolist() == [True]  # eight people in one group
    curve = panel_curve(study, "default")
    assert panel_violation_at(curve, 1.0) == pytest.approx(0.0)
    assert math.isnan(panel_violation_at(curve, 0.0))


def test_every_number_of_the_paper_has_ours_beside_it(study: Study) -> None:
    table = compare(study)
    assert table["reported"].tolist()[:5] == ["0.32", "—", "1432", "0.69", "0.489"]
    assert all(text for method in ("paper", "same_oracle", "default") for text in table[method])
    assert table.loc[table["number"].str.startswith("points at or below"), "default"].item() == "55 of 55"


def test_files_say_simulated_and_hold_the_numbers(study: Study, tmp_path: Path) -> None:
    files = write_study(study, tmp_path / "out", command="python -m replication", seconds=1.0, seed=2)
    page = (tmp_path / "out" / "section5.html").read_text()
    assert "Simulated people: no real person was asked" in page
    assert "few &lt;b&gt;" in page
    assert "few <b>" not in page
    figures = [file for file in files if file.suffix == ".svg"]
    assert len(figures) == 14
    assert all("simulated" in figure.read_text().lower() for figure in figures)
    kept = pd.read_csv(tmp_path / "out" / "curves.csv")
    assert kept["error"].to_numpy() == pytest.approx(study.curves["error"].to_numpy())


def test_without_judgments_the_error_is_the_plain_models_even_where_a_curve_comes_lower(study: Study) -> None:
    lower = study.curves.copy()
    lower.loc[lower["method"] == "default", "error"] -= 0.05
    table: Any = compare(replace(study, curves=lower)).set_index("number")
    for method, plain in study.unconstrained.items():
        assert table.loc["error without any judgment (the plain model)", method] == f"{plain:.4f}"
    lowest = float(table.loc["lowest error found along any curve", "default"])
    assert lowest < study.unconstrained["default"] - 0.04


def test_the_three_parts_add_up_to_the_excess_of_every_game(study: Study) -> None:
    games = excess_by_game(study)
    assert len(games) == 5 * (11 + 3 * 3 - 1)  # 1,000 rounds with a bound of 1 at gamma = 0.3 are in both
    assert games[list(PARTS)].sum(axis="columns").to_numpy() == pytest.approx(games["excess"].to_numpy(), abs=1e-12)
    assert (games["averaging"] >= 0).all()
    assert (games["gap"] - games["dual_regret"] - games["primal_regret"]).abs().max() < 1e-12
    usual = games[(games["rounds"] == 1000) & (games["lambda_bound"] == 1)].set_index(["judge", "gamma"])
    beside = beside_the_paper(study, "default").set_index(["judge", "gamma"])
    assert usual["excess"].to_numpy() == pytest.approx(beside.loc[usual.index, "excess"].to_numpy(), abs=1e-9)
    means = excess_in_parts(study).iloc[0]
    assert means["excess"] == pytest.approx(beside["excess"].mean())
    assert means["excess"] == pytest.approx(means[list(PARTS)].sum())


def test_only_an_exact_oracle_has_no_regret_of_its_own(study: Study) -> None:
    table = excess_by_oracle(study).set_index(["oracle", "rounds"])
    trees = table.loc["tree"]
    assert trees["oracle_regret"].between(0, 1e-12).all()
    assert (trees["primal_regret"] <= 1e-9).all()
    assert (trees["excess"] >= -1e-6).all()  # over a proven optimum
    assert (trees["gap"] <= trees["promised"]).all()
    assert table.loc["linear-regression"]["oracle_regret"].min() > 0
    assert excess_by_rounds(study)["oracle_regret"].min() > 0


def test_the_panels_table_has_the_lowest_error_of_its_games_and_the_papers_setting_is_its_curve(study: Study) -> None:
    table = panel_by_bounds(study)
    assert len(table) == 3 * 3 * 3
    usual = table[(table["rounds"] == 1000) & (table["lambda_bound"] == 1) & (table["tau_bound"] == 1)]
    assert usual["lowest_error"].item() == pytest.approx(panel_curve(study, "paper")["error"].min())
    reached = table["violation_at_plain"].notna()
    assert (reached == (table["lowest_error"] <= study.unconstrained["paper"])).all()


def test_the_markdown_page_states_what_its_tables_hold(study: Study, tmp_path: Path) -> None:
    files = write_markdown(study, tmp_path / "page.md", command="python -m replication")
    assert all(file.exists() for file in files)
    check_page(tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "**simulated**" in text
    assert "few <b>" not in text
    drawn = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert sorted(drawn) == sorted(str(file.relative_to(tmp_path)) for file in files if file.suffix == ".svg")


def test_a_page_changed_by_hand_is_noticed(study: Study, tmp_path: Path) -> None:
    write_markdown(study, tmp_path / "page.md", command="python -m replication")
    number = f"{excess_by_rounds(study)['error'].iloc[0]:.4f}"
    page = tmp_path / "page.md"
    page.write_text(page.read_text().replace(f" {number} ", " 0.1234 "))
    with pytest.raises(AssertionError):
        check_page(page)


def test_the_page_in_the_documentation_is_what_its_tables_say() -> None:
    check_page(ROOT / "docs" / "replication.md")
