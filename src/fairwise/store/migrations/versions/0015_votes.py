"""Votes on which of a fit's trade-offs to use, and the ballots of those who finished."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Make the tables; there was no vote yet."""
    op.create_table(
        "votes",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("job_id", sa.Integer, nullable=False),
        sa.Column("rule", sa.String(16), nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("opened_by", sa.String(100), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True)),
        sa.Column("chosen", sa.Integer),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.Column("decided_by", sa.String(100)),
        sa.PrimaryKeyConstraint("id", name="pk_votes"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_votes_job_id_jobs"),
        sa.CheckConstraint("rule IN ('approval', 'borda', 'condorcet')", name="ck_votes_rule"),
    )
    op.create_table(
        "ballots",
        sa.Column("vote_id", sa.Integer, nullable=False),
        sa.Column("participant_id", sa.Integer, nullable=False),
        sa.Column("ballot", sa.String(40), nullable=False),
        sa.Column("cast_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("vote_id", "participant_id", name="pk_ballots"),
        sa.ForeignKeyConstraint(["vote_id"], ["votes.id"], name="fk_ballots_vote_id_votes", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participants.id"], name="fk_ballots_participant_id_participants", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_ballots_participant_id", "ballots", ["participant_id"])
