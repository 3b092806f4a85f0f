"""Participants, from consent to the end or withdrawal, and their answers to the study's own questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import pandas as pd
import sqlalchemy as sa

from fairwise.store.erasure import delete_participant
from fairwise.store.errors import Full, NotInvited, NotListed, NotYet, StoreProblem, TakesPartAlready, Unknown, Withdrew
from fairwise.store.quotas import Quotas, free_slots, free_turns, is_full
from fairwise.store.recruitment import keep_arm, kept_arm, lock_invitation, may_come, withdrawal_mark, withdrew
from fairwise.store.rooms import lock_open_room
from fairwise.store.schema import (
    answers,
    appearances,
    closings,
    consent_texts,
    counters,
    invitations,
    participants,
    question_answers,
    withdrawals,
)
from fairwise.study.questions import Question
from fairwise.study.recruitment import BY_OPEN_LINK, PANELS, PERSONAL, ROOM, Arrival
from fairwise.study.schedules import ArmTurns, ShownPair
from fairwise.study.settings import ANSWERING, Stage


class Participant(NamedTuple):
    """Row of a participant."""

    id: int
    number: int
    slot: int
    stage: str
    check_tries: int
    finished_at: datetime | None
    came_by: str
    panel_id: str
    """Id of the panel; empty, as the session, for participants without a panel."""

    panel_session: str
    panel_signed: bool
    arm: str | None = None


_FIND = sa.select(
    participants.c.id,
    participants.c.number,
    participants.c.slot,
    participants.c.stage,
    participants.c.check_tries,
    participants.c.finished_at,
    participants.c.came_by,
    sa.func.coalesce(participants.c.panel_id, ""),
    sa.func.coalesce(participants.c.panel_session, ""),
    participants.c.panel_signed,
    participants.c.arm,
).where(participants.c.token_hash == sa.bindparam("token_hash"))


def find(connection: sa.Connection, token_hash: bytes) -> Participant:
    """Return the participant with this token."""
    row = connection.execute(_FIND, {"token_hash": token_hash}).one_or_none()
    if row is None:
        raise Unknown
    return Participant._make(row)


class ConsentText(NamedTuple):
    """Consent text of a version."""

    language: str
    text: str


@dataclass(frozen=True)
class Consent:
    """Consent of a new participant."""

    token_hash: bytes
    version: str
    at: datetime
    first_stage: Stage
    lease: timedelta
    """Time for which a slot is held after the last answer."""

    hold: timedelta | None = None
    """Time for which a slot is held before the first answer, if shorter."""

    language: str | None = None
    text: ConsentText | None = None
    """Consent text, stored once for all who agreed to it."""

    arrival: Arrival = BY_OPEN_LINK
    most: int = 0
    """Largest number of participants; 0 for any number."""

    mark: bytes | None = None
    """Keyed hash of the panel's id in the lists of those who withdrew or may begin."""

    group_mark: bytes | None = None
    """Key by which the arm of a panel member is found when they begin again."""

    signed: bool = False
    """Whether the panel vouched for who they are."""

    contests: bool = False
    """Whether they claim that the earlier participant with their id was somebody else."""

    simulated: bool = False
    """Whether it is a program that says so."""

    @property
    def since(self) -> dict[str, datetime]:
        """Moments after which others count as active: see quotas.py."""
        return Quotas(self.most, self.lease, self.hold or self.lease).since(self.at)


def start(
    connection: sa.Connection,
    consent: Consent,
    schedule: Callable[[int, int], Sequence[ShownPair | None]],
    new_key: Callable[[], str],
    arms: ArmTurns | None = None,
) -> Participant:
    """Add a participant and lay out the pairs of their number and slot. The same consent sent again changes nothing.

    Where the schedule has None, a pair is laid out later: see recording.py. With `arms`, the slot also says to
    which of them they are assigned: whoever takes the place of someone who left takes their arm. Whoever a panel sent
    before, also if they withdrew, comes to the arm of that time.
    """
    try:
        return find(connection, consent.token_hash)
    except Unknown:
        number = _next_number(connection)  # first, as only one at a time can then choose a slot
    came = _let_in(connection, consent)
    slots = free_slots(connection, **consent.since)
    slot, assigned = _assigned(connection, arms, slots, consent.group_mark) if arms else (next(slots), {})
    participant_id = connection.execute(
        sa.insert(participants).returning(participants.c.id),
        {
            "number": number,
            "slot": slot,
            "token_hash": consent.token_hash,
            "consent_version": consent.version,
            "consented_at": consent.at,
            "stage": consent.first_stage,
            "language": consent.language,
            "simulated": consent.simulated,
            **assigned,
            **came,
        },
    ).scalar_one()
    _keep_text(connection, consent)
    connection.execute(
        sa.insert(appearances),
        [
            {
                "participant_id": participant_id,
                "position": position,
                "key": new_key(),
                **asdict(pair),
            }
            for position, pair in enumerate(schedule(number, slot), start=1)
            if pair is not None
        ],
    )
    return find(connection, consent.token_hash)


