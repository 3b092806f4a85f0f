"""A second round: which one the study is in, its list of pairs, and which reasons others may read."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Every study is in its first round."""
    op.add_column("study", sa.Column("round", sa.Integer, nullable=False, server_default="1"))
    op.add_column("study", sa.Column("round_over", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("study", sa.Column("round_changed_at", sa.DateTime(timezone=True)))
    op.create_index("ix_appearances_a_b", "appearances", ["a", "b"])
    op.create_table(
        "round_pairs",
        sa.Column("rank", sa.Integer, nullable=False),
        sa.Column("a", sa.Text, nullable=False),
        sa.Column("b", sa.Text, nullable=False),
        sa.Column("reason", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("rank", name="pk_round_pairs"),
        sa.UniqueConstraint("a", "b", name="uq_round_pairs_a_b"),
        sa.CheckConstraint("reason IN ('disputed', 'expensive')", name="ck_round_pairs_reason"),
    )
    op.create_table(
        "reasons",
        sa.Column("answer_id", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.Column("decided_by", sa.String(100)),
        sa.Column("reported_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("answer_id", name="pk_reasons"),
        sa.ForeignKeyConstraint(["answer_id"], ["answers.id"], name="fk_reasons_answer_id_answers", ondelete="CASCADE"),
        sa.CheckConstraint("state IN ('released', 'hidden')", name="ck_reasons_state"),
    )
