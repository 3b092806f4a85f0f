"""Who comes, in which language, and what they are to the decision; rounds; pairs that are chosen on the way."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_STAGES = "stage IN ('relation', 'task', 'check', 'practice', 'pairs', 'second_look', 'finished', 'screened_out')"
_CAME_BY = "came_by IN ('open', 'personal', 'room', 'prolific', 'sona', 'mturk')"


def upgrade() -> None:
    """Add to what is there. On SQLite some tables are made anew, with foreign keys off (see migrate.py)."""
    op.create_table(
        "rooms",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("code", sa.String(16), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_rooms"),
        sa.UniqueConstraint("code", name="uq_rooms_code"),
    )
    op.create_table(
        "invitations",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("token_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.Column("withdrawn_on", sa.Date),
        sa.PrimaryKeyConstraint("id", name="pk_invitations"),
        sa.UniqueConstraint("token_hash", name="uq_invitations_token_hash"),
    )
    op.create_table(
        "answer_models",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("learned_from", sa.Integer, nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("parameters", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_answer_models"),
    )
    with op.batch_alter_table("participants") as table:
        # The naming convention had doubled the name.
        table.drop_constraint(op.f("ck_participants_ck_participants_stage"), type_="check")
        table.add_column(sa.Column("language", sa.String(16)))
        table.add_column(sa.Column("came_by", sa.String(16), nullable=False, server_default="open"))
        table.add_column(sa.Column("panel_id", sa.String(100)))
        table.add_column(sa.Column("panel_session", sa.String(100)))
        table.add_column(sa.Column("room_id", sa.Integer))
        table.add_column(sa.Column("relation", sa.String(100)))
        table.create_foreign_key("fk_participants_room_id", "rooms", ["room_id"], ["id"])
        table.create_unique_constraint("uq_participants_came_by_panel_id", ["came_by", "panel_id"])
        table.create_check_constraint(op.f("ck_participants_stage"), sa.text(_STAGES))
        table.create_check_constraint(op.f("ck_participants_came_by"), sa.text(_CAME_BY))
    with op.batch_alter_table("appearances") as table:
        table.add_column(sa.Column("answer_model_id", sa.Integer))
        table.add_column(sa.Column("answers_known", sa.Integer))
        table.create_foreign_key("fk_appearances_answer_model_id", "answer_models", ["answer_model_id"], ["id"])
    op.add_column("withdrawals", sa.Column("mark", sa.LargeBinary(32)))
    op.add_column("answers", sa.Column("round", sa.Integer, nullable=False, server_default="1"))
