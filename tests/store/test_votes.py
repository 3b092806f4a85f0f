"""Groups of voters: none is told apart that is small, and none follows from what is told of the others."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fairwise.store.votes import CastBallot, grouped

VOTERS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.permutations(range(3)).map(tuple)))


@given(VOTERS)
def test_no_group_is_small_and_none_follows_from_the_others(voters: list[tuple[str | None, tuple[int, ...]]]) -> None:
    cast = [CastBallot(number, group, None, ballot) for number, (group, ballot) in enumerate(voters)]
    found = grouped(cast, "relation")
    assert all(len(ballots) >= 5 for ballots in found.values())
    everyone = Counter(one.ballot for one in cast)
    told = Counter(ballot for ballots in found.values() for ballot in ballots)
    assert told == everyone or not found, "whoever is not told of apart is among the others, so that nothing is left"
    for name, ballots in found.items():
        if name is not None:
            assert Counter(ballots) == Counter(one.ballot for one in cast if one.relation == name)


def test_without_groups_there_is_nothing_to_tell() -> None:
    cast = [CastBallot(number, None, None, (0,)) for number in range(9)]
    assert grouped(cast, "relation") == {}
    assert grouped([one._replace(arm="x") for one in cast], "arm") == {"x": [(0,)] * 9}
