"""Define the tables, and how each column travels in bundles and backups.

::

    participants  1 -- n  appearances  1 -- n  answers (versions; the largest is current)
    appearances   1 -- n  repeats (forms that repeated what a version says)
    answers       1 -- 1  reasons (whether others may read the reason)
    round_pairs: pairs of the second round
    participants  1 -- 1  closings
    participants  1 -- n  question_answers (to the study's own questions)
    rooms         1 -- n  participants
    answer_models 1 -- n  appearances (active pairs chosen by it)
    invitations: personal links; whoever began by one has its token
    participants  1 -- n  exclusions (those without an end are in force)
    operators     1 -- n  sessions
    jobs: fits, run outside of the web app; study: its state, and which fit was chosen
    jobs          n -- n  participants, by job_participants: whose answers a fit is made from
    jobs          1 -- n  report_links: read-only links to a fit's report, as hashes
    jobs          1 -- n  votes on which point of a fit's frontier to use; those are 1 -- n  ballots of participants
    events: audit log of operators
    consent_texts: texts that participants agreed to, as they were
    panel_ids: ids of a panel that may begin, as keyed hashes; without any, all may
    panel_groups: arms of participants from a panel, by keyed hashes of their ids, until the study is closed
    counters, withdrawals: numbers about nobody
    database_identity: which database this is, and how often a write was tried

``info`` of a table: ``file`` is its name in bundles, and ``unique`` names the columns of that file that identify a row,
the first of them in references too; ``reopened=False`` marks tables that a reopened bundle leaves empty, and
``backup=False`` those that are in no backup. ``info`` of a column: ``bundle`` names the columns of the file that it
becomes. A column without it is in no bundle. A reference becomes the key of the row that it refers to, and an ``id``
becomes a number without gaps. ``words`` are written by people: no spreadsheet finds a formula in them, and coarse
bundles leave them out; ``options`` are an operator's words that coarse bundles keep. ``one_of`` and ``least`` limit the
values; ``reopened`` is the value in a reopened bundle of a column that is in none.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.types import TypeDecorator

from fairwise.judgments import Answer
from fairwise.study.deliberation import Chosen, Rule
from fairwise.study.recruitment import Keys
from fairwise.study.settings import Stage, StudyState

AnyColumn: TypeAlias = Column[Any]
Query: TypeAlias = Select[*tuple[Any, ...]]
AnyRow: TypeAlias = Row[*tuple[Any, ...]]
"""Row of a query of several tables, whose column types are not known."""

ROLES = ("owner", "viewer")
JOB_STATES = ("waiting", "running", "done", "failed", "cancelled")
REASON_STATES = ("released", "hidden")
CAME_BY = ("open", "personal", "room", "prolific", "sona", "mturk")


class Moment(TypeDecorator[datetime]):
    """Time that is read in UTC. SQLite forgets the time zone, and PostgreSQL has one of its own."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @property
    def python_type(self) -> type[datetime]:
        return datetime

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _bundled(*names: str, **info: Any) -> dict[str, Any]:
    """Return the ``info`` of a column that becomes these columns of its table's file."""
    return {"bundle": names, **info}


def _reopened(value: Callable[[], object]) -> dict[str, Any]:
    """Return the ``info`` of a column that is in no bundle, and gets this value when one is reopened."""
    return {"reopened": value}


def _participant_id(**options: Any) -> AnyColumn:
    foreign_key = ForeignKey("participants.id", ondelete="CASCADE")
    return Column("participant_id", foreign_key, nullable=False, info=_bundled("number"), **options)


