"""Intervals: they contain the value, shrink with the panel, and cover about as often as they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from fairwise.auditing import audit, bootstrap
from fairwise.auditing.bootstrap import Clusters, Interval, interval, percentiles
from fairwise.auditing.estimates import AVERAGES, Averages

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.judgments import Judgments

    Panel = Callable[..., tuple[Judgments, pd.Series]]
    Said = Callable[..., Judgments]

RATE = 0.3


def study(rng: np.random.Generator, n_judges: int, n_pairs: int, *, shared: bool, pair_spread: float) -> Averages:
    """Simulated values in [0, 1]: each judge and each pair has a level of its own."""
    n_different = n_pairs if shared else n_judges * n_pairs
    judge = np.repeat(np.arange(n_judges), n_pairs)
    pair = np.tile(np.arange(n_pairs), n_judges) if shared else np.arange(n_different)
    of_judge = rng.uniform(RATE - 0.15, RATE + 0.15, n_judges)
    of_pair = rng.uniform(-pair_spread, pair_spread, n_different)
    value = of_judge[judge] + of_pair[pair] + rng.uniform(-0.05, 0.05, len(judge))
    one = np.ones(len(judge))
    return Averages(
        numerator=np.stack([value] * 4, axis=1),
        denominator=np.stack([one, 2 * one, 0 * one, one], axis=1),
        celled=np.array([False, False, True, False]),
        judge=judge,
        pair=pair,
    )


def over_judges(averages: Averages, rng: np.random.Generator) -> Interval:
    units = Clusters.of(averages, averages.judge)
    return percentiles(averages.value(), units.deviations(500, rng), units.n_units, 0.95)


@pytest.mark.parametrize(
    ("n_judges", "n_pairs", "shared", "pair_spread"),
    [(5, 10, False, 0.05), (30, 10, False, 0.1), (30, 10, True, 0.1), (40, 20, True, 0.02)],
)
def test_intervals_cover_about_as_often_as_they_say(
    n_judges: int, n_pairs: int, shared: bool, pair_spread: float
) -> None:
    rng = np.random.default_rng(1)
    n_studies = 300
    covered = np.zeros(2)
    for _ in range(n_studies):
        averages = study(rng, n_judges, n_pairs, shared=shared, pair_spread=pair_spread)
        ends = interval(averages, n_bootstrap=300, confidence=0.95, rng=rng)
        loss = RATE / 2 if shared else RATE / 2 / n_judges  # pairs not shown to a judge count as not asked for
        for column, truth in enumerate([RATE, loss]):
            position = AVERAGES.index(("mean_violation", "fairness_loss")[column])
            covered[column] += ends.low[position] <= truth <= ends.high[position]
    assert (covered / n_studies > 0.90).all()
    assert (covered / n_studies < 0.99).all()


def test_resampling_judges_alone_would_miss_what_the_pairs_have_in_common() -> None:
    rng = np.random.default_rng(2)
    averages = study(rng, 50, 10, shared=True, pair_spread=0.25)
    both = interval(averages, n_bootstrap=500, confidence=0.95, rng=rng)
    judges = over_judges(averages, rng)
    assert both.high[0] - both.low[0] > 2 * (judges.high[0] - judges.low[0])


def test_with_pairs_of_their_own_only_judges_are_resampled() -> None:
    averages = study(np.random.default_rng(3), 20, 10, shared=False, pair_spread=0.1)
    both = interval(averages, n_bootstrap=500, confidence=0.95, rng=np.random.default_rng(0))
    judges = over_judges(averages, np.random.default_rng(0))
    assert both.low.tolist() == judges.low.tolist()
    assert both.high.tolist() == judges.high.tolist()


def test_blocks_of_judges_are_as_wide_as_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    averages = study(np.random.default_rng(4), 3000, 2, shared=False, pair_spread=0.1)
    units = Clusters.of(averages, averages.judge)
    blocks = units.deviations(1000, np.random.default_rng(0)).std(axis=0)
    monkeypatch.setattr(bootstrap, "MOST_UNITS", 10_000)
    assert blocks == pytest.approx(units.deviations(1000, np.random.default_rng(0)).std(axis=0), rel=0.1)


@pytest.mark.parametrize("seed", range(10))
def test_an_interval_contains_the_value(panel: Panel, seed: int) -> None:
    judgments, scores = panel(seed)
    overall = audit(scores, judgments, favorable_label=1, seed=seed).overall[[*AVERAGES, "max_violation"]]
    assert (overall.loc["low"] <= overall.loc["value"]).all()
    assert (overall.loc["value"] <= overall.loc["high"]).all()
    assert (overall.loc["high"] <= 1).all()
    assert (overall.loc["low"] >= 0).all()


def test_more_judges_narrow_it(panel: Panel) -> None:
    widths = []
    for n_judges in (10, 160):
        judgments, scores = panel(5, n_judges=n_judges, n_pairs=10, n_people=40)
        overall = audit(scores, judgments, favorable_label=1).overall
        widths.append(overall["mean_excess"]["high"] - overall["mean_excess"]["low"])
    assert widths[1] < widths[0] / 2


def test_the_same_seed_gives_the_same_interval_and_another_another(panel: Panel) -> None:
    judgments, scores = panel(1)
    ends = [audit(scores, judgments, favorable_label=1, seed=seed).overall["mean_excess"]["low"] for seed in (0, 0, 1)]
    assert ends[0] == ends[1] != ends[2]


def test_a_higher_confidence_is_wider(panel: Panel) -> None:
    judgments, scores = panel(1)
    low, high = (audit(scores, judgments, favorable_label=1, confidence=c).overall for c in (0.5, 0.99))
    assert high["mean_excess"]["low"] < low["mean_excess"]["low"]
    assert high["mean_excess"]["high"] > low["mean_excess"]["high"]


def test_one_judge_has_no_interval_and_neither_has_no_resampling(said: Said, panel: Panel) -> None:
    one = audit(pd.Series({1: 0.1, 2: 0.9}), said(("u", 1, 2, "same"))).overall
    assert one.loc[["low", "high"], list(AVERAGES)].isna().all(axis=None)
    judgments, scores = panel(0)
    none = audit(scores, judgments, favorable_label=1, n_bootstrap=0).overall
    assert none.loc[["low", "high"], list(AVERAGES)].isna().all(axis=None)


def test_resamples_without_anything_to_average_are_left_out(said: Said) -> None:
    """Only one judge of five ever says 'same': many resamples have no 'same' at all."""
    answers = [("u0", 1, 2, "same")] + [(f"u{i}", 1, 2, "no_constraint") for i in range(1, 5)]
    overall = audit(pd.Series({1: 0.1, 2: 0.5}), said(*answers)).overall
    assert overall["mean_violation"].tolist() == pytest.approx([0.4, 0.4, 0.4])
