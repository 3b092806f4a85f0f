"""Record answers. One function writes them all; a :class:`RoundPolicy` says what each kind of round allows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from fairwise.judgments.answer import Answer, PairDesign
from fairwise.store.answers import CURRENT, HAS_ANSWER, HAS_ANSWERED, Appearance, appearances_of, is_last, padded
from fairwise.store.errors import (
    AlreadyFinished,
    ChangedTooOften,
    NotOpen,
    NotShownAgain,
    NotYet,
    RoundOver,
    StoreProblem,
    Unknown,
)
from fairwise.store.rooms import TwoPeople, talk_of
from fairwise.store.schema import AnyRow, answer_models, answers, appearances, participants, repeats
from fairwise.store.study_state import FIRST, LOCKED, SECOND, Standing
from fairwise.study.active import ParticipantAnswer
from fairwise.study.deliberation import Step, Turn
from fairwise.study.schedules import ShownPair
from fairwise.study.settings import ANSWERING, Stage, StudyState

MOST_VERSIONS = 50
"""Largest number of versions of an answer in a round."""

_MOST_OF_ONE_FORM = 10
_MOST_REPEATS = 100


@dataclass(frozen=True)
class NewAnswer:
    """Content of a form about a pair."""

    key: str
    nonce: str
    answer: Answer
    why: str | None
    """Reason; None if the form asks for the answer alone, and the reason of the same answer stays."""

    confidence: int | None
    seconds: float | None
    at: datetime

    def says(self, answer: str, why: str, confidence: int | None) -> bool:
        """Return whether this repeats the content of an earlier form."""
        return self.answer == answer and (self.why is None or (self.why, self.confidence) == (why, confidence))


@dataclass(frozen=True)
class RoundPolicy:
    """Rules of a round of answers. The default is the first round of a study, with all pairs known."""

    round: int = FIRST
    """Round of the study that the form is of. In the second one only pairs that are `shown_again` can be answered."""

    until: datetime | None = None
    """When the first round ends by itself."""

    shown_again: Callable[[sa.Connection, bytes], Collection[int]] | None = None
    """Positions of the pairs of a second look, or of the second round."""

    before_first: Callable[[sa.Connection, bytes], None] | None = None
    """Called before a participant's very first answer, which it may refuse."""

    in_rooms: bool = False
    """Whether rooms of the study talk. A participant in one answers alone only what the room did not talk about."""

    turn: Turn | None = None
    """Turn of the room that the form was made for; None for a form outside of the room."""

    fixed_pairs: Sequence[TwoPeople] = ()
    """Pairs that rooms talk about, on the sides of the wall."""


FIRST_ANSWERS = RoundPolicy()


class SentAnswer(NamedTuple):
    """An answer as it arrived, and the policy of its round."""

    token_hash: bytes
    new: NewAnswer
    policy: RoundPolicy = FIRST_ANSWERS


_PAIRS = (
    sa.select(
        appearances.c.id,
        appearances.c.key,
        appearances.c.position,
        appearances.c.a,
        appearances.c.b,
        appearances.c.design,
        participants.c.token_hash,
        participants.c.stage,
        participants.c.consented_at,
        LOCKED.c.state,
        sa.func.coalesce(LOCKED.c.round, FIRST).label("round"),
        sa.func.coalesce(LOCKED.c.round_over, sa.false()).label("round_over"),
        HAS_ANSWERED.label("has_answered"),
    )
    .select_from(appearances)
    .join(participants, appearances.c.participant_id == participants.c.id)
    .outerjoin(LOCKED, sa.true())
    .where(appearances.c.key.in_(sa.bindparam("keys", expanding=True)))
    .order_by(appearances.c.id)
    .with_for_update(of=appearances)  # several processes on PostgreSQL take turns at one pair
)
# Queried after the pairs are locked. An index finds it: an answer costs the same however many came before it.
_LAST = (
    sa.select(answers, appearances.c.id.label("pair"))
    .select_from(appearances)
    .join(answers, (answers.c.appearance_id == appearances.c.id) & is_last())
    .where(appearances.c.id.in_(sa.bindparam("pairs", expanding=True)))
)
_INSERT = sa.insert(answers)
_content = (answers.c.answer, answers.c.why, answers.c.confidence)
_OF_FORM = sa.select(*_content).where(
    answers.c.appearance_id == sa.bindparam("appearance_id"),
    answers.c.nonce.in_(sa.bindparam("nonces", expanding=True)),
)
_REPEATED = (
    sa.select(answers.c.version, *_content)
    .join(repeats, (repeats.c.appearance_id == answers.c.appearance_id) & (repeats.c.version == answers.c.version))
    .where(repeats.c.appearance_id == sa.bindparam("appearance_id"), repeats.c.nonce == sa.bindparam("nonce"))
)
_N_REPEATS = sa.select(sa.func.count()).select_from(
    sa.select(repeats.c.version)
    .where(repeats.c.appearance_id == sa.bindparam("appearance_id"))
    .limit(_MOST_REPEATS)
    .subquery()
)