participants = Table(
    "participants",
    metadata,
    Column("id", Integer, primary_key=True),
    # Decides which pairs they are shown, and is never used again.
    Column("number", Integer, nullable=False, unique=True, info=_bundled("number", least=1)),
    # Decides which anchors they are shown, and is used again: see quotas.py.
    Column("slot", Integer, nullable=False, server_default="0", info=_bundled("slot")),
    Column("token_hash", LargeBinary(32), nullable=False, unique=True, info=_reopened(lambda: Keys.hashed(Keys.new()))),
    Column("consent_version", String(16), nullable=False, info=_bundled("consent_version")),
    Column("consented_at", Moment, nullable=False, info=_bundled("consented_at")),
    Column("stage", String(16), nullable=False, info=_bundled("stage", one_of=tuple(Stage))),
    Column("check_tries", Integer, nullable=False, server_default="0", info=_bundled("check_tries")),
    Column("finished_at", Moment, info=_bundled("finished_at")),
    Column("language", String(16), info=_bundled("language")),  # in which they agreed
    Column("came_by", String(16), nullable=False, server_default="open", info=_bundled("came_by", one_of=CAME_BY)),
    Column("panel_id", String(100)),  # by which the panel that sent them pays them
    Column("panel_session", String(100)),
    Column("panel_signed", Boolean, nullable=False, server_default=false()),  # whether the panel vouched for the id
    Column("room_id", ForeignKey("rooms.id")),
    Column("relation", String(100), info=_bundled("relation")),  # to the decision, by its name in the settings
    Column("simulated", Boolean, nullable=False, server_default=false(), info=_bundled("simulated")),
    Column("arm", String(100), info=_bundled("arm")),  # by its name in the settings
    # The seed and this decide the arm: it is the slot, or a turn taken when finishing.
    Column("arm_turn", Integer, info=_bundled("arm_turn")),
    # Whether turns of other arms were passed over for it.
    Column("arm_kept", Boolean, nullable=False, server_default=false(), info=_bundled("arm_kept")),
    Index("ix_participants_came_by_panel_id", "came_by", "panel_id"),  # not unique: ids can be made up
    info={"file": "participants.csv", "unique": (("number",),)},
)

rooms = Table(
    "rooms",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("code", String(16), nullable=False, unique=True),
    Column("made_at", Moment, nullable=False),
    Column("closed_at", Moment),
    Column("turn_pair", Integer, nullable=False, server_default="0"),  # of a room that talks: see study/deliberation.py
    Column("turn_step", String(16), nullable=False, server_default="waiting"),
)

invitations = Table(
    "invitations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("token_hash", LargeBinary(32), nullable=False, unique=True),
    Column("name", Text, nullable=False),  # the operator's, never shown; may be empty
    Column("made_at", Moment, nullable=False),
    Column("revoked_at", Moment),
    Column("withdrawn_on", Date),
)

answer_models = Table(
    "answer_models",
    metadata,
    Column("id", Integer, primary_key=True, info=_bundled("number")),
    Column("learned_from", Integer, nullable=False, info=_bundled("learned_from")),  # number of answers
    Column("made_at", Moment, nullable=False, info=_bundled("made_at")),
    Column("parameters", Text, nullable=False, info=_bundled("parameters")),  # common to all participants, as JSON
    info={"file": "answer_models.csv", "unique": (("number",),)},
)

appearances = Table(
    "appearances",
    metadata,
    Column("id", Integer, primary_key=True),
    _participant_id(),
    Column("position", Integer, nullable=False, info=_bundled("position", least=1)),
    Column("key", String(32), nullable=False, unique=True, info=_reopened(Keys.new)),
    Column("a", Text, nullable=False, info=_bundled("a")),
    Column("b", Text, nullable=False, info=_bundled("b")),
    Column("design", String(32), nullable=False, info=_bundled("design")),
    Column("selection_probability", Float, info=_bundled("selection_probability")),
    # Active pairs were chosen by this model,
    Column("answer_model_id", ForeignKey("answer_models.id"), info=_bundled("answer_model")),
    # after so many of the participant's own answers, in the order they came.
    Column("answers_known", Integer, info=_bundled("answers_known", least=1)),
    UniqueConstraint("participant_id", "position"),
    Index("ix_appearances_a_b", "a", "b"),
    info={"file": "schedule.csv", "unique": (("number", "position"),)},
)

answers = Table(
    "answers",
    metadata,
    Column("id", Integer, primary_key=True, info=_bundled("sequence")),
    Column(
        "appearance_id",
        ForeignKey("appearances.id", ondelete="CASCADE"),
        nullable=False,
        info=_bundled("number", "position"),
    ),
    Column("version", Integer, nullable=False, info=_bundled("version", least=1)),
    Column("nonce", String(32), nullable=False, info=_reopened(Keys.new)),
    Column(
        "answer",
        String(16),
        nullable=False,
        info=_bundled("answer", one_of=tuple(str(answer) for answer in Answer)),
    ),
    Column("why", Text, nullable=False, info=_bundled("why", words=True)),
    Column("confidence", Integer, info=_bundled("confidence", range=range(1, 6))),
    Column("seconds", Float, info=_bundled("seconds")),
    Column("answered_at", Moment, nullable=False, info=_bundled("answered_at")),
    # 2 in a second look, or in the second round.
    Column("round", Integer, nullable=False, server_default="1", info=_bundled("round", range=range(1, 3))),
    UniqueConstraint("appearance_id", "version"),
    UniqueConstraint("appearance_id", "nonce"),
    info={"file": "answers.csv", "unique": (("number", "position", "version"), ("sequence",))},
)

