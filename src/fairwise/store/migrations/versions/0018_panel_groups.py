"""Arms of those whom a panel sent, by keyed hashes of their ids."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Create the table. It starts empty: keyed hashes need the study's secret, which is not in the database."""
    op.create_table(
        "panel_groups",
        sa.Column("mark", sa.LargeBinary(32), nullable=False),
        sa.Column("arm", sa.String(100), nullable=False),
        sa.PrimaryKeyConstraint("mark", name="pk_panel_groups"),
    )
    op.add_column("participants", sa.Column("arm_kept", sa.Boolean, nullable=False, server_default=sa.false()))
