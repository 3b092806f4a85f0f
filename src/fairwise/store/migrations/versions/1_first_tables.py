"""Create the tables of the first release.

They are those of ``schema.py`` as long as this is the only version. Whoever adds version 2 first writes the tables out
here, as they are before the change; a test compares their fingerprint and says so.
"""  # noqa: INP001 - Alembic loads this file by its path

import secrets

from alembic import op

from fairwise.store.schema import counters, database_identity, metadata

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create the tables, and give this database its own number."""
    metadata.create_all(op.get_bind())
    op.bulk_insert(counters, [{"name": "participants", "value": 0}])
    op.bulk_insert(database_identity, [{"id": 1, "value": secrets.token_hex(16), "checks": 0}])
