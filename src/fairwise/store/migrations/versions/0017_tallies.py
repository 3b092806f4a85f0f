"""Fix the tallies of votes that have ended, and take ids of answers out of the audit log."""

import json

import sqlalchemy as sa
from alembic import op

from fairwise.study.deliberation import CastBallot, Rule, Tally

revision = "0017"
down_revision = "0016"

_BALLOTS = sa.text(
    "SELECT p.number, p.relation, p.arm, b.ballot FROM ballots b JOIN participants p ON p.id = b.participant_id"
    " WHERE b.vote_id = :vote AND NOT EXISTS"
    " (SELECT 1 FROM exclusions e WHERE e.participant_id = p.id AND e.included_at IS NULL) ORDER BY p.number"
)


def upgrade() -> None:
    """Count the ballots of ended votes once, as of now."""
    op.add_column("votes", sa.Column("tally", sa.Text))
    connection = op.get_bind()
    ended = sa.text("SELECT id, rule, options FROM votes WHERE closed_at IS NOT NULL")
    for vote_id, rule, options in connection.execute(ended).all():
        cast = [
            CastBallot(number, relation, arm, tuple(int(option) for option in ballot.split(",") if option))
            for number, relation, arm, ballot in connection.execute(_BALLOTS, {"vote": vote_id})
        ]
        tally = Tally.of(cast, len(json.loads(options)), Rule(rule)).as_json()
        connection.execute(sa.text("UPDATE votes SET tally = :tally WHERE id = :id"), {"tally": tally, "id": vote_id})
    # An answer's id tells who wrote a reason. Which reason it was about can no longer be looked up on any page.
    connection.execute(sa.text("UPDATE events SET about = '' WHERE action LIKE 'reason %' AND about LIKE 'reason %'"))
