"""The tables. What an answer means is decided elsewhere; here is only what is kept, and what can never be kept twice.

::

    participants  1 -- n  appearances  1 -- n  answers (versions; the largest is current)
    appearances   1 -- n  repeats (forms that said once more what a version says)
    answers       1 -- 1  reasons (whether others may read why)
    round_pairs: what the second round is about
    participants  1 -- 1  closings
    participants  1 -- n  question_answers (to the study's own questions)
    rooms         1 -- n  participants
    answer_models 1 -- n  appearances (those that were chosen by it)
    invitations: personal links; whoever took one up has its token
    participants  1 -- n  exclusions (those without an end are in force)
    operators     1 -- n  sessions
    jobs: fits, done outside of the web app; study: its state, and which fit was chosen
    jobs          n -- n  participants, by job_participants: whose answers a fit is made from
    jobs          1 -- n  report_links: read-only links to a fit's report, as hashes
    jobs          1 -- n  votes on which point of a fit's frontier to use; those are 1 -- n  ballots of participants
    events: what operators did
    consent_texts: what people agreed to, as it was when they did
    panel_ids: who may come from a panel, as keyed hashes; without any, everyone
    panel_groups: arms of those whom a panel sent, by keyed hashes of their ids, until the study is closed
    counters, withdrawals: numbers, about nobody
    database_identity: which database this is, and how often it was tried whether it can be written to
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Date,
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

from fairwise.judgments import Answer
from fairwise.store.engine import Moment
from fairwise.study.deliberation import Chosen, Rule
from fairwise.study.settings import Stage, StudyState

AnyColumn: TypeAlias = Column[Any]
Query: TypeAlias = Select[*tuple[Any, ...]]
AnyRow: TypeAlias = Row[*tuple[Any, ...]]
"""What a query of several tables returns: the types of its columns are not known."""

ROLES = ("owner", "viewer")
JOB_STATES = ("waiting", "running", "done", "failed", "cancelled")
REASON_STATES = ("released", "hidden")
CAME_BY = ("open", "personal", "room", "prolific", "sona", "mturk")

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
    Column("slot", Integer, nullable=False, server_default="0"),  # decides which anchors; given again, see quotas.py
    Column("token_hash", LargeBinary(32), nullable=False, unique=True),
    Column("consent_version", String(16), nullable=False),
    Column("consented_at", Moment, nullable=False),
    Column("stage", String(16), nullable=False),
    Column("check_tries", Integer, nullable=False, server_default="0"),
    Column("finished_at", Moment),
    Column("language", String(16)),  # in which they agreed
    Column("came_by", String(16), nullable=False, server_default="open"),
    Column("panel_id", String(100)),  # who they are to the panel that sent them, which pays them by it
    Column("panel_session", String(100)),
    Column("panel_signed", Boolean, nullable=False, server_default=false()),  # whether the panel vouched for the id
    Column("room_id", ForeignKey("rooms.id")),
    Column("relation", String(100)),  # to the decision, by its name in the settings
    Column("simulated", Boolean, nullable=False, server_default=false()),  # a program, not a person
    Column("arm", String(100)),  # to which chance assigned them, by its name in the settings
    Column("arm_turn", Integer),  # from which, and the seed, the arm follows: the slot, or a turn taken when finishing
    Column("arm_kept", Boolean, nullable=False, server_default=false()),  # turns of other arms were passed over for it
    Index("ix_participants_came_by_panel_id", "came_by", "panel_id"),  # one who was not sent may say another's id
    _one_of("stage", tuple(Stage)),
    _one_of("came_by", CAME_BY),
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
    Column("name", Text, nullable=False),  # the operator's, and never shown; may be empty
    Column("made_at", Moment, nullable=False),
    Column("revoked_at", Moment),
    Column("withdrawn_on", Date),
)

answer_models = Table(
    "answer_models",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("learned_from", Integer, nullable=False),  # so many answers
    Column("made_at", Moment, nullable=False),
    Column("parameters", Text, nullable=False),  # what all participants have in common, as JSON
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
    Column("answer_model_id", ForeignKey("answer_models.id")),  # of pairs chosen on the way, with
    Column("answers_known", Integer),  # so many of the participant's own answers, in the order they came
    UniqueConstraint("participant_id", "position"),
    Index("ix_appearances_a_b", "a", "b"),
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
    Column("answered_at", Moment, nullable=False),
    Column("round", Integer, nullable=False, server_default="1"),  # 2 in a second look, or in the second round
    UniqueConstraint("appearance_id", "version"),
    UniqueConstraint("appearance_id", "nonce"),
    _one_of("answer", tuple(str(answer) for answer in Answer)),
)

repeats = Table(
    "repeats",
    metadata,
    Column("appearance_id", ForeignKey("appearances.id", ondelete="CASCADE"), primary_key=True),
    Column("nonce", String(32), primary_key=True),
    Column("version", Integer, primary_key=True),  # of the answers
)

reasons = Table(  # of answers; of those that are not here nobody has decided yet, and nobody else reads them
    "reasons",
    metadata,
    Column("answer_id", ForeignKey("answers.id", ondelete="CASCADE"), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("decided_at", Moment),
    Column("decided_by", String(100)),
    Column("reported_at", Moment),  # by a participant; by whom is not kept
    _one_of("state", REASON_STATES),
)

round_pairs = Table(
    "round_pairs",
    metadata,
    Column("rank", Integer, primary_key=True),
    Column("a", Text, nullable=False),  # whose id comes first
    Column("b", Text, nullable=False),
    Column("reason", String(16), nullable=False),
    UniqueConstraint("a", "b"),
    _one_of("reason", tuple(Chosen)),
)

closings = Table(
    "closings",
    metadata,
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), primary_key=True),
    Column("rules", Text, nullable=False),
    Column("expressible", Text, nullable=False),
    Column("comments", Text, nullable=False),
)

question_answers = Table(  # a row for every question that somebody was asked, empty if they left it so
    "question_answers",
    metadata,
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), primary_key=True),
    Column("question", String(40), primary_key=True),  # by its name in the settings
    Column("answer", Text, nullable=False),  # an option, several of them, or a number
    Column("written", Text, nullable=False),  # a text of their own, which is deleted in time
)

consent_texts = Table(
    "consent_texts",
    metadata,
    Column("version", String(16), primary_key=True),  # of participants; texts agreed to before 0005 are not there
    Column("language", String(16), nullable=False),
    Column("text", Text, nullable=False),
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
    Column("mark", LargeBinary(32)),  # of those whom a panel sent, so that they do not come twice; see Keys.mark
)

panel_ids = Table(
    "panel_ids",
    metadata,
    Column("mark", LargeBinary(32), primary_key=True),  # of an id that may come; see Keys.mark
    Column("added_at", Moment, nullable=False),
)

panel_groups = Table(  # so that who withdraws and begins again does not choose an arm
    "panel_groups",
    metadata,
    Column("mark", LargeBinary(32), primary_key=True),  # of a panel's id, see Keys.group_mark; in no other table
    Column("arm", String(100), nullable=False),
)

study = Table(
    "study",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("state", String(16), nullable=False, server_default="open"),
    Column("chosen_job_id", ForeignKey("jobs.id")),  # the fit whose model the operator chose
    Column("result_shown", Boolean, nullable=False, server_default=false()),  # to participants
    Column("round", Integer, nullable=False, server_default="1"),
    Column("round_over", Boolean, nullable=False, server_default=false()),  # of the first; nobody answers it any more
    Column("round_changed_at", Moment),
    CheckConstraint("id = 1", name="one"),
    _one_of("state", tuple(StudyState)),
)

database_identity = Table(
    "database_identity",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("value", String(32), nullable=False),  # random; the study's folder knows it too
    Column("checks", Integer, nullable=False),
    CheckConstraint("id = 1", name="one"),
)

operators = Table(
    "operators",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("password_hash", Text, nullable=False),
    Column("role", String(16), nullable=False),
    Column("made_at", Moment, nullable=False),
    _one_of("role", ROLES),
)

sessions = Table(
    "sessions",
    metadata,
    Column("token_hash", LargeBinary(32), primary_key=True),
    Column("operator_id", ForeignKey("operators.id", ondelete="CASCADE"), nullable=False),
    Column("begun_at", Moment, nullable=False),
    Column("used_at", Moment, nullable=False),
)

events = Table(  # what operators did; about participants nothing but their number
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
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
    Column("reason", Text, nullable=False),
    Column("excluded_at", Moment, nullable=False),
    Column("excluded_by", String(100), nullable=False),
    Column("included_at", Moment),  # when it was taken back
    Column("included_by", String(100)),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("made_at", Moment, nullable=False),
    Column("made_by", String(100), nullable=False),
    Column("settings", Text, nullable=False),  # what is to be done, as JSON
    Column("state", String(16), nullable=False),
    Column("progress", Float, nullable=False, server_default="0"),  # from 0 to 1
    Column("message", Text, nullable=False),
    Column("cancel_wanted", Boolean, nullable=False, server_default=false()),
    Column("started_at", Moment),
    Column("alive_at", Moment),  # when whoever does it last said so
    Column("ended_at", Moment),
    Column("attempts", Integer, nullable=False, server_default="0"),  # since it last came further
    Column("restarts", Integer, nullable=False, server_default="0"),  # because somebody whose answers it has withdrew
    _one_of("state", JOB_STATES),
)

job_participants = Table(
    "job_participants",
    metadata,
    Column("job_id", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), primary_key=True, index=True),
)

report_links = Table(
    "report_links",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("token_hash", LargeBinary(32), nullable=False, unique=True),
    Column("job_id", ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("made_at", Moment, nullable=False),
    Column("made_by", String(100), nullable=False),
    Column("revoked_at", Moment),
)

votes = Table(
    "votes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("job_id", ForeignKey("jobs.id"), nullable=False),
    Column("rule", String(16), nullable=False),
    Column("options", Text, nullable=False),  # as JSON, as they were when the vote was opened
    Column("opened_at", Moment, nullable=False),
    Column("opened_by", String(100), nullable=False),
    Column("closed_at", Moment),
    Column("tally", Text),  # as JSON, fixed when the vote ended
    Column("chosen", Integer),  # the option that an operator adopted; with decided_at alone, none
    Column("why", Text, nullable=False),
    Column("decided_at", Moment),
    Column("decided_by", String(100)),
    _one_of("rule", tuple(Rule)),
)

ballots = Table(
    "ballots",
    metadata,
    Column("vote_id", ForeignKey("votes.id", ondelete="CASCADE"), primary_key=True),
    Column("participant_id", ForeignKey("participants.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("ballot", String(40), nullable=False),  # numbers of options: those approved of, or all, the best first
    Column("cast_at", Moment, nullable=False),
)
