"""Ids of a panel that may come, and ids that several say they have."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """On SQLite the table of participants is made anew, with foreign keys off (see migrate.py)."""
    with op.batch_alter_table("participants") as table:
        table.drop_constraint("uq_participants_came_by_panel_id", type_="unique")
        table.add_column(sa.Column("panel_signed", sa.Boolean, nullable=False, server_default=sa.false()))
        table.create_index("ix_participants_came_by_panel_id", ["came_by", "panel_id"])
    op.create_table(
        "panel_ids",
        sa.Column("mark", sa.LargeBinary(32), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("mark", name="pk_panel_ids"),
    )
