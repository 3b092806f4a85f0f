"""Forms that said what was current already, so that they say nothing when they are sent once more later."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table; of forms before it nothing is known."""
    op.create_table(
        "repeats",
        sa.Column("appearance_id", sa.Integer, nullable=False),
        sa.Column("nonce", sa.String(32), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("appearance_id", "nonce", "version", name="pk_repeats"),
        sa.ForeignKeyConstraint(
            ["appearance_id"], ["appearances.id"], name="fk_repeats_appearance_id", ondelete="CASCADE"
        ),
    )