repeats = Table(
    "repeats",
    metadata,
    Column("appearance_id", ForeignKey("appearances.id", ondelete="CASCADE"), primary_key=True),
    Column("nonce", String(32), primary_key=True),
    Column("version", Integer, primary_key=True),  # of the answers
)

reasons = Table(  # of answers; a reason without a row has not been decided about, and nobody else reads it
    "reasons",
    metadata,
    Column(
        "answer_id",
        ForeignKey("answers.id", ondelete="CASCADE"),
        primary_key=True,
        info=_bundled("number", "position", "version"),
    ),
    Column("state", String(16), nullable=False, info=_bundled("state", one_of=REASON_STATES)),
    Column("decided_at", Moment, info=_bundled("decided_at")),
    Column("decided_by", String(100), info=_reopened(str)),
    Column("reported_at", Moment, info=_bundled("reported_at")),  # who reported it is not stored
    info={"file": "reasons.csv", "unique": (("number", "position", "version"),)},
)

round_pairs = Table(
    "round_pairs",
    metadata,
    Column("rank", Integer, primary_key=True, info=_bundled("rank", least=1)),
    Column("a", Text, nullable=False, info=_bundled("a")),  # a < b
    Column("b", Text, nullable=False, info=_bundled("b")),
    Column("reason", String(16), nullable=False, info=_bundled("chosen_as", one_of=tuple(Chosen))),
    UniqueConstraint("a", "b"),
    info={"file": "round_pairs.csv", "unique": (("rank",), ("a", "b"))},
)

closings = Table(
    "closings",
    metadata,
    _participant_id(primary_key=True),
    Column("rules", Text, nullable=False, info=_bundled("rules", words=True)),
    Column("expressible", Text, nullable=False, info=_bundled("expressible", words=True)),
    Column("comments", Text, nullable=False, info=_bundled("comments", words=True)),
    info={"file": "closings.csv", "unique": (("number",),)},
)

question_answers = Table(  # a row for every question that a participant was asked, empty if they left it empty
    "question_answers",
    metadata,
    _participant_id(primary_key=True),
    Column("question", String(40), primary_key=True, info=_bundled("question")),  # by its name in the settings
    Column("answer", Text, nullable=False, info=_bundled("answer", options=True)),  # options, or a number
    Column("written", Text, nullable=False, info=_bundled("written", words=True)),  # deleted after some time
    info={"file": "questions.csv", "unique": (("number", "question"),)},
)

consent_texts = Table(
    "consent_texts",
    metadata,
    Column("version", String(16), primary_key=True, info=_bundled("version")),  # as in participants
    Column("language", String(16), nullable=False, info=_bundled("language")),
    Column("text", Text, nullable=False, info=_bundled("text")),
    info={"file": "consents.csv", "unique": (("version",),)},
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
    Column("mark", LargeBinary(32)),  # Keys.mark of a panel's id, so that nobody begins twice
)

panel_ids = Table(
    "panel_ids",
    metadata,
    Column("mark", LargeBinary(32), primary_key=True),  # Keys.mark of an id that may begin
    Column("added_at", Moment, nullable=False),
)

panel_groups = Table(  # so that nobody chooses an arm by withdrawing and beginning again
    "panel_groups",
    metadata,
    Column("mark", LargeBinary(32), primary_key=True),  # Keys.group_mark of a panel's id; in no other table
    Column("arm", String(100), nullable=False),
)

study = Table(
    "study",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("state", String(16), nullable=False, server_default="open", info={"one_of": tuple(StudyState)}),
    Column("chosen_job_id", ForeignKey("jobs.id")),  # the fit whose model the operator chose
    Column("result_shown", Boolean, nullable=False, server_default=false()),  # to participants
    Column("round", Integer, nullable=False, server_default="1"),
    Column("round_over", Boolean, nullable=False, server_default=false()),  # of the first round
    Column("round_changed_at", Moment),
    CheckConstraint("id = 1", name="one"),
)

database_identity = Table(  # a restored database is another one
    "database_identity",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("value", String(32), nullable=False),  # random; also in the study's folder
    Column("checks", Integer, nullable=False),
    CheckConstraint("id = 1", name="one"),
    info={"backup": False},
)

