"""Read-only links to reports, each of which can be revoked."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Make the table; there are no links yet."""
    op.create_table(
        "report_links",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("token_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("job_id", sa.Integer, nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("made_by", sa.String(100), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_report_links"),
        sa.UniqueConstraint("token_hash", name="uq_report_links_token_hash"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_report_links_job_id_jobs", ondelete="CASCADE"),
    )
    op.create_index("ix_report_links_job_id", "report_links", ["job_id"])
