"""Votes in a database: the tally is fixed when a vote ends, and shows nobody's ballot, then or after a withdrawal."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.someone import Someone

from fairwise.errors import InputError
from fairwise.store import erasure, votes
from fairwise.store.quotas import exclude
from fairwise.store.schema import ballots, jobs, participants
from fairwise.store.store import Store
from fairwise.study.deliberation import Rule
from fairwise.study.recruitment import Keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
OPTIONS = [votes.Option(eta, 0.4 - eta, 5, 2) for eta in (0.0, 0.1, 0.2)]


@pytest.fixture
def store(new_database: Callable[[], str | Path]) -> Iterator[Store]:
    opened = Store.open(new_database(), "study")
    yield opened
    opened.close()


def ended_vote(store: Store, cast: int, approved: tuple[int, ...] = (1,)) -> list[Someone]:
    """So many vote, the first of them for another option, and the vote ends."""
    people = [Someone(store) for _ in range(cast)]
    store.change_now(lambda c: c.execute(sa.update(participants).values(stage="finished")))
    job = {"made_at": NOW, "made_by": "Ada", "settings": "{}", "state": "done", "message": ""}
    number = store.change_now(lambda c: c.execute(sa.insert(jobs).returning(jobs.c.id), job).scalar_one())
    store.change_now(partial(votes.open_vote, job_id=number, rule=Rule.APPROVAL, options=OPTIONS, by="Ada", at=NOW))
    vote_id = last(store).id
    for place, one in enumerate(people):
        ballot = (2,) if place == 0 else approved
        store.change_now(partial(votes.cast, token_hash=one.token, vote_id=vote_id, ballot=ballot, at=NOW))
    store.change_now(partial(votes.close_vote, vote_id=vote_id, at=NOW))
    return people


def last(store: Store) -> votes.Vote:
    vote = store.read_now(votes.last_vote)
    assert vote is not None
    return vote


def left(store: Store) -> list[Any]:
    return list(store.read_now(lambda c: c.execute(sa.select(ballots.c.ballot)).scalars().all()))


@pytest.mark.parametrize("cast", [0, 1, 4])
def test_of_fewer_than_five_ballots_there_is_no_tally(store: Store, cast: int) -> None:
    ended_vote(store, cast)
    vote = last(store)
    assert vote.tally is not None
    assert (vote.tally.count, vote.tally.everyone, vote.tally.groups, vote.tally.winners) == (cast, None, {}, ())
    assert store.read_now(votes.shown_votes) == []
    for chosen in (None, 0, 1, 2):  # also what must be explained would tell who won
        with pytest.raises(InputError, match="Say why"):
            store.change_now(partial(votes.decide, vote_id=vote.id, chosen=chosen, why="", by="Ada", at=NOW))


@pytest.mark.parametrize("how", ["withdraws", "is erased", "is excluded"])
def test_the_tally_stays_and_the_difference_shows_nothing(store: Store, how: str) -> None:
    people = ended_vote(store, 6)
    before = last(store).tally
    assert before is not None
    assert before.everyone is not None
    assert before.everyone.scores == [0, 5, 1]
    if how == "withdraws":
        people[0].withdraw()
    elif how == "is erased":
        store.change_now(partial(erasure.erase, number=1, group_mark=Keys(bytes(32)).group_mark))
    else:
        store.change_now(partial(exclude, number=1, reason="r", by="Ada", at=NOW))
    assert last(store).tally == before
    assert len(left(store)) == (6 if how == "is excluded" else 0), "the tally minus five ballots would be the sixth"
    store.change_now(partial(votes.close_vote, vote_id=last(store).id, at=NOW))
    assert last(store).tally == before, "an ended vote does not end again"


def test_while_a_vote_is_open_only_ones_own_ballot_goes(store: Store) -> None:
    people = ended_vote(store, 6)
    store.change_now(partial(votes.open_vote, job_id=1, rule=Rule.APPROVAL, options=OPTIONS, by="Ada", at=NOW))
    for one in people[:3]:
        store.change_now(partial(votes.cast, token_hash=one.token, vote_id=2, ballot=(0,), at=NOW))
    people[0].withdraw()
    assert left(store) == ["0", "0"], "those of the first vote are gone, those of the second stay"
