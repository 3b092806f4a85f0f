"""Which database this is, so that a study's folder can tell its own from every other."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the table, and give this database its number."""
    table = op.create_table(
        "database_identity",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("value", sa.String(32), nullable=False),
        sa.Column("checks", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_database_identity"),
        sa.CheckConstraint("id = 1", name="ck_database_identity_one"),
    )
    op.bulk_insert(table, [{"id": 1, "value": secrets.token_hex(16), "checks": 0}])
