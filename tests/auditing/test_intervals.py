"""Intervals: they contain the value, shrink with the panel, and hold the truth as often as they say or are marked."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from fairwise.auditing import audit
from fairwise.auditing.intervals import AVERAGES, LEAST_JUDGES, LEAST_PAIRS, AnswerMeans, Units, ends, interval
from fairwise.judgments import Judgments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Panel = Callable[..., tuple[Judgments, pd.Series]]
    Said = Callable[..., Judgments]
    Floats = NDArray[np.float64]

N_PANELS = 1000
# The 92 to 97 % of the benchmark, and 2.5 standard errors of so many panels beyond.
LEAST_HELD, MOST_HELD = 0.92 - 2.5 * 0.0086, 0.97 + 2.5 * 0.0054


class Population:
    """A thousand judges about a thousand pairs, all answered by all; judges differ, and few pairs matter much.

    The shares of `same` and of what is kept are each judge's own, and differences between the two people of a pair are
    skewed, as those of real scores are.
    """

    def __init__(self, scale: float) -> None:
        rng = np.random.default_rng(8)
        difference = np.minimum(scale * rng.exponential(0.3, 1000), 1.0)
        same = rng.random((1000, 1000)) < rng.beta(1, 1, (1000, 1))
        violation = np.where(same, difference, 0.0)
        excess = np.maximum(violation - 0.1, 0.0)
        kept = same & (violation <= 0.1)
        twice = np.full(same.shape, 2.0)
        self.numerator = np.stack([violation, excess, excess, kept], axis=-1)
        self.denominator = np.stack([same, twice, twice, same], axis=-1).astype(float)
        self.truth = self.numerator.mean(axis=(0, 1)) / self.denominator.mean(axis=(0, 1))

    def panel(self, rng: np.random.Generator, n_judges: int, n_pairs: int, own: float = 0.0) -> AnswerMeans:
        """Judges and pairs drawn with replacement; ``own`` is the share of its pairs that no other judge answers."""
        n_own = round(own * n_pairs)
        judge = rng.integers(1000, size=(n_judges, 1))
        common = np.broadcast_to(rng.integers(1000, size=n_pairs - n_own), (n_judges, n_pairs - n_own))
        pair = np.concatenate([common, rng.integers(1000, size=(n_judges, n_own))], axis=1)
        number = np.tile(np.arange(n_pairs), (n_judges, 1))
        number[:, n_pairs - n_own :] = n_pairs + np.arange(n_judges * n_own).reshape(n_judges, n_own)
        return AnswerMeans(
            self.numerator[judge, pair].reshape(-1, 4),
            self.denominator[judge, pair].reshape(-1, 4),
            celled=np.array([False, False, True, False]),
            judge=np.repeat(np.arange(n_judges), n_pairs),
            pair=number.ravel(),
        )


@pytest.mark.parametrize(
    ("n_judges", "n_pairs", "own"),
    [
        (5, 10, 1.0),
        pytest.param(5, 50, 1.0, marks=pytest.mark.slow),
        (10, 30, 0.0),
        pytest.param(10, 20, 0.5, marks=pytest.mark.slow),
    ],
)
def test_intervals_hold_the_truth_as_often_as_they_say(n_judges: int, n_pairs: int, own: float) -> None:
    population = Population(1.0)
    rng = np.random.default_rng(1)
    held = np.zeros(4)
    for _ in range(N_PANELS):
        averages = population.panel(rng, n_judges, n_pairs, own)
        found = interval(averages, 0.95)
        # pairs not shown to a judge count as not asked for by them
        truth = population.truth * averages.denominator.sum(axis=0) / averages.whole()
        held += (found.low <= truth) & (truth <= found.high)
    assert (held / N_PANELS > LEAST_HELD).all()
    assert (held / N_PANELS < MOST_HELD).all()


def test_pairs_drawn_with_unequal_chances_and_weighed_back() -> None:
    """Weights of one over the chance of selection: averages are about all pairs, and so is the interval."""
    population = Population(1.0)
    rng = np.random.default_rng(9)
    chance = rng.uniform(0.2, 1.0, 1000)
    held = np.zeros(4)
    for _ in range(N_PANELS):
        judge = rng.integers(1000, size=(10, 1))
        pair = rng.choice(1000, size=(10, 30), p=chance / chance.sum())
        weight = 1 / chance[pair][..., None]
        averages = AnswerMeans(
            (weight * population.numerator[judge, pair]).reshape(-1, 4),
            (weight * population.denominator[judge, pair]).reshape(-1, 4),
            celled=np.zeros(4, dtype=bool),
            judge=np.repeat(np.arange(10), 30),
            pair=np.arange(300),
        )
        found = interval(averages, 0.95)
        held += (found.low <= population.truth) & (population.truth <= found.high)
    assert (held / N_PANELS > LEAST_HELD).all()
    assert (held / N_PANELS < MOST_HELD).all()


@pytest.mark.parametrize("own", [0.0, 1.0])
def test_where_violations_are_rare_the_interval_is_marked_and_not_too_short(own: float) -> None:
    population = Population(0.1)
    rng = np.random.default_rng(2)
    held, marked = np.zeros(4), np.zeros(4)
    for _ in range(N_PANELS // 2):
        averages = population.panel(rng, 10, 10, own)
        found = interval(averages, 0.95)
        truth = population.truth * averages.denominator.sum(axis=0) / averages.whole()
        held += (found.low <= truth) & (truth <= found.high)
        marked += ~found.covered
    rare = [AVERAGES.index(name) for name in ("mean_excess", "fairness_loss", "share_followed")]
    assert (held / (N_PANELS // 2) > 0.85).all()
    assert (marked[rare] > 0.9 * (N_PANELS // 2)).all()


def test_what_pairs_have_in_common_widens_it() -> None:
    population = Population(1.0)
    averages = population.panel(np.random.default_rng(2), 40, 10)
    judges_alone = replace(averages, pair=np.arange(len(averages.pair)))
    both, judges = interval(averages, 0.95), interval(judges_alone, 0.95)
    assert both.high[0] - both.low[0] > 2 * (judges.high[0] - judges.low[0])


def test_two_judges_answers_about_one_pair_are_one_unit_and_a_judges_own_about_it_are_not_shared() -> None:
    """A pair that one judge answers twice is nothing that judges have in common."""
    averages = Population(1.0).panel(np.random.default_rng(3), 12, 10, own=1.0)
    twice = averages.where(np.arange(len(averages.pair)).repeat(2))
    once, again = interval(averages, 0.95), interval(twice, 0.95)
    columns = [0, 1, 3]  # fairness_loss counts what was answered
    assert again.low[columns] == pytest.approx(once.low[columns])
    assert again.high[columns] == pytest.approx(once.high[columns])


def test_the_variance_is_that_of_leaving_out_one_judge_after_the_other() -> None:
    averages = Population(1.0).panel(np.random.default_rng(4), 9, 10, own=1.0)
    judges = Units.of(averages, averages.judge)
    total = averages.denominator.sum(axis=0)
    value = averages.numerator.sum(axis=0) / total
    left = [averages.where(averages.judge != judge) for judge in range(9)]
    without = np.array([part.numerator.sum(axis=0) / part.denominator.sum(axis=0) for part in left])
    wanted = 8 / 9 * ((without - value) ** 2).sum(axis=0)
    assert judges.variance(value, total, judges.counts) == pytest.approx(wanted)


@pytest.mark.parametrize("count", [1, 3, 10, 19])
def test_for_a_share_of_independent_draws_it_is_wilson_s_with_student_s_t(count: int) -> None:
    n, share = 20, count / 20
    one = np.ones(1)
    low, high = ends(share * one, share * (1 - share) / n * one, (n - 1) * one, np.array([n]), one, 0.95)
    t = student.ppf(0.975, n - 1)
    for end in (low[0], high[0]):
        assert abs(share - end) == pytest.approx(t * np.sqrt(end * (1 - end) / n))


def test_ends_stay_within_what_is_possible() -> None:
    rng = np.random.default_rng(5)
    largest = np.array([1.0, 0.5, 0.1, 1.0])
    value = rng.random((200, 4)) * largest
    low, high = (
        np.array(each)
        for each in zip(
            *(ends(q, 10.0 ** rng.uniform(-12, 1, 4), np.full(4, 1.0), np.full(4, 2), largest, 0.99) for q in value),
            strict=True,
        )
    )
    assert (low >= 0).all()
    assert (low <= value).all()
    assert (value <= high).all()
    assert (high <= largest).all()


def test_one_judge_of_great_weight_is_worth_little_more_than_one_judge() -> None:
    averages = Population(1.0).panel(np.random.default_rng(6), 20, 20, own=1.0)
    weight = np.where(averages.judge == 0, 1000.0, 1.0)[:, None]
    heavy = replace(averages, numerator=weight * averages.numerator, denominator=weight * averages.denominator)
    found, equal = interval(heavy, 0.95), interval(averages, 0.95)
    assert found.high[0] - found.low[0] > 3 * (equal.high[0] - equal.low[0])


def test_weights_count_by_their_ratios_only() -> None:
    averages = Population(1.0).panel(np.random.default_rng(7), 10, 20)
    times = replace(averages, numerator=7 * averages.numerator, denominator=7 * averages.denominator)
    columns = [0, 1, 3]
    for end in ("low", "high", "covered"):
        once, again = (getattr(interval(each, 0.95), end)[columns] for each in (averages, times))
        assert again == pytest.approx(once)


@pytest.mark.parametrize(("n_judges", "n_pairs"), [(5, 10), (20, 10), (20, 3)])
def test_where_nothing_is_broken_there_may_still_be_something(n_judges: int, n_pairs: int) -> None:
    """No violation in U units has a chance of 2.5 % at the upper end, if units are broken wholly or not at all."""
    rows = [
        {"judge": judge, "a": 2 * pair, "b": 2 * pair + 1, "answer": "same"}
        for judge in range(n_judges)
        for pair in range(n_pairs)
    ]
    scores = pd.Series(0.5, index=range(2 * n_pairs))
    overall = audit(scores, Judgments(rows)).overall
    units = min(n_judges, n_pairs)
    assert overall["mean_violation"].tolist()[:2] == [0, 0]
    assert (1 - overall["mean_violation"]["high"]) ** units == pytest.approx(0.025)
    assert overall["share_followed"]["low"] ** units == pytest.approx(0.025)
    assert overall["share_followed"]["high"] == 1
    assert not overall.loc["covered", list(AVERAGES)].any()


def test_few_judges_or_few_broken_pairs_are_marked_in_the_table_and_in_words() -> None:
    def panel(n_judges: int) -> Judgments:
        rows = [
            {"judge": judge, "a": f"{judge} {pair} a", "b": f"{judge} {pair} b", "answer": "same"}
            for judge in range(n_judges)
            for pair in range(20)
        ]
        return Judgments(rows, judge_attributes={judge: {"kind": "all"} for judge in range(n_judges)})

    def result(n_judges: int, n_broken: int) -> tuple[dict[Hashable, float], pd.DataFrame, str]:
        said = panel(n_judges)
        rng = np.random.default_rng(0)
        scores = pd.Series(0.5, index=said.person_ids())
        firsts = scores.index[[str(name).endswith("a") for name in scores.index]]
        scores[rng.permutation(firsts)[:n_broken]] = 0.1
        found = audit(scores, said, gamma=0.1)
        return found.overall.loc["covered"].to_dict(), found.by_attribute, str(found)

    for n_judges, n_broken, covered in [
        (LEAST_JUDGES, LEAST_PAIRS, True),
        (LEAST_JUDGES - 1, LEAST_PAIRS, False),
        (LEAST_JUDGES, LEAST_PAIRS - 1, False),
    ]:
        marks, by_attribute, text = result(n_judges, n_broken)
        assert bool(marks["share_followed"]) is covered
        assert by_attribute["share_followed_covered"].tolist() == [covered]
        assert (" *" in text) is not covered
        assert ("* a rough guide only: fewer than 5 judges, or fewer than 10 pairs" in text) is not covered


@pytest.mark.parametrize("seed", range(10))
def test_an_interval_contains_the_value(panel: Panel, seed: int) -> None:
    judgments, scores = panel(seed)
    overall = audit(scores, judgments, favorable_label=1).overall[[*AVERAGES, "max_violation"]]
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


def test_a_higher_confidence_is_wider(panel: Panel) -> None:
    judgments, scores = panel(1)
    low, high = (audit(scores, judgments, favorable_label=1, confidence=c).overall for c in (0.5, 0.99))
    assert high["mean_excess"]["low"] < low["mean_excess"]["low"]
    assert high["mean_excess"]["high"] > low["mean_excess"]["high"]


def test_one_judge_and_one_pair_have_no_interval(said: Said) -> None:
    one_judge = [("u", 1, 2, "same"), ("u", 1, 3, "same")]
    one_pair = [(f"u{i}", 1, 2, "same") for i in range(5)]
    for answers in (one_judge, one_pair):
        overall = audit(pd.Series({1: 0.1, 2: 0.9, 3: 0.4}), said(*answers)).overall
        assert overall.loc[["low", "high"], list(AVERAGES)].isna().all(axis=None)
        assert not overall.loc["covered", list(AVERAGES)].any()


def test_where_only_one_judge_says_same_its_mean_has_no_interval(said: Said) -> None:
    answers = [
        ("u0", 1, 2, "same"),
        *((f"u{i}", 1, 2, "no_constraint") for i in range(1, 5)),
        ("u1", 1, 3, "a_at_least_b"),
    ]
    overall = audit(pd.Series({1: 0.1, 2: 0.5, 3: 0.2}), said(*answers), favorable_label=1).overall
    assert overall["mean_violation"]["value"] == pytest.approx(0.4)
    assert overall["mean_violation"][["low", "high"]].isna().all()
    assert overall["mean_excess"][["low", "high"]].notna().all()


def test_the_order_of_the_rows_changes_nothing(panel: Panel) -> None:
    judgments, scores = panel(3)
    turned = Judgments(judgments.frame.iloc[::-1].reset_index(drop=True))
    first, second = (audit(scores, each, favorable_label=1).overall for each in (judgments, turned))
    pd.testing.assert_frame_equal(first, second)
