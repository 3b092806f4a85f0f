"""Whose answers a fit is made from, so that it is made again when one of them withdraws; how often it was begun."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Of earlier fits it is not known whose answers they have: everyone's who had answered by now."""
    for name in ("attempts", "restarts"):
        op.add_column("jobs", sa.Column(name, sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "job_participants",
        sa.Column("job_id", sa.Integer, nullable=False),
        sa.Column("participant_id", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "participant_id", name="pk_job_participants"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_job_participants_job_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participants.id"], name="fk_job_participants_participant_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_job_participants_participant_id", "job_participants", ["participant_id"])
    op.execute(
        "INSERT INTO job_participants (job_id, participant_id) "
        "SELECT jobs.id, participants.id FROM jobs CROSS JOIN participants "
        "WHERE jobs.started_at IS NOT NULL AND jobs.state IN ('waiting', 'running', 'done') AND EXISTS ("
        "SELECT 1 FROM appearances JOIN answers ON answers.appearance_id = appearances.id "
        "WHERE appearances.participant_id = participants.id)"
    )
    # Version 0.1 left the numbers of those who withdrew in the trail.
    op.execute(
        "UPDATE events SET about = '' WHERE about LIKE 'participant %' "
        "AND about NOT IN (SELECT 'participant ' || CAST(number AS TEXT) FROM participants)"
    )
