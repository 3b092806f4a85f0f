"""Votes on which of a fit's trade-offs to use: opened by an operator, cast by participants who finished."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa

from fairwise.errors import InputError
from fairwise.results.fits import FrontierPoint
from fairwise.store.errors import NotYet, Unknown
from fairwise.store.quotas import IS_EXCLUDED
from fairwise.store.schema import AnyRow, ballots, participants, votes
from fairwise.study.deliberation import Ballot, CastBallot, Rule, Tally, is_ballot
from fairwise.study.settings import Stage

LEAST_OPTIONS, MOST_OPTIONS = 3, 5

_ONE_IS_OPEN = "A vote is open already. End it before you open another."


@dataclass(frozen=True)
class Option:
    """A model that can be chosen, in numbers about everyone together."""

    eta: float
    error: float
    followed: int
    not_followed: int

    @classmethod
    def of(cls, point: FrontierPoint) -> Option:
        """Return a point of a frontier as an option."""
        return cls(point.eta, point.error, point.followed, point.not_followed)


@dataclass(frozen=True)
class Vote:
    """A vote and its outcome."""

    id: int
    job_id: int
    rule: Rule
    options: tuple[Option, ...]
    opened_at: datetime
    closed_at: datetime | None
    chosen: int | None
    """Option that the operator adopted; None where nothing was decided, or none is adopted."""

    why: str
    decided_at: datetime | None
    tally: Tally | None
    """Tally, fixed when the vote ended: later withdrawals and exclusions do not change it."""

    @property
    def is_open(self) -> bool:
        return self.closed_at is None


def last_vote(connection: sa.Connection) -> Vote | None:
    """Return the vote that was opened last, open or not."""
    row = connection.execute(sa.select(votes).order_by(votes.c.id.desc()).limit(1)).one_or_none()
    return None if row is None else _vote(row)


def ended_vote(connection: sa.Connection, job_id: int) -> Vote | None:
    """Return the last vote on a fit that has ended; None where there is none."""
    of_fit = sa.select(votes).where(votes.c.job_id == job_id, votes.c.closed_at.is_not(None))
    row = connection.execute(of_fit.order_by(votes.c.id.desc()).limit(1)).one_or_none()
    return None if row is None else _vote(row)


def _vote(row: AnyRow) -> Vote:
    options = tuple(Option(**one) for one in json.loads(row.options))
    columns = {
        name: getattr(row, name) for name in ("id", "job_id", "opened_at", "closed_at", "chosen", "why", "decided_at")
    }
    return Vote(rule=Rule(row.rule), options=options, tally=row.tally and Tally.from_json(row.tally), **columns)


def open_vote(
    connection: sa.Connection, job_id: int, rule: Rule, options: Sequence[Option], *, by: str, at: datetime
) -> None:
    """Open a vote among some options; an InputError says why not."""
    last = last_vote(connection)
    if last is not None and last.is_open:
        raise InputError(_ONE_IS_OPEN)
    if not LEAST_OPTIONS <= len(options) <= MOST_OPTIONS or len(set(options)) < len(options):
        raise InputError("Choose three to five points that differ.")
    row = {"job_id": job_id, "rule": rule, "options": json.dumps([asdict(one) for one in options]), "why": ""}
    connection.execute(sa.insert(votes), {**row, "opened_at": at, "opened_by": by})


def close_vote(connection: sa.Connection, vote_id: int, *, at: datetime) -> None:
    """End a vote and fix its tally: no ballot is taken, changed or counted again."""
    mine = votes.c.id == vote_id
    ended = sa.update(votes).where(mine, votes.c.closed_at.is_(None)).values(closed_at=at)
    row = connection.execute(ended.returning(votes.c.options, votes.c.rule)).one_or_none()
    if row is not None:
        tally = Tally.of(cast_ballots(connection, vote_id), len(json.loads(row.options)), Rule(row.rule))
        connection.execute(sa.update(votes).where(mine).values(tally=tally.as_json()))


def decide(connection: sa.Connection, vote_id: int, chosen: int | None, why: str, *, by: str, at: datetime) -> None:
    """Adopt an option, or none; a decision against the panel needs a reason."""
    row = connection.execute(sa.select(votes).where(votes.c.id == vote_id)).one_or_none()
    if row is None:
        raise Unknown
    vote = _vote(row)
    if vote.tally is None or (chosen is not None and not 0 <= chosen < len(vote.options)):
        raise NotYet
    if chosen not in vote.tally.winners and not why:
        raise InputError("Say why you decide otherwise than the panel.")
    decision = {"chosen": chosen, "why": why, "decided_at": at, "decided_by": by}
    connection.execute(sa.update(votes).where(votes.c.id == vote_id).values(decision))


def cast(connection: sa.Connection, token_hash: bytes, vote_id: int, ballot: Ballot, *, at: datetime) -> None:
    """Cast or replace the ballot of a participant who finished, while the vote is open."""
    connection.execute(
        sa.select(votes.c.id).where(votes.c.id == vote_id).with_for_update(read=True)
    )  # until the commit
    vote = last_vote(connection)
    whose = sa.select(participants.c.id, participants.c.stage).where(participants.c.token_hash == token_hash)
    who = connection.execute(whose.with_for_update()).one_or_none()
    if who is None:
        raise Unknown
    if vote is None or vote.id != vote_id or not vote.is_open or who.stage != Stage.FINISHED:
        raise NotYet
    if not is_ballot(ballot, len(vote.options), vote.rule):
        raise NotYet
    mine = (ballots.c.vote_id == vote_id) & (ballots.c.participant_id == who.id)
    connection.execute(sa.delete(ballots).where(mine))
    row = {"vote_id": vote_id, "participant_id": who.id, "ballot": ",".join(map(str, ballot)), "cast_at": at}
    connection.execute(sa.insert(ballots), row)


def has_voted(connection: sa.Connection, token_hash: bytes) -> bool:
    """Return whether a participant has a ballot in any vote."""
    theirs = sa.select(ballots.c.vote_id).join(participants).where(participants.c.token_hash == token_hash)
    return connection.execute(theirs.limit(1)).first() is not None


def own_ballot(connection: sa.Connection, token_hash: bytes, vote_id: int) -> Ballot | None:
    """Return a participant's ballot; None if they have none."""
    query = sa.select(ballots.c.ballot).join(participants).where(participants.c.token_hash == token_hash)
    found = connection.execute(query.where(ballots.c.vote_id == vote_id)).scalar_one_or_none()
    return None if found is None else _options(found)


def _options(text: str) -> Ballot:
    return tuple(int(option) for option in text.split(",") if option)


def shown_votes(connection: sa.Connection) -> list[int]:
    """Return ids of votes whose tally is shown; single ballots of others are not given out either."""
    ended = connection.execute(sa.select(votes.c.id, votes.c.tally).where(votes.c.tally.is_not(None)))
    return [vote_id for vote_id, tally in ended if Tally.from_json(tally).everyone is not None]


def cast_ballots(connection: sa.Connection, vote_id: int) -> list[CastBallot]:
    """Return the ballots that count, of everyone who is not excluded."""
    query = (
        sa.select(participants.c.number, participants.c.relation, participants.c.arm, ballots.c.ballot)
        .join(ballots, ballots.c.participant_id == participants.c.id)
        .where(ballots.c.vote_id == vote_id, ~IS_EXCLUDED)
        .order_by(participants.c.number)
    )
    return [
        CastBallot(number, relation, arm, _options(text)) for number, relation, arm, text in connection.execute(query)
    ]