def record(connection: sa.Connection, token_hash: bytes, new: NewAnswer, policy: RoundPolicy = FIRST_ANSWERS) -> int:
    """Record one answer; return the position of its pair."""
    (outcome,) = record_all(connection, [SentAnswer(token_hash, new, policy)])
    if isinstance(outcome, StoreProblem):
        raise outcome
    return outcome


def record_all(connection: sa.Connection, sent: Sequence[SentAnswer]) -> list[int | StoreProblem]:
    """Record answers that arrived together; return the position of each one's pair, or why it is refused.

    An answer needs three queries, and so do many: on PostgreSQL each query is a round trip. A second answer of the same
    participant depends on the first one, so it is looked up after that is written.
    """
    pairs = _find_pairs(connection, [one.new.key for one in sent])
    outcomes: list[int | StoreProblem] = [Unknown() for _ in sent]
    left = [
        place
        for place, one in enumerate(sent)
        if one.new.key in pairs and pairs[one.new.key][0].token_hash == one.token_hash
    ]
    while left:
        rows: list[dict[str, object]] = []
        places, left, people = left, [], set[bytes]()
        for place in places:
            one = sent[place]
            if one.token_hash in people:
                left.append(place)
                continue
            people.add(one.token_hash)
            try:
                outcomes[place] = _record(connection, one, *pairs[one.new.key], rows)
            except StoreProblem as refusal:  # raised before anything of this answer was written
                outcomes[place] = refusal
        if rows:
            connection.execute(_INSERT, rows)
        if left:
            pairs = _find_pairs(connection, [sent[place].new.key for place in left])
    return outcomes


def _find_pairs(connection: sa.Connection, keys: Sequence[str]) -> dict[str, tuple[AnyRow, AnyRow | None]]:
    """Return pairs by key, each with the last version of its answer."""
    pairs = connection.execute(_PAIRS, {"keys": padded(keys)}).all() if keys else []
    ids = [pair.id for pair in pairs]
    last = {row.pair: row for row in connection.execute(_LAST, {"pairs": padded(ids)})} if ids else {}
    return {pair.key: (pair, last.get(pair.id)) for pair in pairs}


def _record(
    connection: sa.Connection, sent: SentAnswer, pair: AnyRow, last: AnyRow | None, rows: list[dict[str, object]]
) -> int:
    """Add the row of an answer to `rows`, unless it repeats an earlier one; return the position of its pair.

    The first answer is version 1. A form that was sent again, or that says what is current already, changes nothing;
    anything else is a new version, up to MOST_VERSIONS in each round. In the second round, and when a room talked about
    the pair, the same answer is written again, so that keeping an answer differs from not being asked again.
    """
    new, policy = sent.new, sent.policy
    again, talked = _check_allowed(connection, sent, pair, last)
    if policy.turn is not None and (pair.a, pair.b) != policy.fixed_pairs[policy.turn.pair - 1]:
        new = replace(new, answer=new.answer.swapped())
    form = new.nonce.partition("+")[0]
    contents = [] if last is None else _contents_of_form(connection, pair.id, form)
    anew = last is None or ((policy.round == SECOND or talked) and last.round == FIRST)
    is_repeated = any(new.says(*content) for content in contents)
    if is_repeated or (last is not None and not anew and _is_repeat(connection, pair.id, form, new, last)):
        return int(pair.position)
    version = 1 if last is None else last.version + 1
    if version > MOST_VERSIONS * (SECOND if talked else policy.round) or len(contents) == _MOST_OF_ONE_FORM:
        raise ChangedTooOften
    if policy.before_first is not None and not pair.has_answered:
        if rows:  # which may be too many answers for this one
            connection.execute(_INSERT, rows)
            rows.clear()
        policy.before_first(connection, sent.token_hash)
    rows.append(
        {
            "appearance_id": pair.id,
            "version": version,
            # Two different answers of one form: another button was pressed before the first reply came.
            "nonce": f"{form}+{len(contents)}" if contents else form,
            "answer": str(new.answer),
            "why": new.why or "",
            "confidence": new.confidence,
            # Of the answer itself, which may have been given before its reason.
            "seconds": new.seconds if anew or last is None or last.answer != new.answer else last.seconds,
            "answered_at": max(pair.consented_at, new.at),  # the clock may have been put back
            "round": SECOND if again else FIRST,
        }
    )
    return int(pair.position)


