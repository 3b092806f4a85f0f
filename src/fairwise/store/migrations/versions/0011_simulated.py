"""Which participants are simulated."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Nobody was known to be so before: what a study was simulated as a whole, its settings say."""
    op.add_column("participants", sa.Column("simulated", sa.Boolean, nullable=False, server_default=sa.false()))
