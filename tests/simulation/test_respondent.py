"""What a simulated person was given as preferences comes back out of the answers."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.bots import participant
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.simulation import Closeness, Discount, FirstNoticeable, Merit, Respondent, Step
from fairwise.simulation.respondent import PACE_SPREAD, THOUGHT_SPREAD, minutes_for

PEOPLE = pd.DataFrame(
    {
        "race": ["Caucasian", "Hispanic", "Caucasian", "Asian"],
        "priors": [0, 2, 4, 8],
        "age": [20, 30, 40, 50],
    },
    index=["w", "x", "y", "z"],
)
PRIORS = Closeness({"race": 0.0, "age": 0.0, "priors": 1.0}, threshold=2.0)
FEWER_PRIORS = Merit({"priors": -1.0}, margin=3.0)
EVERYBODY = list(permutations("wxyz", 2))


def person(closeness: Closeness = PRIORS, **more: Any) -> Respondent:
    return Respondent("simulated-01", closeness, **more)


def answers(respondent: Respondent, pairs: list[tuple[str, str]], seed: int = 0, **more: Any) -> list[Answer]:
    return respondent.answers(PEOPLE, pairs, np.random.default_rng(seed), **more)


def test_close_is_same_and_far_is_ordered() -> None:
    said = answers(person(order=FEWER_PRIORS), [("w", "x"), ("w", "y"), ("y", "w"), ("x", "y"), ("y", "z")])
    assert said == ["same", "a_at_least_b", "b_at_least_a", "same", "a_at_least_b"]


def test_in_between_is_no_constraint() -> None:
    assert answers(person(order=Merit({"priors": -1.0}, margin=4.0)), [("w", "y"), ("x", "z")]) == [
        "no_constraint",
        "a_at_least_b",
    ]


def test_of_two_answers_only_same_and_no_constraint_are_used() -> None:
    four = answers(person(order=FEWER_PRIORS), EVERYBODY)
    two = answers(person(order=FEWER_PRIORS), EVERYBODY, scale="two")
    assert any(answer.ordered for answer in four)
    assert two == [answer if answer == "same" else "no_constraint" for answer in four]


@given(
    st.lists(
        st.tuples(st.sampled_from(["Caucasian", "Hispanic", "Asian"]), st.integers(18, 90)),
        min_size=4,
        max_size=4,
    )
)
def test_who_ignores_demographics_never_changes_an_answer_with_them(traits: list[tuple[str, int]]) -> None:
    race, age = zip(*traits, strict=True)
    respondent = person(order=FEWER_PRIORS)
    others = PEOPLE.assign(race=race, age=age)
    assert respondent.answers(others, EVERYBODY, np.random.default_rng(0)) == answers(respondent, EVERYBODY)


def test_who_looks_at_race_does_change() -> None:
    respondent = person(Closeness({"race": 1.0}, threshold=0.5))
    assert answers(respondent, [("w", "x"), ("w", "y")]) == ["no_constraint", "same"]


def test_a_discounted_record_counts_less_for_minorities_only() -> None:
    fair = person(Closeness({"priors": 1.0}, threshold=0.5))
    discounting = person(fair.closeness, discount=Discount(("priors",), "race", "Caucasian", factor=0.5))
    assert answers(fair, [("y", "z")]) == ["no_constraint"]
    assert answers(discounting, [("y", "z")]) == ["same"]  # 4 of a Caucasian beside half of 8
    assert answers(discounting, [("w", "y")]) == answers(fair, [("w", "y")]) == ["no_constraint"]


def test_a_discount_changes_the_order_that_is_due() -> None:
    order = Merit({"priors": -1.0})
    discount = Discount(("priors",), "race", "Caucasian", factor=0.25)
    nobody = Closeness({}, threshold=-1.0)
    assert answers(person(nobody, order=order), [("y", "z")]) == ["a_at_least_b"]
    assert answers(person(nobody, order=order, discount=discount), [("y", "z")]) == ["b_at_least_a"]


numbers = st.lists(st.integers(-20, 20), min_size=5, max_size=5)


@given(numbers, numbers, st.floats(0, 5), st.floats(0, 5), st.booleans())
def test_swapping_the_sides_swaps_the_opinion(
    first: list[int], second: list[int], threshold: float, margin: float, lexicographic: bool
) -> None:
    people = pd.DataFrame({"x": first, "y": second})
    order = (
        FirstNoticeable((Step("x", 0.3, margin), Step("y", -0.7, margin)))
        if lexicographic
        else Merit({"x": 0.3, "y": -0.7}, margin)
    )
    respondent = person(Closeness({"x": 0.3, "y": 0.7}, threshold), order=order)
    pairs = list(permutations(range(5), 2))
    said = respondent.answers(people, pairs, np.random.default_rng(0))
    swapped = respondent.answers(people, [(b, a) for a, b in pairs], np.random.default_rng(1))
    assert [answer.swapped() for answer in said] == swapped


def test_small_differences_that_add_up_make_a_cycle() -> None:
    # Each is barely cleverer than the next, which nobody notices, so experience decides; first against last
    # the cleverness shows.
    people = pd.DataFrame({"clever": [3, 2, 1], "experienced": [0, 4, 8]}, index=list("abc"))
    order = FirstNoticeable((Step("clever", 1.0, 1.5), Step("experienced", 1.0, 0.0)))
    respondent = person(Closeness({}, threshold=-1.0), order=order)
    said = respondent.answers(people, [("b", "a"), ("c", "b"), ("a", "c")], np.random.default_rng(0))
    assert said == ["a_at_least_b"] * 3


def test_without_noise_luck_has_no_say() -> None:
    respondent = person(order=FEWER_PRIORS)
    assert answers(respondent, EVERYBODY, seed=1) == answers(respondent, EVERYBODY, seed=2)


def test_noise_has_the_size_it_was_given() -> None:
    pairs = [("w", "x")] * 20_000
    wrong = np.mean([answer != "same" for answer in answers(person(noise=0.4), pairs)])
    assert wrong == pytest.approx(0.4 * 3 / 4, abs=0.015)
    wrong = np.mean([answer != "same" for answer in answers(person(noise=0.4), pairs, scale="two")])
    assert wrong == pytest.approx(0.4 / 2, abs=0.015)


def test_fatigue_adds_noise_with_every_answer() -> None:
    pairs = [("w", "x")] * 1_000
    tired = person(fatigue=0.001)
    wrong = np.array([[answer != "same" for answer in answers(tired, pairs, seed=seed)] for seed in range(40)])
    assert not wrong[:, 0].any()
    for tenth in (0, 5, 9):
        expected = 0.75 * 0.001 * (100 * tenth + 49.5)
        assert wrong[:, 100 * tenth : 100 * tenth + 100].mean() == pytest.approx(expected, abs=0.03)
    later = np.array([[a != "same" for a in answers(tired, pairs[:20], seed=s, already=900)] for s in range(40)])
    assert later.mean() == pytest.approx(0.75 * 0.91, abs=0.05)


def test_position_bias_favours_the_left_only_when_unsure() -> None:
    biased = person(order=Merit({"priors": -1.0}, margin=4.0), position_bias=0.6)
    unsure = answers(biased, [("w", "y"), ("y", "w")] * 10_000)
    assert set(unsure) == {"a_at_least_b", "no_constraint"}
    assert np.mean([answer == "a_at_least_b" for answer in unsure]) == pytest.approx(0.6, abs=0.02)
    assert set(answers(biased, [("z", "x")] * 100)) == {"b_at_least_a"}
    assert set(answers(biased, [("w", "y")] * 100, scale="two")) == {"no_constraint"}


def test_missing_values_are_like_each_other_and_like_nothing_else() -> None:
    people = pd.DataFrame({"income": [1.0, np.nan, np.nan], "town": ["A", None, None]}, index=[1, 2, 3])
    for column in ("income", "town"):
        respondent = person(Closeness({column: 1.0}, threshold=0.5), order=Merit({"income": 1.0}))
        said = respondent.answers(people, [(2, 3), (1, 2)], np.random.default_rng(0), scale="two")
        assert said == ["same", "no_constraint"]


def test_a_sentence_says_who_it_is() -> None:
    respondent = Respondent(
        "simulated-07",
        Closeness({"sex": 0.0, "race": 2.0, "age": 0.1, "priors": 0.5}, threshold=1.5, categories=("sex", "race")),
        order=Merit({"priors": -1.0, "charge": {"M": 1.0, "F": 0.0}}),
        discount=Discount(("priors",), "race", "Caucasian"),
        noise=0.1,
        fatigue=0.002,
        position_bias=0.5,
        kind="example",
    )
    assert respondent.describe() == (
        "simulated-07 (example): counts 50% of priors where race is not Caucasian; ignores sex; same within "
        "15 of age and 3 of priors together, with equal race; at least as good treatment is due to less "
        "priors and charge M; answers at random 10% of the time; 0.2% more with every answer; favours the left "
        "one 50% of the time when unsure."
    )
    assert "everybody is the same" in person(Closeness({}, threshold=np.inf)).describe()
    assert "nobody is the same" in person(Closeness({}, threshold=-1.0)).describe()


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Respondent("ann", PRIORS), "'ann': the name must begin with 'simulated'"),
        (lambda: person(noise=1.5), "noise=1.5; allowed: 0 to 1"),
        (lambda: answers(person(), [("w", "nobody")]), "nobody with the id 'nobody'"),
        (lambda: answers(person(), [("w", "x")], scale="five"), "scale='five'; allowed: 'two' or 'four'"),
        (
            lambda: answers(person(Closeness({"height": 1.0}, 1.0)), [("w", "x")]),
            "no column height; there are race",
        ),
        (lambda: answers(person(order=Merit({"height": 1.0})), [("w", "x")]), "no column height"),
    ],
)
def test_what_cannot_be_simulated_is_refused(make: Any, part: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert part in str(caught.value)


def test_half_of_all_single_thoughts_take_less_than_the_usual_one() -> None:
    assert minutes_for(1, 12).median == pytest.approx(12 / 60, rel=0.05)


def test_many_thoughts_take_their_average_and_leave_people_different() -> None:
    found = minutes_for(400, 6)
    assert found.median == pytest.approx(400 * 6 / 60 * np.exp(THOUGHT_SPREAD**2 / 2), rel=0.03)
    assert found.high / found.median == pytest.approx(np.exp(1.645 * PACE_SPREAD), rel=0.06)
    assert found.median / found.low == pytest.approx(np.exp(1.645 * PACE_SPREAD), rel=0.06)


def test_twice_as_slow_takes_twice_as_long() -> None:
    slow, quick = minutes_for(50, 20, seed=3), minutes_for(50, 10, seed=3)
    assert slow.low == pytest.approx(2 * quick.low)
    assert slow.high == pytest.approx(2 * quick.high)


def test_the_same_seed_gives_the_same_people() -> None:
    assert minutes_for(50, seed=1) == minutes_for(50, seed=1) != minutes_for(50, seed=2)


def test_thoughts_vary_as_those_of_bots() -> None:
    assert THOUGHT_SPREAD == participant._SPREAD


@pytest.mark.parametrize(("pairs", "seconds"), [(0, 10), (50, 0), (50, -1), (50, np.inf), (50, np.nan)])
def test_refused(pairs: int, seconds: float) -> None:
    with pytest.raises(InputError, match="allowed"):
        minutes_for(pairs, seconds)