def _check_allowed(connection: sa.Connection, sent: SentAnswer, pair: AnyRow, last: AnyRow | None) -> tuple[bool, bool]:
    """Refuse what the round does not allow; return whether the answer is of round 2, and whether a room talked."""
    policy = sent.policy
    if pair.state not in (StudyState.OPEN, None):
        raise NotOpen
    if policy.round == SECOND:
        if pair.round == FIRST:
            raise NotYet
    elif Standing(round=pair.round, round_over=pair.round_over).first_is_over(sent.new.at, policy.until):
        raise RoundOver
    elif pair.stage == Stage.FINISHED:
        raise AlreadyFinished
    elif pair.stage not in ANSWERING:
        raise NotYet
    if policy.in_rooms and _room_talked(connection, sent, pair, last):
        return True, True
    again = policy.round == SECOND or pair.stage == Stage.SECOND_LOOK
    shown_again = policy.shown_again(connection, sent.token_hash) if again and policy.shown_again is not None else ()
    if again and pair.position not in shown_again:
        raise NotShownAgain
    return again, False


def _room_talked(connection: sa.Connection, sent: SentAnswer, pair: AnyRow, last: AnyRow | None) -> bool:
    """Refuse an answer that does not belong to the room's turn; return whether the room talked about the pair.

    Who saw what the others said must not change what they would have said alone.
    """
    turn, pairs = sent.policy.turn, sent.policy.fixed_pairs
    talk = talk_of(connection, sent.token_hash, locked=True)
    if turn is None:
        if talk is not None and (talk.turn.step != Step.OVER or (pair.design == PairDesign.FIXED and last is not None)):
            raise NotYet
        return False
    if talk is None:
        raise Unknown
    if talk.turn != turn or not 1 <= turn.pair <= len(pairs):
        raise NotYet
    is_of_turn = {pair.a, pair.b} == set(pairs[turn.pair - 1]) and pair.design == PairDesign.FIXED
    if not is_of_turn or not (turn.step == Step.ALONE or (turn.step == Step.AGAIN and last is not None)):
        raise NotYet
    return turn.step == Step.AGAIN


def _contents_of_form(connection: sa.Connection, appearance_id: int, form: str) -> list[tuple[str, str, int | None]]:
    """Return the earlier answers of a form: the first one has its nonce, others ``nonce+1`` and so on."""
    nonces = [form, *(f"{form}+{number}" for number in range(1, _MOST_OF_ONE_FORM))]
    rows = connection.execute(_OF_FORM, {"appearance_id": appearance_id, "nonces": nonces})
    return [(row.answer, row.why, row.confidence) for row in rows]


def _is_repeat(connection: sa.Connection, appearance_id: int, nonce: str, new: NewAnswer, current: AnyRow) -> bool:
    """Return whether a form repeats what is current, now or when it was first sent.

    A repeat is stored: sent again after another answer, the form would undo that answer.
    """
    form = {"appearance_id": appearance_id, "nonce": nonce}
    content_by_version = {number: tuple(content) for number, *content in connection.execute(_REPEATED, form)}
    if not new.says(current.answer, current.why, current.confidence):
        return any(new.says(*content) for content in content_by_version.values())
    is_new = current.version not in content_by_version
    if is_new and connection.execute(_N_REPEATS, form).scalar_one() < _MOST_REPEATS:
        connection.execute(sa.insert(repeats), {**form, "version": current.version})
    return True


# Active pairs: a place without a pair gets one together with the answer to the place before it. So whoever has answered
# all their pairs has been shown everything, whatever happened on the way.


@dataclass(frozen=True)
class EmptyPlace:
    """A place without a pair behind the one that is being answered, and what is known of the participant."""

    participant_number: int
    after: int
    """Position that is being answered."""

    laid_out: tuple[Appearance, ...]
    """Existing pairs in the order of positions."""

    answers: int
    """Number of answers so far, counting all versions."""


