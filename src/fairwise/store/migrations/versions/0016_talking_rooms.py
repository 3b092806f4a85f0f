"""Rooms that talk: at which pair a room is, and what is being done with it."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """No room has begun to talk."""
    op.add_column("rooms", sa.Column("turn_pair", sa.Integer, nullable=False, server_default="0"))
    op.add_column("rooms", sa.Column("turn_step", sa.String(16), nullable=False, server_default="waiting"))
