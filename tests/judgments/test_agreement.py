"""Krippendorff's alpha: the textbook, the `krippendorff` package, and an average over pairs written out by hand."""

import itertools
from typing import Any, NamedTuple

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t as student
from tests.support.examples import examples

from fairwise.errors import InputError
from fairwise.judgments import Answer, Judgments, krippendorff_alpha
from fairwise.judgments.agreement import Agreement, AnswerCounts, Level, agreement_of
from fairwise.judgments.answer import Oriented, orient

ANSWERS = [str(answer) for answer in Answer]
SWAPPED = {str(answer): str(answer.swapped()) for answer in Answer}
NOTHING = -1


def panel(codes: NDArray[np.int64], flip: NDArray[np.bool_] | None = None, **more: Any) -> Judgments:
    """Judgments from codes of answers, judges by pairs; -1 is no answer, and `flip` says whose sides are swapped."""
    rows = []
    for judge, pair in np.argwhere(codes != NOTHING).tolist():
        a, b, answer = 2 * pair, 2 * pair + 1, ANSWERS[codes[judge, pair]]
        if flip is not None and flip[judge, pair]:
            a, b, answer = b, a, SWAPPED[answer]
        rows.append({"judge": judge, "a": a, "b": b, "answer": answer})
    return Judgments(rows, **more)


def package(codes: NDArray[np.int64]) -> float:
    table = np.where(codes == NOTHING, np.nan, codes)
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement="nominal"))


class Said(NamedTuple):
    judge: int
    pair: int
    answer: Any
    times: int


def by_hand(said: list[Said]) -> float:
    """Alpha over all pairs of answers, one after the other; NaN where it is undefined."""
    said = [one for one in said if any(two.pair == one.pair and two.judge != one.judge for two in said)]
    n = sum(one.times for one in said)
    observed = 0.0
    for pair in {one.pair for one in said}:
        unit = [one for one in said if one.pair == pair]
        both = [(one, two) for one in unit for two in unit if one.judge != two.judge]
        differing = sum(one.times * two.times for one, two in both if one.answer != two.answer)
        observed += sum(one.times for one in unit) * differing / sum(one.times * two.times for one, two in both) / n

    def differ(one: Said, two: Said) -> float:
        ordered = {"a_at_least_b", "b_at_least_a"}
        if one.pair != two.pair and {one.answer, two.answer} <= ordered:
            return 0.5  # which of the two people of either pair is called A is chance
        return float(one.answer != two.answer)

    both = [(one, two) for one in said for two in said if one[:2] != two[:2]]
    expected = sum(one.times * two.times * differ(one, two) for one, two in both)
    return 1 - observed * sum(one.times * two.times for one, two in both) / expected if expected else np.nan


def test_the_textbook() -> None:
    """Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), binary data of two observers: 0.095."""
    meg, owen = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    codes = np.where(np.array([meg, owen]) == 1, 0, 3)
    found = krippendorff_alpha(panel(codes), "same or not")
    assert found.alpha == pytest.approx(1 - 19 * 4 / (14 * 6))
    assert round(found.alpha, 3) == 0.095
    assert (found.n_pairs, found.n_judges) == (10, 2)


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_package_s_for_same_or_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 4, size=(rng.integers(4, 9), rng.integers(10, 30)))
    found = krippendorff_alpha(panel(codes), "same or not").alpha
    assert found == pytest.approx(package(np.where(codes > 0, 1, codes)))


@pytest.mark.parametrize("seed", range(20))
def test_without_ordered_answers_it_is_the_package_s_for_four_answers_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.choice([NOTHING, 0, 3], size=(rng.integers(4, 9), rng.integers(10, 30)))
    assert krippendorff_alpha(panel(codes)).alpha == pytest.approx(package(codes))


