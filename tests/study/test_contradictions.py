"""What someone may want to look at again is really there, all of it, and nothing else."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.judgments import Answer
from fairwise.study.quality import LONGEST_CIRCLE, MAX_CONTRADICTIONS, ContradictionKind, contradictions
from fairwise.study.schedules import PairAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

SAME, A, B, NONE = Answer.SAME, Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.NO_CONSTRAINT
# Of ten people, some look the same.
LOOKS = dict(zip("abcdefghij", "0122345566", strict=True))


def looked_at(*answers: tuple[str, Answer], most: int | None = MAX_CONTRADICTIONS) -> list[tuple[str, list[int]]]:
    said = [PairAnswer(number, two[0], two[1], answer) for number, (two, answer) in enumerate(answers, start=1)]
    return [(str(one.kind), [pair.position for pair in one.pairs]) for one in contradictions(said, LOOKS, most)]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([("ab", A), ("ba", B)], []),
        ([("ab", A), ("ba", A)], [("different", [1, 2])]),
        ([("ab", SAME), ("ba", A)], [("different", [1, 2])]),
        ([("ab", NONE), ("ba", SAME)], [("different", [1, 2])]),
        ([("ac", A), ("ad", B)], [("different", [1, 2])]),  # c and d look the same
        ([("ac", A), ("da", B)], []),
        ([("cd", SAME)], []),
        ([("cd", NONE)], []),  # asks for nothing
        ([("cd", A)], [("alike", [1])]),
        ([("cd", A), ("dc", SAME)], [("alike", [1, 2])]),
        ([("cd", NONE), ("dc", SAME)], [("different", [1, 2])]),
        ([("ab", A), ("bc", A), ("ca", A)], [("circle", [1, 2, 3])]),
        ([("ab", A), ("bc", A), ("da", A)], [("circle", [1, 2, 3])]),  # as d looks like c
        ([("ab", A), ("cb", B), ("ac", B)], [("circle", [1, 2, 3])]),
        ([("ab", SAME), ("bc", SAME), ("ac", SAME)], []),
        ([("ab", SAME), ("bc", SAME), ("ac", NONE)], []),
        ([("ab", A), ("bc", A), ("ac", NONE)], []),
        ([("ab", A), ("bc", A), ("ac", A)], []),
        ([("ab", A), ("bc", A), ("ce", A), ("ea", A)], [("circle", [1, 2, 3, 4])]),
        ([("ab", A), ("bc", A), ("ce", A), ("ef", A), ("fa", A)], []),  # too many to keep in mind
        # What differs is shown once, and not in a circle as well.
        ([("ab", A), ("bc", A), ("ca", A), ("ba", A)], [("different", [1, 4])]),
        # Of a repeat that says the same, the first time is shown.
        ([("ab", A), ("bc", A), ("ca", A), ("ba", B)], [("circle", [1, 2, 3])]),
    ],
)
def test_examples(answers: list[tuple[str, Answer]], expected: list[tuple[str, list[int]]]) -> None:
    found = [(kind, sorted(positions)) for kind, positions in looked_at(*answers)]
    assert found == expected


def test_the_plainest_first_and_not_too_many() -> None:
    circle = [("ab", A), ("be", A), ("ea", A)]
    changed = [(f"{one}{other}", answer) for one, other in ("ac", "bf", "ci", "hi") for answer in (SAME, NONE)]
    opposed, alike = [("fa", A), ("fa", B)], [("cd", A)]
    kinds = [kind for kind, _ in looked_at(*circle, *changed, *alike, *opposed, most=None)]
    assert kinds == ["different", "alike", *["different"] * 4, "circle"]
    assert looked_at(*circle, *changed, *alike, *opposed)[:2] == [("different", [13, 14]), ("alike", [12])]
    assert len(looked_at(*circle, *changed, *alike, *opposed)) == MAX_CONTRADICTIONS
    assert looked_at(*circle, most=0) == []


def test_shorter_circles_come_first() -> None:
    four, three = [("ab", A), ("bc", A), ("ce", A), ("ea", A)], [("fg", A), ("gi", A), ("if", A)]
    assert [len(positions) for _, positions in looked_at(*four, *three)] == [3, 4]


def test_people_of_a_circle_are_named_in_its_order() -> None:
    said = [PairAnswer(1, "a", "b", A), PairAnswer(2, "c", "b", B), PairAnswer(3, "a", "d", B)]
    [found] = contradictions(said, LOOKS)
    start = found.people.index("a")
    assert [LOOKS[who] for who in (*found.people[start:], *found.people[:start])] == [LOOKS[who] for who in "abc"]
    assert {pair.position for pair in found.pairs} == {1, 2, 3}


@st.composite
def answers_to_pairs(draw: st.DrawFn) -> list[PairAnswer]:
    two = st.tuples(*[st.sampled_from(sorted(LOOKS))] * 2).filter(lambda pair: pair[0] != pair[1])
    drawn = draw(st.lists(st.tuples(two, st.sampled_from(list(Answer))), max_size=25))
    return [PairAnswer(number, pair[0], pair[1], answer) for number, (pair, answer) in enumerate(drawn, start=1)]


def in_force(said: Sequence[PairAnswer]) -> set[tuple[str, str]]:
    """Who is to be treated at least as well as whom, by their looks."""
    forward = {(LOOKS[one.a], LOOKS[one.b]) for one in said if one.answer in (SAME, A)}
    return forward | {(LOOKS[one.b], LOOKS[one.a]) for one in said if one.answer in (SAME, B)}


def about_two(said: Sequence[PairAnswer]) -> dict[frozenset[str], set[tuple[str, Answer]]]:
    """What was said about any two, with the one on the left made the first of the alphabet."""
    found: dict[frozenset[str], set[tuple[str, Answer]]] = {}
    for one in said:
        left, right = LOOKS[one.a], LOOKS[one.b]
        answer = one.answer if left <= right else one.answer.swapped()
        found.setdefault(frozenset((left, right)), set()).add((min(left, right), answer))
    return found


@given(answers_to_pairs())
def test_whatever_is_shown_does_not_fit_together(said: list[PairAnswer]) -> None:
    at = {one.position: one for one in said}
    found = contradictions(said, LOOKS, most=None)
    shown = [pair.position for one in found for pair in one.pairs]
    assert len(shown) == len(set(shown))
    for one in found:
        for pair in one.pairs:  # the numbers point to the people of the pair
            assert LOOKS[one.people[pair.a]] == LOOKS[at[pair.position].a]
            assert LOOKS[one.people[pair.b]] == LOOKS[at[pair.position].b]
            assert pair.a != pair.b
        answers = [at[pair.position] for pair in one.pairs]
        if one.kind == ContradictionKind.CIRCLE:
            size = len(one.people)
            assert 3 <= size <= LONGEST_CIRCLE
            assert len(answers) == size == len({LOOKS[person] for person in one.people})
            asked = in_force(answers)
            following = [(LOOKS[one.people[k]], LOOKS[one.people[(k + 1) % size]]) for k in range(size)]
            assert asked >= set(following)
            assert any((other, this) not in asked for this, other in following)
        else:
            assert len(one.people) == 2
            assert len(about_two(answers)) == 1
            alike = LOOKS[one.people[0]] == LOOKS[one.people[1]]
            assert alike or one.kind == ContradictionKind.DIFFERENT
            assert len(about_two(answers).popitem()[1]) > 1 or (alike and answers[0].answer.ordered)
    assert contradictions(said, LOOKS) == found[:MAX_CONTRADICTIONS]


@given(answers_to_pairs())
def test_whatever_does_not_fit_together_is_shown(said: list[PairAnswer]) -> None:
    """Whoever took back all answers that are shown would have nothing left to be shown, looked for in another way."""
    found = contradictions(said, LOOKS, most=None)
    gone = {pair.position for one in found for pair in one.pairs}
    left = [one for one in said if one.position not in gone]
    for two, answers in about_two(left).items():
        assert len(answers) == 1
        assert len(two) == 2 or not answers.pop()[1].ordered
    if any(LOOKS[one.a] == LOOKS[other.a] and LOOKS[one.b] == LOOKS[other.b] for one, other in combinations(said, 2)):
        return  # of a repeat that says the same, only the first is shown and so taken back here
    if any(LOOKS[one.a] == LOOKS[other.b] and LOOKS[one.b] == LOOKS[other.a] for one, other in combinations(said, 2)):
        return
    asked = in_force([one for one in left if LOOKS[one.a] != LOOKS[one.b]])
    for size in range(3, LONGEST_CIRCLE + 1):
        for people in permutations(sorted(set(LOOKS.values())), size):
            circle = {(people[k], people[(k + 1) % size]) for k in range(size)}
            assert not (circle <= asked and any((b, a) not in asked for a, b in circle))


@given(st.lists(st.integers(0, 3), min_size=7, max_size=7), st.data())
def test_whoever_goes_by_a_rule_is_shown_nothing(points: list[int], data: st.DataObject) -> None:
    """More points, better treatment; equal points, the same: however often and on whichever sides one is asked."""
    pairs = data.draw(st.lists(st.sampled_from(list(permutations(sorted(LOOKS), 2))), max_size=40))
    said = []
    for number, (a, b) in enumerate(pairs, start=1):
        one, other = points[int(LOOKS[a])], points[int(LOOKS[b])]
        said.append(PairAnswer(number, a, b, SAME if one == other else A if one > other else B))
    assert contradictions(said, LOOKS) == ()


@given(answers_to_pairs(), st.data())
def test_sides_and_who_it_is_do_not_matter(said: list[PairAnswer], data: st.DataObject) -> None:
    """The same things are found if sides are swapped together with the answers, and people with those like them."""
    turned = data.draw(st.lists(st.booleans(), min_size=len(said), max_size=len(said)))
    like = {look: [who for who in sorted(LOOKS) if LOOKS[who] == look][-1] for look in LOOKS.values()}
    other = [
        PairAnswer(one.position, one.b, one.a, one.answer.swapped()) if turn else one
        for one, turn in zip(said, turned, strict=True)
    ]
    as_found = [(one.kind, {pair.position for pair in one.pairs}) for one in contradictions(said, LOOKS)]
    for again in (other, [one._replace(a=like[LOOKS[one.a]], b=like[LOOKS[one.b]]) for one in said]):
        found = contradictions(again, LOOKS)
        ours = [kind for kind in as_found if kind[0] != ContradictionKind.CIRCLE]
        theirs = [
            (one.kind, {pair.position for pair in one.pairs}) for one in found if one.kind != ContradictionKind.CIRCLE
        ]
        assert theirs == ours


@pytest.mark.parametrize("answers", list(product([SAME, NONE], repeat=3)))
def test_two_answers_never_go_in_circles(answers: tuple[Answer, Answer, Answer]) -> None:
    assert looked_at(*zip(("ab", "bc", "ca"), answers, strict=True)) == []
