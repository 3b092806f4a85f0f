"""Votes in a bundle: those that have ended, with every ballot, and refused where a ballot cannot be counted."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.changed_bundles import changed, contents, in_table, put
from tests.support.someone import Someone
from tests.support.visits import hidden, visiting

from fairwise.archive.bundle import BALLOTS, PARTICIPANTS, VOTES, read_bundle, write_bundle
from fairwise.archive.bundle import tables as bundle_tables
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.store import votes
from fairwise.store.schema import jobs, participants
from fairwise.store.store import Store
from fairwise.study.deliberation import Rule, Tally
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = [votes.Option(eta, 0.4 - eta, 5, 2) for eta in (0.0, 0.1, 0.2)]
RANKED = [(2, 0, 1), (0, 1, 2), (2, 1, 0), (2, 0, 1), (2, 1, 0)]


@pytest.fixture(scope="module")
def bundle(make_study: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five people finished and voted; a second vote is open. A sixth began, and may not vote."""
    home = tmp_path_factory.mktemp("votes")
    study, now = make_study(pairs=2), datetime.now(UTC)
    with visiting(study, home / "study.sqlite") as visit:
        for place in range(6):
            visit.client.cookies.clear()
            mine = visit.begin()
            if place < 5:
                for number in (1, 2):
                    visit.answer(mine, number)
                visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="")
        store = visit.store
        job = {"id": 1, "made_at": now, "made_by": "Ada", "settings": "{}", "state": "done", "message": ""}
        store.change_now(lambda c: c.execute(sa.insert(jobs), job))
        everyone = sa.select(participants.c.token_hash).order_by(participants.c.number)
        hashes = store.read_now(lambda c: c.execute(everyone).scalars().all())
        for vote, rule in enumerate((Rule.BORDA, Rule.APPROVAL), start=1):
            store.change_now(
                partial(votes.open_vote, job_id=1, rule=rule, options=OPTIONS, by="Ada", at=datetime.now(UTC))
            )
            for token_hash, ballot in zip(hashes[:5], RANKED, strict=True):
                store.change_now(
                    partial(votes.cast, token_hash=token_hash, vote_id=vote, ballot=ballot, at=datetime.now(UTC))
                )
            if vote == 1:
                store.change_now(partial(votes.close_vote, vote_id=1, at=datetime.now(UTC)))
                decided: dict[str, Any] = {
                    "chosen": 0,
                    "why": "=the law",
                    "by": "Ada",
                    "at": datetime.now(UTC),
                }
                store.change_now(partial(votes.decide, vote_id=1, **decided))
        store.read_now(lambda connection: write_bundle(home / "study.zip", study, connection))
        store.read_now(lambda connection: write_bundle(home / "coarse.zip", study, connection, coarse=True))
    return home / "study.zip"


def test_ended_votes_are_in_it_with_their_ballots_and_open_ones_are_not(bundle: Path, tmp_path: Path) -> None:
    assert verify_bundle(bundle).ballots == verify_bundle(bundle.with_name("coarse.zip")).ballots == 5
    found = read_bundle(bundle)
    (vote,) = found.rows(VOTES)
    assert (vote["vote"], vote["rule"], vote["chosen"], vote["why"]) == ("1", "borda", "0", "=the law")
    assert [row["ballot"] for row in found.rows(BALLOTS)] == [",".join(map(str, ballot)) for ballot in RANKED]
    assert "Ada" not in "".join(file.decode(errors="replace") for file in contents(found).values())
    assert [row["why"] for row in read_bundle(bundle.with_name("coarse.zip")).rows(VOTES)] == [""]
    assert reopen_bundle(bundle, tmp_path / "again", tmp_path / "study.sqlite").ballots == 5


@pytest.mark.parametrize(
    ("table", "column", "value", "problem"),
    [
        (BALLOTS, "ballot", "2,0,0", "which the rule of vote 1 cannot count"),
        (BALLOTS, "ballot", "2,0", "which the rule of vote 1 cannot count"),
        (BALLOTS, "ballot", "2,0,x", "which the rule of vote 1 cannot count"),
        (BALLOTS, "vote", "2", "of vote 2, which is not in votes.csv"),
        (BALLOTS, "number", "6", "has finished, and only those can vote"),
        (BALLOTS, "number", "2", "is there twice"),
        (PARTICIPANTS, "stage", "pairs", "participant 1"),
        (VOTES, "rule", "loudest", "allowed: approval, borda, condorcet"),
        (VOTES, "chosen", "3", "allowed: 0 to 2"),
        (VOTES, "decided_at", "", "not said when"),
        (VOTES, "options", "[]", "its options cannot be read"),
        (VOTES, "options", '[{"eta": "0"}]', "its options cannot be read"),
        (VOTES, "options", "{", "its options cannot be read"),
        (VOTES, "tally", "{", "its tally cannot be read"),
        (VOTES, "tally", '{"count": 1}', "its tally cannot be read"),
        (VOTES, "tally", Tally(4).as_json(), "its tally is not that of its 5 ballots"),
        (BALLOTS, "ballot", "0,2,1", "its tally is not that of its 5 ballots"),
    ],
)
def test_what_cannot_be_is_refused(bundle: Path, table: str, column: str, value: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        verify_bundle(changed(bundle, in_table(table, put(0, column, value)), forge=True))


def test_of_few_ballots_there_are_none_in_a_bundle(make_study: Any, tmp_path: Path) -> None:
    """Nor after somebody who voted withdrew, where the tally stays."""
    study, now = make_study(pairs=2), datetime.now(UTC)
    store = Store.open(tmp_path / "study.sqlite", study.fingerprint)
    people = [Someone(store, stage=Stage.FINISHED) for _ in range(5)]
    job = {"id": 1, "made_at": now, "made_by": "Ada", "settings": "{}", "state": "done", "message": ""}
    store.change_now(lambda c: c.execute(sa.insert(jobs), job))
    for vote, voters in enumerate((people[:4], people), start=1):
        store.change_now(partial(votes.open_vote, job_id=1, rule=Rule.BORDA, options=OPTIONS, by="Ada", at=now))
        for one in voters:
            store.change_now(partial(votes.cast, token_hash=one.token, vote_id=vote, ballot=(2, 0, 1), at=now))
        store.change_now(partial(votes.close_vote, vote_id=vote, at=now))
    tables = store.read_now(bundle_tables)
    assert set(tables[BALLOTS]["vote"]) == {"2"}
    tallies = [Tally.from_json(text) for text in tables[VOTES]["tally"]]
    assert [(tally.count, tally.everyone is None) for tally in tallies] == [(4, True), (5, False)]
    people[0].withdraw()
    tables = store.read_now(bundle_tables)
    assert [Tally.from_json(text) for text in tables[VOTES]["tally"]] == tallies
    assert tables[BALLOTS].empty
    store.close()