@dataclass(frozen=True)
class Choice:
    """A pair for an empty place, and what it was chosen from."""

    place: EmptyPlace
    pair: ShownPair
    model_id: int | None
    key: str
    """Unguessable name of its appearance."""


_LOCKED_PARTICIPANT = (
    sa.select(participants.c.id).where(participants.c.token_hash == sa.bindparam("token_hash")).with_for_update()
)
_AT_POSITION = sa.select(appearances.c.id).where(
    appearances.c.participant_id == sa.bindparam("participant_id"), appearances.c.position == sa.bindparam("position")
)
_last_version = (
    sa.select(sa.func.max(answers.c.version))
    .where(answers.c.appearance_id == appearances.c.id)
    .correlate(appearances)
    .scalar_subquery()
)
_N_VERSIONS = sa.select(sa.func.coalesce(sa.func.sum(_last_version), 0)).where(
    appearances.c.participant_id == sa.bindparam("participant_id")
)


def empty_place(connection: sa.Connection, token_hash: bytes, key: str, places: int) -> EmptyPlace | None:
    """Return the place that needs a pair once the pair of this key is answered, if there is one among `places`."""
    pairs = appearances_of(connection, token_hash)  # one query, so that all of it is of the same moment
    after = next((pair.position for pair in pairs if pair.key == key), places)
    if after >= places or any(pair.position == after + 1 for pair in pairs):
        return None
    # Versions are numbered without gaps, so the last one of each pair is their number.
    return EmptyPlace(pairs[0].number, after, tuple(pairs), sum(pair.answer.version for pair in pairs if pair.answer))


def record_with_choice(connection: sa.Connection, sent: SentAnswer, choice: Choice | None) -> int | None:
    """Record an answer and the pair that was chosen with it: both, or neither.

    None, and nothing is changed, if the participant answered something else since the choice was made.
    """
    # Several processes take turns at one participant.
    participant_id = connection.execute(_LOCKED_PARTICIPANT, {"token_hash": sent.token_hash}).scalar_one_or_none()
    if choice is None or participant_id is None:
        return record(connection, *sent)
    place = {"participant_id": participant_id, "position": choice.place.after + 1}
    if connection.execute(_AT_POSITION, place).first() is not None:  # this form was sent twice
        return record(connection, *sent)
    if count_versions(connection, participant_id) != choice.place.answers:
        return None
    position = record(connection, *sent)
    row = {
        **place,
        "key": choice.key,
        **asdict(choice.pair),
        "answer_model_id": choice.model_id,
        "answers_known": count_versions(connection, participant_id),
    }
    connection.execute(sa.insert(appearances), row)
    return position


def count_versions(connection: sa.Connection, participant_id: int) -> int:
    """Return how many answers a participant gave, counting all versions."""
    return int(connection.execute(_N_VERSIONS, {"participant_id": participant_id}).scalar_one())


# Models learned from all participants: an active pair names the one that chose it.


@dataclass(frozen=True)
class StoredModel:
    """Row of a model."""

    id: int
    learned_from: int
    parameters: str


_NEWEST_MODEL = (
    sa.select(answer_models.c.id, answer_models.c.learned_from, answer_models.c.parameters)
    .order_by(answer_models.c.id.desc())
    .limit(1)
)
_ALL_CURRENT = CURRENT.with_only_columns(
    participants.c.number, appearances.c.a, appearances.c.b, answers.c.answer
).where(HAS_ANSWER)


def newest_model(connection: sa.Connection) -> StoredModel | None:
    """Return the model that was learned last, by any process."""
    row = connection.execute(_NEWEST_MODEL).one_or_none()
    return None if row is None else StoredModel(*row)


def add_model(connection: sa.Connection, *, learned_from: int, parameters: str, at: datetime) -> int:
    """Store a model; return its id."""
    values = {"learned_from": learned_from, "made_at": at, "parameters": parameters}
    return int(connection.execute(sa.insert(answer_models).returning(answer_models.c.id), values).scalar_one())


def count_answered(connection: sa.Connection) -> int:
    """Return the number of pairs of all participants that have an answer."""
    return connection.execute(sa.select(sa.func.count()).where(answers.c.version == 1)).scalar_one()


def all_current_answers(connection: sa.Connection) -> list[ParticipantAnswer]:
    """Return the current answers of all participants, who are named by their numbers."""
    return [
        ParticipantAnswer(str(number), a, b, Answer(answer))
        for number, a, b, answer in connection.execute(_ALL_CURRENT)
    ]
