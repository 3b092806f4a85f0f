"""Ballots are counted as the rule says, whoever cast them and whatever the options are called."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwise.study.deliberation import (
    FEWEST,
    CastBallot,
    Rule,
    Tally,
    approvals,
    borda,
    condorcet_winner,
    grouped,
    is_ballot,
    partitions,
    preferences,
    scores,
    winners,
)

N = st.shared(st.integers(1, 5), key="options")
RANKINGS = N.flatmap(lambda n: st.lists(st.permutations(range(n)).map(tuple), max_size=9))
APPROVED = N.flatmap(lambda n: st.lists(st.sets(st.integers(0, n - 1)).map(tuple), max_size=9))
RULES = st.sampled_from(Rule)


@st.composite
def elections(draw: Any) -> tuple[int, Rule, list[tuple[int, ...]]]:
    rule = draw(RULES)
    return draw(N), rule, draw(RANKINGS if rule.ranks else APPROVED)


@given(N, RANKINGS)
def test_a_condorcet_winner_is_whom_majorities_prefer(n: int, ballots: list[tuple[int, ...]]) -> None:
    def beats(one: int, two: int) -> bool:
        return 2 * sum(ballot.index(one) < ballot.index(two) for ballot in ballots) > len(ballots)

    brute = [one for one in range(n) if all(beats(one, two) for two in range(n) if two != one)]
    assert condorcet_winner(ballots, n) == (brute[0] if brute else None)
    assert len(brute) <= 1


@given(N, RANKINGS)
def test_borda_points_are_the_rows_of_pairwise_preferences(n: int, ballots: list[tuple[int, ...]]) -> None:
    before = preferences(ballots, n)
    assert borda(ballots, n) == [sum(row) for row in before]
    for one, two in combinations(range(n), 2):
        assert before[one][two] + before[two][one] == len(ballots)


@given(N, APPROVED)
def test_approvals_are_counted_once_each(n: int, ballots: list[tuple[int, ...]]) -> None:
    assert approvals(ballots, n) == [sum(option in ballot for ballot in ballots) for option in range(n)]


@given(elections(), st.randoms(use_true_random=False))
def test_who_said_it_makes_no_difference(election: Any, chance: Any) -> None:
    n, rule, ballots = election
    shuffled = [*ballots]
    chance.shuffle(shuffled)
    assert winners(shuffled, n, rule) == winners(ballots, n, rule)


@given(elections(), st.randoms(use_true_random=False))
def test_names_of_options_make_no_difference(election: Any, chance: Any) -> None:
    n, rule, ballots = election
    names = list(range(n))
    chance.shuffle(names)
    renamed = [tuple(names[option] for option in ballot) for ballot in ballots]
    assert set(winners(renamed, n, rule)) == {names[option] for option in winners(ballots, n, rule)}


@given(elections())
def test_whoever_everybody_prefers_wins_alone(election: Any) -> None:
    n, rule, ballots = election
    first = [tuple(sorted(ballot, key=lambda option: option != 0)) if rule.ranks else (0,) for ballot in ballots]
    assert winners(first, n, rule) == ((0,) if ballots else ())


@given(elections())
def test_one_more_ballot_for_a_winner_leaves_it_a_winner(election: Any) -> None:
    n, rule, ballots = election
    chosen = winners(ballots, n, rule)
    if not chosen or rule == Rule.CONDORCET:  # whose winner and Borda's may differ
        return
    mine = (chosen[0], *(option for option in range(n) if option != chosen[0]))
    assert winners([*ballots, mine if rule.ranks else mine[:1]], n, rule) == (chosen[0],)


@settings(max_examples=300)
@given(elections())
def test_somebody_wins_exactly_where_somebody_says_something(election: Any) -> None:
    n, rule, ballots = election
    chosen, counts = winners(ballots, n, rule), scores(ballots, n, rule)
    assert bool(chosen) == any(ballots)
    if chosen and (rule != Rule.CONDORCET or condorcet_winner(ballots, n) is None):
        assert set(chosen) == {option for option in range(n) if counts[option] == max(counts)}


def test_condorcet_and_borda_may_differ() -> None:
    ballots = [(0, 1, 2)] * 3 + [(1, 2, 0)] * 2
    assert winners(ballots, 3, Rule.CONDORCET) == (0,)
    assert winners(ballots, 3, Rule.BORDA) == (1,)
    circle = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    assert winners(circle, 3, Rule.CONDORCET) == (0, 1, 2), "where nobody is preferred to all, Borda decides"


@pytest.mark.parametrize(
    ("ballot", "rule", "counts"),
    [
        ((0, 1, 2), Rule.BORDA, True),
        ((0, 1), Rule.CONDORCET, False),
        ((0, 1, 1), Rule.BORDA, False),
        ((), Rule.APPROVAL, True),
        ((0, 0), Rule.APPROVAL, False),
        ((3,), Rule.APPROVAL, False),
    ],
)
def test_what_may_be_counted(ballot: tuple[int, ...], rule: Rule, counts: bool) -> None:
    assert is_ballot(ballot, 3, rule) is counts


def test_nobody_chooses_nothing() -> None:
    assert [winners([], 3, rule) for rule in Rule] == [(), (), ()]
    assert winners([(), ()], 3, Rule.APPROVAL) == ()
    assert scores([(1,)], 2, Rule.APPROVAL) == [0, 1]


VOTERS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.permutations(range(3)).map(tuple)))


@given(VOTERS)
def test_no_group_is_small_and_none_follows_from_the_others(voters: list[tuple[str | None, tuple[int, ...]]]) -> None:
    cast = [CastBallot(number, group, None, ballot) for number, (group, ballot) in enumerate(voters)]
    found = grouped(cast, "relation")
    assert all(len(ballots) >= 5 for ballots in found.values())
    shown = Counter(one for ballots in found.values() for one in ballots)
    assert shown == Counter(cast) or not found, "who is in no group is among the others, so that nothing is left"
    for name, ballots in found.items():
        if name is not None:
            assert Counter(ballots) == Counter(one for one in cast if one.relation == name)


def test_without_groups_there_is_nothing_to_tell() -> None:
    cast = [CastBallot(number, None, None, (0,)) for number in range(9)]
    assert grouped(cast, "relation") == {}
    in_arm = [one._replace(arm="x") for one in cast]
    assert grouped(in_arm, "arm") == {"x": in_arm}
    assert grouped(in_arm[:4], "arm") == {}


TWO_GROUPS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]), st.sampled_from(["x", "y", None]), st.permutations(range(3)).map(tuple)
    ),
    max_size=60,
)


@given(TWO_GROUPS)
def test_no_difference_of_two_partitions_is_about_fewer_than_five(voters: list[tuple[Any, Any, Any]]) -> None:
    cast = [CastBallot(number, *voter) for number, voter in enumerate(voters)]
    shown = partitions(cast)
    cells = [{one.number for one in group} for groups in shown.values() for group in groups.values()]
    everyone = {one.number for one in cast}
    for one, other in combinations([*cells, *(everyone - cell for cell in cells), everyone], 2):
        assert len(one & other) == 0 or len(one & other) >= FEWEST
        assert not one > other or len(one - other) >= FEWEST, "one total minus the other"


def test_a_group_inside_another_one_gives_no_ballot_away() -> None:
    """Five affected people are all in group x of six, so the two totals would differ by one ballot."""
    others = [CastBallot(number, "none", "y", (0,)) for number in range(6, 12)]
    cast = [*(CastBallot(number, "affected", "x", (1,)) for number in range(5)), CastBallot(5, "none", "x", (2,))]
    assert grouped([*cast, *others], "arm"), "by itself it could be shown"
    assert list(partitions([*cast, *others])) == ["relation"]
    apart = [one._replace(arm="x" if one.relation == "affected" else "y") for one in (*cast, *others)]
    assert list(partitions(apart)) == ["relation", "arm"], "two partitions into the same groups tell nothing more"


@given(elections(), st.lists(st.tuples(st.sampled_from(["a", None]), st.sampled_from(["x", "y"]))))
def test_a_tally_is_of_five_ballots_or_more_and_is_read_as_it_was_written(
    election: tuple[int, Rule, list[tuple[int, ...]]], groups: list[tuple[str | None, str]]
) -> None:
    n, rule, ballots = election
    cast = [CastBallot(at, *group, ballot) for at, (group, ballot) in enumerate(zip(groups, ballots, strict=False))]
    tally = Tally.of(cast, n, rule)
    assert Tally.from_json(tally.as_json()) == tally
    assert (tally.everyone is None) == (len(cast) < FEWEST)
    parts = [group for found in tally.groups.values() for group in found]
    assert all(part.count >= FEWEST for part in (*parts, *([tally.everyone] if tally.everyone else [])))