def _assigned(
    connection: sa.Connection, arms: ArmTurns, free: Iterator[int], mark: bytes | None
) -> tuple[int, dict[str, object]]:
    """Return the lowest free turn and its arm; for a panel's id that had an arm before, the lowest turn of that arm."""
    first = turn = next(free)
    kept = None if mark is None else kept_arm(connection, mark)
    if kept in arms:
        while arms[turn] != kept:
            turn = next(free)
    elif mark is not None and kept is None:
        keep_arm(connection, mark, arms[turn])
    return turn, {"arm": arms[turn], "arm_turn": turn, "arm_kept": turn != first}


def _let_in(connection: sa.Connection, consent: Consent) -> dict[str, object]:
    """Refuse who may not begin; return the columns that say how they came."""
    arrival = consent.arrival
    came: dict[str, object] = {"came_by": arrival.came_by}
    if is_full(connection, consent.most, **consent.since):
        raise Full
    if arrival.came_by == PERSONAL and not lock_invitation(connection, consent.token_hash):
        raise NotInvited
    if arrival.came_by == ROOM:
        room_id = lock_open_room(connection, arrival.who)
        if room_id is None:
            raise NotInvited
        came["room_id"] = room_id
    if arrival.came_by in PANELS:
        contests = consent.contests and not consent.signed
        problem = panel_state(connection, arrival, consent.mark, contests=contests, signed=consent.signed)
        if problem is not None:
            raise problem
        came |= {"panel_id": arrival.who, "panel_session": arrival.session or None, "panel_signed": consent.signed}
    return came


def panel_state(
    connection: sa.Connection, arrival: Arrival, mark: bytes | None, *, contests: bool = False, signed: bool = False
) -> StoreProblem | None:
    """Return why someone from a panel cannot begin: they are not on its list, take part already, or withdrew.

    With `contests` they say that the latter was somebody else, and may begin: see quotas.take_place. Whoever the panel
    has `signed` for is kept out by nobody for whom it has not.
    """
    if not may_come(connection, mark):
        return NotListed()
    if contests:
        return None
    same = (participants.c.came_by == arrival.came_by) & (participants.c.panel_id == arrival.who)
    same &= participants.c.panel_signed | sa.literal(not signed)
    if connection.execute(sa.select(participants.c.id).where(same)).first() is not None:
        return TakesPartAlready()
    return Withdrew() if mark is not None and withdrew(connection, mark, signed=signed) else None


def _keep_text(connection: sa.Connection, consent: Consent) -> None:
    """Store the consent text once. Only one at a time has the next number, so nobody else does so meanwhile."""
    same = consent_texts.c.version == consent.version
    if consent.text is None or connection.execute(sa.select(consent_texts.c.version).where(same)).first() is not None:
        return
    connection.execute(sa.insert(consent_texts), {"version": consent.version, **consent.text._asdict()})


def _next_number(connection: sa.Connection) -> int:
    """Return a number that nobody ever had. The row's lock orders several processes."""
    taken = connection.execute(
        sa.update(counters)
        .where(counters.c.name == "participants")
        .values(value=counters.c.value + 1)
        .returning(counters.c.value)
    ).scalar_one()
    return int(taken)


def move_on(connection: sa.Connection, token_hash: bytes, leaving: Stage, to: Stage) -> None:
    """Move to the next stage. Sent again, or from an earlier page, it changes nothing."""
    connection.execute(
        sa.update(participants)
        .where(participants.c.token_hash == token_hash, participants.c.stage == leaving)
        .values(stage=to)
    )


def count_try(connection: sa.Connection, token_hash: bytes, before: int) -> bool:
    """Count a try at the comprehension check after so many `before`; return whether it is a new one.

    A form sent again, or by another tab, was counted already: else one could try until all is right.
    """
    counted = connection.execute(
        sa.update(participants)
        .where(
            participants.c.token_hash == token_hash,
            participants.c.stage == Stage.CHECK,
            participants.c.check_tries == before,
        )
        .values(check_tries=before + 1)
    )
    return bool(counted.rowcount)


