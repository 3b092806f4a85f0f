"""The tables. What an answer means is decided elsewhere; here is only what is kept, and what can never be kept twice.

::

    participants  1 -- n  appearances  1 -- n  answers (versions; the largest is current)
    participants  1 -- 1  closings
    counters, withdrawals: numbers, about nobody
"""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from fairwise.judgments import Answer

STAGES = ("task", "check", "practice", "pairs", "finished")

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


participants = Table(
    "participants",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("number", Integer, nullable=False, unique=True),  # decides which pairs they are shown; never used again
    Column("slot", Integer, nullable=False, server_default="0"),  # decides which anchors; given again, see slots.py
    Column("token_hash", LargeBinary(32), nullable=False, unique=True),
    Column("consent_version", String(16), nullable=False),
    Column("consented_at", DateTime(timezone=True), nullable=False),
    Column("stage", String(16), nullable=False),
    Column("check_tries", Integer, nullable=False, server_default="0"),
    Column("finished_at", DateTime(timezone=True)),
    _one_of("stage", STAGES),
)

appearances = Table(
    "appearances",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("key", String(32), nullable=False, unique=True),
    Column("a", Text, nullable=False),
    Column("b", Text, nullable=False),
    Column("design", String(32), nullable=False),
    Column("selection_probability", Float),
    UniqueConstraint("participant_id", "position"),
)

answers = Table(
    "answers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("appearance_id", ForeignKey("appearances.id", ondelete="CASCADE"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("nonce", String(32), nullable=False),
    Column("answer", String(16), nullable=False),
    Column("why", Text, nullable=False),
    Column("confidence", Integer),
    Column("seconds", Float),
    Column("answered_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint("appearance_id", "version"),
    UniqueConstraint("appearance_id", "nonce"),
    _one_of("answer", tuple(str(answer) for answer in Answer)),
)

closings = Table(
    "closings",
    metadata,
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), primary_key=True),
    Column("rules", Text, nullable=False),
    Column("expressible", Text, nullable=False),
    Column("comments", Text, nullable=False),
)

counters = Table(
    "counters",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", Integer, nullable=False),
)

withdrawals = Table(
    "withdrawals",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("day", Date, nullable=False),
)

study = Table(
    "study",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    CheckConstraint("id = 1", name="one"),
)
