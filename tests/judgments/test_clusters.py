"""Judges of clearly different kinds are told apart, by the same pairs and by different ones."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.datasets import load_compas
from fairwise.errors import InputError
from fairwise.judgments import Judgments, cluster_judges
from fairwise.simulation import Closeness, Respondent, draw_pairs, draw_respondents, simulate_panel


@cache
def people() -> pd.DataFrame:
    return load_compas()[0]


def two_kinds(n_pairs: int = 50, *, fixed: bool) -> tuple[Judgments, list[bool]]:
    """Judges who look at age alone and judges who look at priors alone, all about as strict."""
    young = [Respondent(f"simulated-{n:02}", Closeness({"age": 1.0}, 9.0 + n / 10), noise=0.05) for n in range(8)]
    prior = [Respondent(f"simulated-{n:02}", Closeness({"priors_count": 1.0}, 2.5), noise=0.05) for n in range(8, 14)]
    pairs = draw_pairs(people(), 1, n_pairs)[0] if fixed else None
    panel = simulate_panel(people(), respondents=young + prior, n_pairs=n_pairs, pairs=pairs)
    return panel, [True] * 8 + [False] * 6


@pytest.mark.parametrize("fixed", [True, False])
def test_two_kinds_are_told_apart(fixed: bool) -> None:
    panel, first_kind = two_kinds(fixed=fixed)
    found = cluster_judges(panel)
    assert found.basis == ("shared pairs" if fixed else "profiles")
    assert found.n_clusters == 2
    assert (found.labels == 1).tolist() == first_kind
    assert found.profiles["judges"].tolist() == [8, 6]
    assert found.silhouette > 0.25
    assert str(found).startswith(f"2 groups of judges, by {found.basis}: 8, 6 judges; ")
    if not fixed:
        drivers = found.profiles.filter(like="driver")
        assert [str(name) for name in drivers.idxmax(axis=1)] == ["driver age", "driver priors_count"]
        assert drivers.max(axis=1).min() > 0.8


@pytest.mark.parametrize("with_people", [True, False])
def test_generous_and_strict_judges_are_told_apart(with_people: bool) -> None:
    respondents = draw_respondents(people(), 10, kinds=["all-same", "strict"])
    panel = simulate_panel(people(), respondents=respondents, n_pairs=40)
    panel = panel if with_people else Judgments(panel.frame)
    found = cluster_judges(panel)
    assert found.labels.tolist() == [1, 2] * 5
    assert found.profiles.loc[1, "same"] == 1
    assert "strong structure" in str(found)
    assert any(name.startswith("driver") for name in found.profiles.columns) == with_people


def test_judges_who_answer_at_random_have_no_groups() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"judge": judge, "a": pair, "b": pair + 100, "answer": str(rng.choice(["same", "no_constraint"]))}
        for judge in range(20)
        for pair in range(50)
    ]
    found = cluster_judges(Judgments(rows))
    assert found.n_clusters == 1
    assert np.isnan(found.silhouette)
    assert str(found) == "No clear groups of judges, by shared pairs."
    assert cluster_judges(Judgments(rows), 3).n_clusters == 3


def test_the_order_of_rows_does_not_matter() -> None:
    panel, _ = two_kinds(fixed=True)
    shuffled = Judgments(panel.frame.sample(frac=1, random_state=0), people=people())
    for basis in ("shared pairs", "profiles"):
        one, other = cluster_judges(panel, basis=basis), cluster_judges(shuffled, basis=basis)
        pd.testing.assert_series_equal(one.labels, other.labels)
        pd.testing.assert_frame_equal(one.profiles, other.profiles)


def test_judges_with_too_few_answers_are_left_out() -> None:
    panel, first_kind = two_kinds(fixed=True)
    few = pd.DataFrame([{"judge": "newcomer", "a": 1, "b": 3, "answer": "same"}])
    found = cluster_judges(Judgments(pd.concat([panel.frame, few.assign(weight=1.0, round=1, design="fixed")])))
    assert found.left_out == ("newcomer",)
    assert found.labels.isna().sum() == 1
    assert (found.labels.dropna() == 1).tolist() == first_kind
    assert "1 with too few answers left out" in str(found)


def test_several_rounds_of_a_judge_count_in_parts() -> None:
    panel, first_kind = two_kinds(fixed=True)
    rounds = pd.concat([panel.frame, panel.frame.assign(round=2)], ignore_index=True)
    found = cluster_judges(Judgments(rounds, rounds="all"))
    assert (found.labels == 1).tolist() == first_kind


def test_nobody_or_hardly_anybody() -> None:
    assert cluster_judges(Judgments([])).n_clusters == 0
    one = [{"judge": 1, "a": 1, "b": b, "answer": "same"} for b in range(2, 20)]
    assert cluster_judges(Judgments(one)).labels.tolist() == [1]
    two = [*one, *({**row, "judge": 2, "answer": "no_constraint"} for row in one)]
    assert cluster_judges(Judgments(two)).labels.tolist() == [1, 1]
    assert cluster_judges(Judgments(two), 2).labels.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"basis": "likes"}, "basis='likes'; allowed: 'auto', 'shared pairs', 'profiles'"),
        ({"n_clusters": 0}, "n_clusters=0; allowed: 1 to 14, the judges with enough answers"),
        ({"n_clusters": 15}, "n_clusters=15; allowed: 1 to 14"),
        ({"basis": "shared pairs"}, "'simulated-00', 'simulated-01' share too few; every two judges need 10"),
    ],
)
def test_what_is_not_allowed(options: dict[str, Any], part: str) -> None:
    panel, _ = two_kinds(20, fixed=False)
    with pytest.raises(InputError) as caught:
        cluster_judges(panel, **options)
    assert part in str(caught.value)