def finish(
    connection: sa.Connection,
    token_hash: bytes,
    *,
    rules: str,
    expressible: str,
    comments: str,
    at: datetime,
    places: int = 0,
    arms: ArmTurns | None = None,
    group_mark: bytes | None = None,
) -> None:
    """Store the closing answers and finish, if all pairs are answered, and so many `places` at least.

    With `arms`, which matter only after this, assign the next one. Sent again it changes nothing.
    """
    who = find(connection, token_hash)
    if who.stage == Stage.FINISHED:
        return
    if who.stage not in ANSWERING or _open_pairs(connection, who.id, places):
        raise NotYet
    connection.execute(
        sa.insert(closings),
        {"participant_id": who.id, "rules": rules, "expressible": expressible, "comments": comments},
    )
    me = participants.c.id == who.id
    begun = connection.execute(sa.select(participants.c.consented_at).where(me)).scalar_one()
    ended = max(begun, at)  # also where the clock was put back meanwhile
    arm = _assigned(connection, arms, free_turns(connection), group_mark)[1] if arms else {}
    connection.execute(sa.update(participants).where(me).values(stage=Stage.FINISHED, finished_at=ended, **arm))


def _open_pairs(connection: sa.Connection, participant_id: int, places: int) -> int:
    laid_out, answered = connection.execute(
        sa.select(sa.func.count(appearances.c.id), sa.func.count(answers.c.id))
        .select_from(appearances)
        .outerjoin(answers, (answers.c.appearance_id == appearances.c.id) & (answers.c.version == 1))
        .where(appearances.c.participant_id == participant_id)
    ).one()
    return max(int(laid_out), places) - int(answered)


def withdraw(connection: sa.Connection, token_hash: bytes, at: datetime, mark: bytes | None = None) -> bool:
    """Delete everything about a participant. It remains that somebody withdrew on this day.

    Of a personal link it remains that it was this one, but no name; of someone from a panel, the `mark` of their id and
    whether the panel had signed for it.
    Return whether a fit has their answers, see :func:`~fairwise.store.erasure.delete_participant`.
    """
    if mark is not None:
        mark = withdrawal_mark(mark, signed=find(connection, token_hash).panel_signed)
    _, in_fits = delete_participant(connection, participants.c.token_hash == token_hash)
    connection.execute(sa.insert(withdrawals), {"day": at.date(), "mark": mark})
    connection.execute(
        sa.update(invitations).where(invitations.c.token_hash == token_hash).values(withdrawn_on=at.date(), name="")
    )
    return in_fits


# Answers to the study's own questions

QUESTION_PREFIX = "question_"
"""Prefix of a question's name where its answers are a column."""

_ANSWER = (question_answers.c.answer + question_answers.c.written).label("answer")  # one of the two is empty


def save_question_answers(
    connection: sa.Connection,
    token_hash: bytes,
    answers: Sequence[tuple[Question, str]],
    leaving: Stage,
    to: Stage,
) -> None:
    """Store the answers of one page instead of earlier ones; move a participant at `leaving` to the next stage.

    Sent from an earlier page, it changes nothing.
    """
    whose = sa.select(participants.c.id, participants.c.stage).where(participants.c.token_hash == token_hash)
    who = connection.execute(whose.with_for_update()).one_or_none()
    if who is None:
        raise Unknown
    if who.stage not in (ANSWERING if leaving in ANSWERING else (leaving,)):
        raise NotYet
    mine = question_answers.c.participant_id == who.id
    names = [question.name for question, _ in answers]
    connection.execute(sa.delete(question_answers).where(mine, question_answers.c.question.in_(names)))
    if answers:
        connection.execute(sa.insert(question_answers), [_row(who.id, *one) for one in answers])
    if to != leaving:
        connection.execute(sa.update(participants).where(participants.c.id == who.id).values(stage=to))


def _row(participant_id: int, question: Question, answer: str) -> dict[str, object]:
    column = "written" if question.kind == "text" else "answer"
    return {"participant_id": participant_id, "question": question.name, "answer": "", "written": ""} | {column: answer}


def question_answers_of(connection: sa.Connection, token_hash: bytes) -> dict[str, str]:
    """Return a participant's answers by the name of the question, also those they left empty."""
    return _by_name(connection, participants.c.token_hash == token_hash)


def question_answers_of_number(connection: sa.Connection, number: int) -> dict[str, str]:
    """Return the answers of the participant with this number."""
    return _by_name(connection, participants.c.number == number)


def _by_name(connection: sa.Connection, who: sa.ColumnElement[bool]) -> dict[str, str]:
    query = sa.select(question_answers.c.question, _ANSWER).join(participants).where(who)
    return {row.question: row.answer for row in connection.execute(query)}


def question_columns(connection: sa.Connection) -> pd.DataFrame:
    """Return answers by participant's number, a column for each question; None where it was left empty or not asked.

    Texts are not included: they may identify people, and are deleted after some time.
    """
    query = sa.select(participants.c.number, question_answers.c.question, question_answers.c.answer)
    query = query.join(question_answers).where(question_answers.c.answer != "").order_by(question_answers.c.question)
    columns: dict[str, dict[int, str]] = {}
    for number, name, answer in connection.execute(query):
        columns.setdefault(f"{QUESTION_PREFIX}{name}", {})[number] = answer
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()}, dtype=object)
