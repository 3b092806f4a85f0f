"""To which arm participants were assigned, and by which turn."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """No study had arms before."""
    op.add_column("participants", sa.Column("arm", sa.String(100)))
    op.add_column("participants", sa.Column("arm_turn", sa.Integer))
