"""What the panel chose, put into the report of the model that was voted on whenever somebody reads it.

A vote comes after the report was written, ballots go with who withdraws, and a decision may change: so none of it is
kept in the file.
"""

from __future__ import annotations

from functools import cache, partial

from sqlalchemy import Connection

from fairwise.store.votes import FEWEST, MOST_OPTIONS, Vote, cast_ballots, ended_vote
from fairwise.study.tally import Ballot, scores, winners
from fairwise.web.console.rendering import Rendering
from fairwise.web.console.votes import RULES
from fairwise.web.shared.host import Host
from fairwise.web.shared.vote_views import letter_of

_END = "</main>"


def with_vote(html: str, host: Host, job_id: int, language: str) -> str:
    """The report with a last section about the vote that has ended; as it is if there is none."""
    place, voted = html.rfind(_END), host.store.read_now(partial(_voted, job_id=job_id))
    if voted is None or place < 0:
        return html
    vote, ballots = voted
    told = len(ballots) >= FEWEST
    section = _rendering().page(
        "report_vote",
        language,
        vote=vote,
        rule=RULES[vote.rule],
        letters=[letter_of(at) for at in range(MOST_OPTIONS)],
        count=len(ballots),
        scores=scores(ballots, len(vote.options), vote.rule) if told else None,
        winners=winners(ballots, len(vote.options), vote.rule) if told else (),
    )
    return html[:place] + section + html[place:]


def _voted(connection: Connection, job_id: int) -> tuple[Vote, list[Ballot]] | None:
    vote = ended_vote(connection, job_id)
    return None if vote is None else (vote, [one.ballot for one in cast_ballots(connection, vote.id)])


@cache
def _rendering() -> Rendering:
    """Of sections without links."""
    return Rendering("")
