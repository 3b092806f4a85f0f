"""Slots: which anchors a participant is shown."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Give everyone who is there a slot of their own.

    The column is added and nothing is copied: on SQLite a table that is made anew takes with it, by way of its foreign
    keys, all that was ever answered.
    """
    op.add_column("participants", sa.Column("slot", sa.Integer, nullable=False, server_default="0"))
    op.execute("UPDATE participants SET slot = number - 1")
