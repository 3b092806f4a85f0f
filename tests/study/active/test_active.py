"""The active design: sides do not matter, chances are known and right, and nothing is drawn that must not be."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from fairwise.datasets import load_compas
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.judgments.answer import PairDesign
from fairwise.simulation import simulate_panel
from fairwise.study.active import (
    ActiveChooser,
    ParticipantAnswer,
    SeenPeople,
    chances,
    expected_violation,
    mean_over_pairs,
    uncertainty,
)
from fairwise.study.settings import TWO_ANSWERS

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL = pd.DataFrame(
    {"age": [20, 25, 30, 35, 40, 60, 60, np.nan], "town": ["x", "y", "x", "z", "y", "x", "x", None]},
    index=list("abcdefgh"),
)
"""Eight people; f and g look the same, so that 27 pairs differ."""


def panel(people: pd.DataFrame, scale: str, judges: int = 12, pairs: int = 20) -> list[ParticipantAnswer]:
    given = simulate_panel(people, judges, pairs, answers="two" if scale == "two" else "four", seed=1).frame
    columns = [given[name] for name in ("judge", "a", "b", "answer")]
    return [ParticipantAnswer(judge, a, b, Answer(said)) for judge, a, b, said in zip(*columns, strict=True)]


@pytest.fixture(scope="module")
def compas() -> pd.DataFrame:
    return load_compas()[0].rename(index=str)


@pytest.fixture(scope="module")
def knowing(compas: pd.DataFrame) -> ActiveChooser:
    return ActiveChooser.of(compas).learned(panel(compas, "four"))


@pytest.fixture(scope="module")
def small() -> ActiveChooser:
    """Knows that whoever is 10 years apart is not the same, and is as choosy as after very many answers."""
    ages = SMALL["age"].dropna()
    said = [
        ParticipantAnswer(who, a, b, Answer.SAME if abs(ages[a] - ages[b]) < 10 else Answer.NO_CONSTRAINT)
        for who in ("one", "two", "three")
        for a, b in combinations(ages.index, 2)
        if (a, b) != ("f", "g")
    ]
    return replace(ActiveChooser.of(SMALL, TWO_ANSWERS).learned(said), answers_so_far=10_000)


def sides(people: pd.DataFrame, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    left, right = np.random.default_rng(3).integers(len(people), size=(2, n))
    return left, right


def test_changing_sides_exchanges_the_two_ordered_answers_exactly(knowing: ActiveChooser, compas: pd.DataFrame) -> None:
    left, right = sides(compas)
    own = [each for each in panel(compas, "four") if each.participant == "simulated-03"]
    model = knowing.model
    beliefs = model.beliefs(own)
    there, back = model.predict(beliefs, left, right), model.predict(beliefs, right, left)
    swapped = [list(Answer).index(answer.swapped()) for answer in Answer]
    assert np.array_equal(there, back[:, swapped])
    assert np.abs(there[:, 1] - there[:, 2]).max() > 0.1  # there is something to exchange
    assert there.sum(axis=1) == pytest.approx(1)


def test_answers_that_changed_sides_teach_the_same(compas: pd.DataFrame) -> None:
    given = panel(compas, "four", judges=4)
    turned = [ParticipantAnswer(each.participant, each.b, each.a, each.answer.swapped()) for each in given]
    one, other = (ActiveChooser.of(compas).learned(answers).model for answers in (given, turned))
    assert one.order is not None
    assert other.order is not None
    assert one.same.weights == pytest.approx(other.same.weights)
    assert one.order.weights == pytest.approx(other.order.weights)


def test_two_answers_are_never_predicted_as_four(small: ActiveChooser) -> None:
    predicted = small.model.predict(small.model.beliefs([]), *sides(SMALL))
    assert not predicted[:, 1:3].any()


def test_the_model_learns_what_decides(small: ActiveChooser) -> None:
    model = small.model
    young, old = model.seen.positions(["a", "a"]), model.seen.positions(["b", "f"])
    close, far = model.predict(model.beliefs([]), young, old)[:, 0]
    assert close > 0.6
    assert far < 0.2


def test_a_participants_own_answers_count_at_once(small: ActiveChooser) -> None:
    model, pair = small.model, (small.model.seen.positions(["a"]), small.model.seen.positions(["f"]))
    generous = [
        ParticipantAnswer("new", a, b, Answer.SAME) for a, b in [("a", "f"), ("b", "f"), ("c", "f"), ("a", "e")]
    ]
    before, after = (model.predict(model.beliefs(own), *pair)[0, 0] for own in ([], generous))
    assert after > before + 0.2


@given(st.lists(st.floats(0, 2), min_size=1, max_size=40), st.integers(0, 5000))
def test_chances_are_positive_and_add_up_to_one(worth: list[float], answers: int) -> None:
    q = chances([np.array(worth)], answers)
    assert q.sum() == pytest.approx(1)
    assert q.min() >= 0.2 / len(q) * (1 - 1e-9)  # so that no weight exceeds 5


def test_more_uncertain_pairs_are_drawn_more_often() -> None:
    worth = uncertainty(np.array([[0.5, 0, 0, 0.5], [0.9, 0, 0, 0.1], [1.0, 0, 0, 0]]))
    q = chances([worth], 2000)
    assert q[0] > 5 * q[1] > 5 * q[2] > 0


def test_expected_violation_of_each_answer() -> None:
    certain = np.eye(4)
    broken = expected_violation(certain, np.full(4, 0.25), np.full(4, 1.0))
    assert broken.tolist() == [0.75, 0.75, 0.0, 0.0]  # the right one is treated better


def test_scores_draw_pairs_that_a_model_treats_differently(small: ActiveChooser) -> None:
    scores = dict.fromkeys(SMALL.index, 0.5) | {"a": 0.0, "b": 1.0}  # likely the same, and treated differently

    def share(given: dict[str, float] | None) -> float:
        drawn = [small.choose(np.random.default_rng(k), scores=given) for k in range(300)]
        return float(np.mean([{each.a, each.b} == {"a", "b"} for each in drawn]))

    assert share(scores) > share(None) + 0.1
    with pytest.raises(InputError, match=r"^scores, person '.': None; needed: a probability"):
        small.choose(np.random.default_rng(0), scores={})


def test_the_same_seed_and_answers_give_the_same_pair(compas: pd.DataFrame, knowing: ActiveChooser) -> None:
    again = ActiveChooser.of(compas).learned(panel(compas, "four"))
    own = panel(compas, "four")[:7]
    one, other, third = (
        chooser.choose(np.random.default_rng(seed), own) for chooser, seed in [(knowing, 5), (again, 5), (knowing, 6)]
    )
    assert one == other
    assert one != third
    assert one.design == PairDesign.ACTIVE


def test_without_answers_all_pairs_and_sides_are_alike() -> None:
    chooser = ActiveChooser.of(SMALL, TWO_ANSWERS)
    drawn = [chooser.choose(np.random.default_rng(k), candidates=5) for k in range(1080)]
    assert {round(each.selection_probability or 0, 12) for each in drawn} == {round(1 / 27, 12)}
    sided = Counter((each.a, each.b) for each in drawn)
    assert len(sided) == 54
    assert chisquare(list(sided.values())).pvalue > 0.01


def test_neither_identical_records_nor_pairs_already_shown(small: ActiveChooser) -> None:
    own: list[ParticipantAnswer] = []
    also = [("h", "a"), ("f", "g")]  # f and g are the same: a check, which is no loss to the others
    for number in range(26):
        shown = small.choose(np.random.default_rng(number), own, excluded_pairs=also, candidates=8)
        own.append(ParticipantAnswer("new", shown.a, shown.b, Answer.SAME))
    pairs = {frozenset((each.a, each.b)) for each in own}
    assert len(pairs) == 26
    assert not pairs & {frozenset("fg"), frozenset("ah")}
    with pytest.raises(InputError, match="has been shown every pair"):
        small.choose(np.random.default_rng(0), own, excluded_pairs=also)


def test_records_decide_who_looks_the_same() -> None:
    looks = {person: person in "ab" for person in SMALL.index}
    chooser = ActiveChooser.of(SMALL, records=looks)
    drawn = [chooser.choose(np.random.default_rng(k)) for k in range(50)]
    assert all(looks[each.a] != looks[each.b] for each in drawn)


def test_selection_probabilities_add_up_to_one_where_every_pair_is_a_candidate(small: ActiveChooser) -> None:
    chance: dict[frozenset[str], float] = {}
    for number in range(2000):
        drawn = small.choose(np.random.default_rng(number), candidates=27)
        chance[frozenset((drawn.a, drawn.b))] = drawn.selection_probability or 0
        if len(chance) == 27:
            break
    assert sum(chance.values()) == pytest.approx(1)
    assert max(chance.values()) > 2 * min(chance.values())  # far from uniform


def ask_four(chooser: ActiveChooser, truth: dict[frozenset[str], float], seed: int) -> tuple[list[float], list[float]]:
    """Four draws, each depending on earlier answers, which are what is to be estimated."""
    rng, shown = np.random.default_rng(seed), []
    own: list[ParticipantAnswer] = []
    for _ in range(4):
        drawn = chooser.choose(rng, own, candidates=9)
        said = Answer.SAME if truth[frozenset((drawn.a, drawn.b))] else Answer.NO_CONSTRAINT
        own.append(ParticipantAnswer("new", drawn.a, drawn.b, said))
        shown.append(drawn)
    values = [truth[frozenset((each.a, each.b))] for each in shown]
    return values, [each.selection_probability or 0 for each in shown]


def error_in_standard_errors(estimates: Sequence[float], truth: float) -> float:
    return float((np.mean(estimates) - truth) / (np.std(estimates, ddof=1) / np.sqrt(len(estimates))))


@pytest.mark.parametrize("times", [200, pytest.param(700, marks=pytest.mark.slow)])
def test_weighted_means_are_unbiased_and_plain_ones_are_not(small: ActiveChooser, times: int) -> None:
    place = {person: number for number, person in enumerate(SMALL.index)}
    truth = {
        frozenset(pair): float(abs(place[pair[0]] - place[pair[1]]) <= 2)
        for pair in combinations(SMALL.index, 2)
        if pair != ("f", "g")
    }
    expected = float(np.mean(list(truth.values())))
    asked = [ask_four(small, truth, seed) for seed in range(times)]
    weighted = [mean_over_pairs(values, p, len(truth)) for values, p in asked]
    assert abs(error_in_standard_errors(weighted, expected)) < 3
    assert abs(error_in_standard_errors([float(np.mean(values)) for values, _ in asked], expected)) > 5


def test_pairs_of_other_designs_count_only_as_seen() -> None:
    # Of 4 pairs the first is known to be 1; the draw among the other 3 stands for 3.
    assert mean_over_pairs([1, 1], [np.nan, 1 / 3], 4) == pytest.approx(1)
    assert mean_over_pairs([1, 0], [np.nan, 1 / 3], 4) == pytest.approx(1 / 4)


@pytest.mark.parametrize(("values", "chance"), [([1.0], [0.0]), ([1.0], [1.5]), ([1.0], [np.nan]), ([1.0, 0.0], [0.5])])
def test_probabilities_that_cannot_be_are_refused(values: list[float], chance: list[float]) -> None:
    with pytest.raises(InputError, match="mean_over_pairs"):
        mean_over_pairs(values, chance, 10)


def test_unknown_people_and_no_candidates_are_refused(small: ActiveChooser) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="nobody with the id 'nobody'"):
        small.choose(rng, excluded_pairs=[("a", "nobody")])
    with pytest.raises(InputError, match="nobody with the id 'nobody'"):
        small.learned([ParticipantAnswer("one", "a", "nobody", Answer.SAME)])
    with pytest.raises(InputError, match="candidates=0"):
        small.choose(rng, candidates=0)


def test_rare_categories_and_constant_columns_do_no_harm() -> None:
    people = pd.DataFrame({"name": [f"n{k}" for k in range(50)], "one": 1.0}, index=[f"p{k}" for k in range(50)])
    seen = SeenPeople.of(people).encoded
    assert seen.merits.shape == (50, 1 + 12)
    assert not seen.numbers.any()
    answers = [ParticipantAnswer("x", "p1", "p2", Answer.SAME)]
    assert ActiveChooser.of(people).learned(answers).choose(np.random.default_rng(0), answers).a in people.index


def test_the_next_pair_of_5829_people_is_there_soon(compas: pd.DataFrame) -> None:
    given = panel(compas, "four", judges=43, pairs=50)
    chooser = ActiveChooser.of(compas).learned(given)
    took = []
    for number in range(5):
        began = time.process_time()
        chooser.choose(np.random.default_rng(number), given[:50])
        took.append(time.process_time() - began)
    assert min(took) < 0.05
