"""The operator's console: accounts and sessions, the state of the study, exclusions, jobs, and what was done."""

from datetime import datetime

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_STATES = "state IN ('open', 'paused', 'closed')"
_ROLES = "role IN ('owner', 'viewer')"
_JOB_STATES = "state IN ('waiting', 'running', 'done', 'failed', 'cancelled')"


def _moment(name: str, *, nullable: bool = True) -> sa.Column[datetime]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def upgrade() -> None:
    """Make the tables; a study that is there stays open."""
    op.create_table(
        "operators",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("password_hash", sa.Text, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        _moment("made_at", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_operators"),
        sa.UniqueConstraint("name", name="uq_operators_name"),
        sa.CheckConstraint(_ROLES, name=op.f("ck_operators_role")),
    )
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("operator_id", sa.Integer, nullable=False),
        _moment("begun_at", nullable=False),
        _moment("used_at", nullable=False),
        sa.PrimaryKeyConstraint("token_hash", name="pk_sessions"),
        sa.ForeignKeyConstraint(["operator_id"], ["operators.id"], name="fk_sessions_operator_id", ondelete="CASCADE"),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, nullable=False),
        _moment("at", nullable=False),
        sa.Column("operator", sa.String(100), nullable=False),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
    )
    op.create_table(
        "exclusions",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("participant_id", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        _moment("excluded_at", nullable=False),
        sa.Column("excluded_by", sa.String(100), nullable=False),
        _moment("included_at"),
        sa.Column("included_by", sa.String(100)),
        sa.PrimaryKeyConstraint("id", name="pk_exclusions"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participants.id"], name="fk_exclusions_participant_id", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer, nullable=False),
        _moment("made_at", nullable=False),
        sa.Column("made_by", sa.String(100), nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("progress", sa.Float, nullable=False, server_default="0"),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("cancel_wanted", sa.Boolean, nullable=False, server_default=sa.false()),
        _moment("started_at"),
        _moment("alive_at"),
        _moment("ended_at"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sa.CheckConstraint(_JOB_STATES, name=op.f("ck_jobs_state")),
    )
    with op.batch_alter_table("study") as table:
        table.add_column(sa.Column("state", sa.String(16), nullable=False, server_default="open"))
        table.add_column(sa.Column("chosen_job_id", sa.Integer))
        table.add_column(sa.Column("result_shown", sa.Boolean, nullable=False, server_default=sa.false()))
        table.create_foreign_key("fk_study_chosen_job_id", "jobs", ["chosen_job_id"], ["id"])
        table.create_check_constraint(op.f("ck_study_state"), sa.text(_STATES))
