"""First tables: participants, appearances, answers, closings, and what is about nobody."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_STAGES = "stage IN ('task', 'check', 'practice', 'pairs', 'finished')"
_ANSWERS = "answer IN ('same', 'a_at_least_b', 'b_at_least_a', 'no_constraint')"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "participants",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("token_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("consent_version", sa.String(16), nullable=False),
        sa.Column("consented_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stage", sa.String(16), nullable=False),
        sa.Column("check_tries", sa.Integer, nullable=False, server_default="0"),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_participants"),
        sa.UniqueConstraint("number", name="uq_participants_number"),
        sa.UniqueConstraint("token_hash", name="uq_participants_token_hash"),
        sa.CheckConstraint(_STAGES, name="ck_participants_stage"),
    )
    op.create_table(
        "appearances",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("participant_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("a", sa.Text, nullable=False),
        sa.Column("b", sa.Text, nullable=False),
        sa.Column("design", sa.String(32), nullable=False),
        sa.Column("selection_probability", sa.Float),
        sa.PrimaryKeyConstraint("id", name="pk_appearances"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participants.id"], name="fk_appearances_participant_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("key", name="uq_appearances_key"),
        sa.UniqueConstraint("participant_id", "position", name="uq_appearances_participant_id_position"),
    )
    op.create_table(
        "answers",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("appearance_id", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("nonce", sa.String(32), nullable=False),
        sa.Column("answer", sa.String(16), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("confidence", sa.Integer),
        sa.Column("seconds", sa.Float),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_answers"),
        sa.ForeignKeyConstraint(
            ["appearance_id"], ["appearances.id"], name="fk_answers_appearance_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("appearance_id", "version", name="uq_answers_appearance_id_version"),
        sa.UniqueConstraint("appearance_id", "nonce", name="uq_answers_appearance_id_nonce"),
        sa.CheckConstraint(_ANSWERS, name="ck_answers_answer"),
    )
    op.create_table(
        "closings",
        sa.Column("participant_id", sa.Integer, nullable=False),
        sa.Column("rules", sa.Text, nullable=False),
        sa.Column("expressible", sa.Text, nullable=False),
        sa.Column("comments", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("participant_id", name="pk_closings"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participants.id"], name="fk_closings_participant_id", ondelete="CASCADE"
        ),
    )
    counters = op.create_table(
        "counters",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("value", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_counters"),
    )
    op.bulk_insert(counters, [{"name": "participants", "value": 0}])
    op.create_table(
        "withdrawals",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_withdrawals"),
    )
    op.create_table(
        "study",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_study"),
        sa.CheckConstraint("id = 1", name="ck_study_one"),
    )