@pytest.mark.parametrize("seed", range(10))
def test_with_ordered_answers_it_is_the_package_s_averaged_over_the_names_of_the_sides(seed: int) -> None:
    """D_o does not depend on who is called A, and 1 / (1 - alpha) is D_e / D_o."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 4, size=(4, 6))
    swapped = np.array([0, 2, 1, 3, NOTHING])[codes]
    ways = itertools.product([False, True], repeat=codes.shape[1])
    ratios = [1 / (1 - package(np.where(way, swapped, codes))) for way in ways]
    found = krippendorff_alpha(panel(codes)).alpha
    assert 1 / (1 - found) == pytest.approx(np.mean(ratios))


tables = st.integers(2, 4).flatmap(
    lambda judges: st.lists(st.lists(st.integers(-1, 3), min_size=judges, max_size=judges), min_size=1, max_size=5)
).map(lambda table: np.array(table).T)  # fmt: skip
levels = st.sampled_from(["four answers", "same or not"])


@given(tables, levels, st.data())
def test_resampled_judges_weigh_as_often_as_drawn_and_never_meet_themselves(
    codes: NDArray[np.int64], level: Level, data: st.DataObject
) -> None:
    rows = panel(codes).counted()
    found = AnswerCounts.of(orient(rows), level)
    several = ((codes != NOTHING).sum(axis=0) > 1) & (codes != NOTHING)
    taking_part = np.flatnonzero(several.any(axis=1)).tolist()
    assert found.n_judges == len(taking_part)
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=len(taking_part), max_size=len(taking_part)))
    times = dict(zip(taking_part, drawn, strict=True))
    said = [
        Said(row["judge"], row["a"], row["answer"] if level == "four answers" else row["answer"] == "same", often)
        for row in rows.to_dict("records")
        if (often := times.get(row["judge"], 0))
    ]
    assert found.alpha(np.array(drawn, dtype=float)[:, None])[0] == pytest.approx(by_hand(said), nan_ok=True)


@examples(40)
@given(tables, levels, st.randoms(use_true_random=False))
def test_the_order_of_rows_the_sides_and_the_names_of_people_do_not_matter(
    codes: NDArray[np.int64], level: Level, random: Any
) -> None:
    flip = np.array([[random.random() < 0.5 for _ in row] for row in codes], dtype=bool)
    plain, flipped = panel(codes), panel(codes, flip)
    frame = flipped.frame.sample(frac=1, random_state=random.randrange(2**31)).reset_index(drop=True)
    names = list(range(2 * codes.shape[1]))
    random.shuffle(names)
    renamed = frame.assign(a=[f"p{names[a]}" for a in frame["a"]], b=[f"p{names[b]}" for b in frame["b"]])
    wanted = krippendorff_alpha(plain, level)
    for other in (flipped, Judgments(frame), Judgments(renamed)):
        found = krippendorff_alpha(other, level)
        for part in ("alpha", "low", "high", "n_pairs", "n_judges"):
            assert getattr(found, part) == pytest.approx(getattr(wanted, part), nan_ok=True)


def test_judges_who_always_agree() -> None:
    codes = np.tile(np.random.default_rng(0).integers(4, size=30), (6, 1))
    for level in ("four answers", "same or not"):
        found = krippendorff_alpha(panel(codes), level)
        assert found.alpha == 1
        assert np.isnan([found.low, found.high]).all()
        assert found.note == "no judge differs from the others"


def test_all_ordered_the_same_way_is_agreement_and_not_a_lack_of_variation() -> None:
    found = krippendorff_alpha(panel(np.full((4, 10), 1)))
    assert found.alpha == 1


def test_judges_who_answer_at_random() -> None:
    codes = np.random.default_rng(1).integers(4, size=(43, 50))
    for level in ("four answers", "same or not"):
        found = krippendorff_alpha(panel(codes), level)
        assert abs(found.alpha) < 0.02
        assert found.low < found.alpha < found.high
        assert found.high - found.low < 0.05


def test_two_answers_of_one_judge_about_a_pair_are_not_agreement() -> None:
    rows = panel(np.array([[0, 3, 0], [3, 0, 0]])).frame
    twice = pd.concat([rows, rows.assign(round=2)], ignore_index=True)
    assert krippendorff_alpha(Judgments(twice)).alpha == krippendorff_alpha(Judgments(rows)).alpha
    every = Judgments(twice, rounds="all")
    assert krippendorff_alpha(every).alpha < 0


@pytest.mark.parametrize("n_judges", [15, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("level", ["four answers", "same or not"])
def test_the_interval_holds_the_truth_as_often_as_it_says(level: Level, n_judges: int) -> None:
    """Judges differ in how strict they are; the truth is that of endlessly many of them about the same pairs."""
    rng = np.random.default_rng(3)
    n_panels, n_pairs = 400, 20
    distance = rng.random(n_pairs)
    people = pd.RangeIndex(n_pairs + 1)

    def answers(n: int) -> NDArray[np.int64]:
        strict, own = rng.random((n, 1)), rng.random((n, n_pairs))
        return np.where(0.7 * distance + 0.3 * own < strict, 0, np.where(own < 0.5, 1, 3))

    def found(given: NDArray[np.int64]) -> Agreement:
        judge, pair = np.repeat(np.arange(len(given)), n_pairs), np.tile(np.arange(n_pairs), len(given))
        rows = Oriented(pd.RangeIndex(len(given)), people, judge, pair, np.full(len(pair), n_pairs), given.ravel())
        return agreement_of(rows, level, 0.95)

    target = found(answers(20_000)).alpha
    panels = [found(answers(n_judges)) for _ in range(n_panels)]
    assert all(panel.covered for panel in panels)
    held = np.mean([panel.low <= target <= panel.high for panel in panels])
    assert 0.92 - 2.5 * 0.0136 < held < 0.97 + 2.5 * 0.0085  # 2.5 standard errors beyond the benchmark's 92 to 97 %


def test_a_higher_confidence_is_wider_and_the_interval_holds_alpha() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        judgments = panel(rng.integers(-1, 4, size=(rng.integers(3, 12), 20)))
        first, wider = (krippendorff_alpha(judgments, confidence=confidence) for confidence in (0.9, 0.99))
        assert first == krippendorff_alpha(judgments, confidence=0.9)
        assert wider.low < first.low <= first.alpha <= first.high < wider.high


def test_it_is_the_jackknife_s() -> None:
    """Without each judge in turn, by the function itself."""
    codes = np.random.default_rng(6).integers(4, size=(12, 30))
    found = krippendorff_alpha(panel(codes))
    without = np.array([krippendorff_alpha(panel(np.delete(codes, judge, axis=0))).alpha for judge in range(12)])
    middle = 12 * found.alpha - 11 * without.mean()
    half = student.ppf(0.975, 11) * np.sqrt(10 / 12 * ((without - without.mean()) ** 2).sum())
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half))


def test_very_many_judges_are_left_out_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    codes = np.where(rng.random((120, 20)) < rng.random((120, 1)), rng.integers(4, size=(120, 20)), 1)
    each = krippendorff_alpha(panel(codes))
    monkeypatch.setattr("fairwise.judgments.agreement._MOST_GROUPS", 60)
    groups = krippendorff_alpha(panel(codes))
    assert groups.high - groups.low == pytest.approx(each.high - each.low, rel=0.25)


def test_few_judges_or_few_pairs_are_marked() -> None:
    codes = np.random.default_rng(8).integers(4, size=(15, 10))
    assert krippendorff_alpha(panel(codes)).covered
    for fewer in (codes[:14], codes[:, :9]):
        found = krippendorff_alpha(panel(fewer))
        assert not found.covered
        assert "a rough guide with fewer than 15 judges or 10 pairs" in str(found)


@pytest.mark.parametrize(
    ("codes", "why"),
    [
        ([[0, NOTHING], [NOTHING, 3]], "no pair was answered by two judges"),
        ([[0, 0], [0, 0]], "all their answers are the same answer"),
        ([[3, 0], [3, NOTHING]], "all their answers are the same answer"),
    ],
)
def test_what_is_undefined_is_nan_and_says_why(codes: list[list[int]], why: str) -> None:
    found = krippendorff_alpha(panel(np.array(codes)))
    assert np.isnan([found.alpha, found.low, found.high]).all()
    assert found.note == why
    assert str(found) == f"Krippendorff's alpha (four answers): undefined, because {why}."


def test_two_judges_have_no_interval() -> None:
    found = krippendorff_alpha(panel(np.array([[0, 3, 0], [0, 3, 3]])))
    assert not np.isnan(found.alpha)
    assert np.isnan([found.low, found.high]).all()
    assert "no interval, because without one of so few judges there is nothing left to compare" in str(found)


def test_its_text() -> None:
    found = krippendorff_alpha(panel(np.array([[0, 3, 0, 3]] * 5)), "same or not")
    assert str(found) == (
        "Krippendorff's alpha (same or not): 1.00 (no interval, because no judge differs from the others), from 4 "
        "pairs that two or more of 5 judges answered; 1 is full agreement, 0 is chance."
    )


@pytest.mark.parametrize("bad", [{"level": "nominal"}, {"confidence": 1.0}])
def test_what_is_not_allowed(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(bad))}=.*; allowed: "):
        krippendorff_alpha(panel(np.array([[0], [0]])), **bad)


def test_what_does_not_fit_in_memory_at_once_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    judgments = panel(np.random.default_rng(5).integers(-1, 4, size=(10, 20)))
    whole = krippendorff_alpha(judgments)
    monkeypatch.setattr("fairwise.judgments.agreement._CELLS_AT_ONCE", 1)
    parts = krippendorff_alpha(judgments)
    assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high))
