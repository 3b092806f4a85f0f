"""Simulated people vote by every rule, once each, and only where there is a vote."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
import sqlalchemy as sa
from tests.support.served import listening
from tests.support.two_rounds import beside, play_first_round, two_armed_study

from fairwise.bots.browser import checked_address
from fairwise.bots.participant import preferred, vote
from fairwise.errors import InputError
from fairwise.store import votes
from fairwise.store.schema import jobs
from fairwise.study.deliberation import Rule, condorcet_winner, is_ballot
from fairwise.web.app import Site

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = [votes.Option(eta, 0.4 - eta, 5, 2) for eta in (0.0, 0.1, 0.2, 0.3)]


def test_each_votes_once_by_every_rule_and_may_choose_anew(tmp_path: Path) -> None:
    study, now = two_armed_study(tmp_path), datetime.now(UTC)
    site = Site(study.path, tmp_path / "study.sqlite")
    with listening(site) as address:
        links, url, store = play_first_round(study, address, 5).links, checked_address(address), site.host.store
        with pytest.raises(InputError, match="nobody is asked to vote"):
            beside(vote(url, links))
        job = {"id": 1, "made_at": now, "made_by": "Ada", "settings": "{}", "state": "done", "message": ""}
        store.change_now(lambda c: c.execute(sa.insert(jobs), job))
        for number, rule in enumerate(Rule, start=1):
            store.change_now(partial(votes.open_vote, job_id=1, rule=rule, options=OPTIONS, by="Ada", at=now))
            assert beside(vote(url, links)).voted == 5
            assert beside(vote(url, links, seed=1)).voted == 5
            cast = [one.ballot for one in store.read_now(partial(votes.cast_ballots, vote_id=number))]
            assert len(cast) == 5
            assert all(is_ballot(ballot, len(OPTIONS), rule) for ballot in cast)
            assert all(cast)
            store.change_now(partial(votes.close_vote, vote_id=number, at=now))


def test_preferences_have_one_peak() -> None:
    luck = np.random.default_rng(0)
    for _ in range(50):
        ballots = [tuple(preferred(5, luck)) for _ in range(7)]
        assert condorcet_winner(ballots, 5) is not None
        assert all(abs(ballot[0] - one) >= abs(ballot[0] - two) for ballot in ballots for two, one in [ballot[1:3]])
