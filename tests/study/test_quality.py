"""Flags are plain rules: each is there exactly when its sentence is true, whatever the order of the answers."""

from __future__ import annotations

from hypothesis import given as for_all
from hypothesis import strategies as st

from fairwise.judgments import Answer
from fairwise.study.quality import (
    ALIKE_SHARE,
    EXPLAINED,
    FAILED_CHECK,
    FAST_SECONDS,
    FEWEST_ALIKE,
    FEWEST_TIMED,
    NAMES,
    ONE_KEY,
    TOO_FAST,
    UNSTEADY,
    Flag,
    flags,
)
from fairwise.study.schedules import PairAnswer

ANSWERS = st.sampled_from(list(Answer))
SECONDS = st.none() | st.floats(0, 60)


def kinds(found: tuple[Flag, ...]) -> set[str]:
    return {flag.kind for flag in found}


def asked(said: list[Answer], seconds: list[float | None] | None = None, design: str = "uniform") -> list[PairAnswer]:
    """Different pairs, one for each answer."""
    times = seconds or [9.0] * len(said)
    return [
        PairAnswer(at, f"a{at}", f"b{at}", answer, design, time)
        for at, (answer, time) in enumerate(zip(said, times, strict=True), start=1)
    ]


def again(first: PairAnswer, position: int, answer: Answer) -> PairAnswer:
    return PairAnswer(position, first.b, first.a, answer, "repeat", 9.0)


@st.composite
def visits(draw: st.DrawFn) -> list[PairAnswer]:
    """Any answers to pairs, checks and repeats of the pairs."""
    pairs = asked(draw(st.lists(ANSWERS, max_size=30)))
    pairs = [given._replace(seconds=draw(SECONDS)) for given in pairs]
    checks = [
        PairAnswer(100 + at, f"x{at}", f"y{at}", said, "check", 9.0)
        for at, said in enumerate(draw(st.lists(ANSWERS, max_size=4)))
    ]
    repeated = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4)) if pairs else []
    return [*pairs, *checks, *(again(one, 200 + at, draw(ANSWERS)) for at, one in enumerate(repeated))]


def test_every_flag_has_a_name_and_an_explanation() -> None:
    assert list(NAMES) == list(EXPLAINED) == [TOO_FAST, ONE_KEY, FAILED_CHECK, UNSTEADY]
    assert flags([]) == ()


@for_all(visits(), st.randoms())
def test_the_order_of_answers_does_not_matter(answers: list[PairAnswer], chance: object) -> None:
    mixed = list(answers)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert {(one.kind, one.positions) for one in flags(mixed)} == {(one.kind, one.positions) for one in flags(answers)}


@for_all(visits())
def test_sides_are_nobodys_fault_but_for_always_the_same_key(answers: list[PairAnswer]) -> None:
    """Shown the other way round and answered alike, nobody is faster, or less steady."""
    turned = [one._replace(a=one.b, b=one.a, answer=one.answer.swapped()) for one in answers]
    assert kinds(flags(turned)) == kinds(flags(answers))


@for_all(visits())
def test_too_fast_is_said_of_whoever_is_fast_half_of_the_time(answers: list[PairAnswer]) -> None:
    times = [one.seconds for one in answers if one.seconds is not None]
    fast = [time for time in times if time < FAST_SECONDS]
    assert (TOO_FAST in kinds(flags(answers))) == (len(times) >= FEWEST_TIMED and len(fast) >= len(times) / 2)


def test_times_that_nobody_knows_are_not_fast() -> None:
    assert flags(asked([Answer.SAME] * 5, [None] * 5)) == ()
    assert kinds(flags(asked([Answer.SAME] * 5, [1.9] * 5))) == {TOO_FAST}
    assert flags(asked([Answer.SAME] * 4, [0.1] * 4)) == ()
    assert flags(asked([Answer.SAME] * 5, [1.9, 1.9, 2.0, 2.0, 2.0])) == ()


@for_all(visits())
def test_one_key_is_said_of_nearly_all_answers_alike(answers: list[PairAnswer]) -> None:
    said = [one.answer for one in answers if one.design != "check"]
    most = max((said.count(answer) for answer in said), default=0)
    assert (ONE_KEY in kinds(flags(answers))) == (len(said) >= FEWEST_ALIKE and most >= ALIKE_SHARE * len(said))


def test_one_other_answer_in_twenty_is_still_always() -> None:
    assert kinds(flags(asked([Answer.SAME] * 19 + [Answer.NO_CONSTRAINT]))) == {ONE_KEY}
    assert flags(asked([Answer.SAME] * 18 + [Answer.NO_CONSTRAINT] * 2)) == ()


@for_all(visits())
def test_a_check_is_failed_by_anything_but_same(answers: list[PairAnswer]) -> None:
    failed = {one.position for one in answers if one.design == "check" and one.answer != Answer.SAME}
    found = [one for one in flags(answers) if one.kind == FAILED_CHECK]
    assert {position for one in found for position in one.positions} == failed
    assert len(found) == bool(failed)


@for_all(st.lists(ANSWERS, min_size=1, max_size=6), st.data())
def test_repeats_are_compared_with_sides_swapped_back(said: list[Answer], data: st.DataObject) -> None:
    first = asked(said)
    steady = [again(one, 50 + at, one.answer.swapped()) for at, one in enumerate(first)]
    assert UNSTEADY not in kinds(flags([*first, *steady]))
    wrong = data.draw(st.lists(st.sampled_from(steady), unique=True))
    other = {
        Answer.SAME: Answer.NO_CONSTRAINT,
        Answer.NO_CONSTRAINT: Answer.SAME,
        Answer.A_AT_LEAST_B: Answer.SAME,
        Answer.B_AT_LEAST_A: Answer.SAME,
    }
    mixed = [one._replace(answer=other[one.answer]) if one in wrong else one for one in steady]
    found = [one for one in flags([*first, *mixed]) if one.kind == UNSTEADY]
    assert bool(found) == (len(wrong) >= 2 and len(wrong) >= len(said) / 2)
    if found:
        assert set(found[0].positions) == {one.position for one in wrong}


def test_a_repeat_whose_original_has_no_answer_says_nothing() -> None:
    alone = [PairAnswer(at, "b", "a", Answer.SAME, "repeat", 9.0) for at in (1, 2)]
    assert flags(alone) == ()
