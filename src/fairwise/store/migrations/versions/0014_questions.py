"""Questions of a study's own, and a stage at which they are asked."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_STAGES = (
    "stage IN ('relation', 'questions', 'task', 'check', 'practice', 'pairs', 'second_look', 'finished', "
    "'screened_out')"
)


def upgrade() -> None:
    """Make the table; nobody was asked before. On SQLite the table of participants is made anew."""
    with op.batch_alter_table("participants") as table:
        table.drop_constraint(op.f("ck_participants_stage"), type_="check")
        table.create_check_constraint(op.f("ck_participants_stage"), sa.text(_STAGES))
    op.create_table(
        "question_answers",
        sa.Column("participant_id", sa.Integer, nullable=False),
        sa.Column("question", sa.String(40), nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("written", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("participant_id", "question", name="pk_question_answers"),
        sa.ForeignKeyConstraint(
            ["participant_id"],
            ["participants.id"],
            name="fk_question_answers_participant_id_participants",
            ondelete="CASCADE",
        ),
    )