operators = Table(
    "operators",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("password_hash", Text, nullable=False),
    Column("role", String(16), nullable=False, info={"one_of": ROLES}),
    Column("made_at", Moment, nullable=False),
)

sessions = Table(  # a copy of the database should open no door
    "sessions",
    metadata,
    Column("token_hash", LargeBinary(32), primary_key=True),
    Column("operator_id", ForeignKey("operators.id", ondelete="CASCADE"), nullable=False),
    Column("begun_at", Moment, nullable=False),
    Column("used_at", Moment, nullable=False),
    info={"backup": False},
)

events = Table(  # about participants nothing but their number
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("operator", String(100), nullable=False),
    Column("action", String(40), nullable=False),
    Column("about", Text, nullable=False),
)

exclusions = Table(
    "exclusions",
    metadata,
    Column("id", Integer, primary_key=True),
    _participant_id(),
    Column("reason", Text, nullable=False, info=_bundled("reason", words=True)),
    Column("excluded_at", Moment, nullable=False, info=_bundled("excluded_at")),
    Column("excluded_by", String(100), nullable=False, info=_reopened(str)),
    Column("included_at", Moment, info=_bundled("included_at")),  # when it was taken back
    Column("included_by", String(100), info=_reopened(str)),
    info={"file": "exclusions.csv", "unique": ()},
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("made_at", Moment, nullable=False),
    Column("made_by", String(100), nullable=False),
    Column("settings", Text, nullable=False),  # as JSON
    Column("state", String(16), nullable=False, info={"one_of": JOB_STATES}),
    Column("progress", Float, nullable=False, server_default="0"),  # from 0 to 1
    Column("message", Text, nullable=False),
    Column("cancel_wanted", Boolean, nullable=False, server_default=false()),
    Column("started_at", Moment),
    Column("alive_at", Moment),  # last sign of life of the process that runs it
    Column("ended_at", Moment),
    Column("attempts", Integer, nullable=False, server_default="0"),  # since its last progress
    Column("restarts", Integer, nullable=False, server_default="0"),  # after a withdrawal
)

job_participants = Table(
    "job_participants",
    metadata,
    Column("job_id", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), primary_key=True, index=True),
)

report_links = Table(  # one may have been revoked since the backup
    "report_links",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("token_hash", LargeBinary(32), nullable=False, unique=True),
    Column("job_id", ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("made_at", Moment, nullable=False),
    Column("made_by", String(100), nullable=False),
    Column("revoked_at", Moment),
    info={"backup": False},
)

votes = Table(  # bundles hold those that have ended
    "votes",
    metadata,
    Column("id", Integer, primary_key=True, info=_bundled("vote")),
    Column("job_id", ForeignKey("jobs.id"), nullable=False),
    Column("rule", String(16), nullable=False, info=_bundled("rule", one_of=tuple(Rule))),
    Column("options", Text, nullable=False, info=_bundled("options")),  # as JSON, fixed when the vote was opened
    Column("opened_at", Moment, nullable=False, info=_bundled("opened_at")),
    Column("opened_by", String(100), nullable=False),
    Column("closed_at", Moment, info=_bundled("closed_at", required=True)),
    Column("tally", Text, info=_bundled("tally", required=True)),  # as JSON, fixed when the vote ended
    Column("chosen", Integer, info=_bundled("chosen")),  # option that an operator adopted; none with decided_at alone
    Column("why", Text, nullable=False, info=_bundled("why", words=True)),
    Column("decided_at", Moment, info=_bundled("decided_at")),
    Column("decided_by", String(100)),
    info={"file": "votes.csv", "unique": (("vote",),), "reopened": False},
)

ballots = Table(
    "ballots",
    metadata,
    Column("vote_id", ForeignKey("votes.id", ondelete="CASCADE"), primary_key=True, info=_bundled("vote")),
    _participant_id(primary_key=True, index=True),
    Column("ballot", String(40), nullable=False, info=_bundled("ballot", least=0)),  # options, the best first
    Column("cast_at", Moment, nullable=False, info=_bundled("cast_at")),
    info={"file": "ballots.csv", "unique": (("number", "vote"),), "reopened": False},
)

for _table in metadata.sorted_tables:
    for _column in _table.c:
        if "one_of" in _column.info:
            _listed = ", ".join(f"'{value}'" for value in _column.info["one_of"])
            _table.append_constraint(CheckConstraint(f"{_column.name} IN ({_listed})", name=_column.name))
