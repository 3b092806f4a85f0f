"""Second round: the end of the first, the list of pairs, the answers and reasons of others, and who came back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from fairwise.judgments.answer import Answer, PairDesign
from fairwise.store.answers import ALL_VERSIONS, HAS_ANSWER, LAST_OF_EACH_ROUND, Appearance, read_appearances
from fairwise.store.errors import NothingToDiscuss, NotYet
from fairwise.store.operators import Operator, note, take_turns
from fairwise.store.quotas import BY_ITSELF, IS_EXCLUDED
from fairwise.store.recording import RoundPolicy
from fairwise.store.schema import answers, appearances, participants, reasons, round_pairs, study
from fairwise.store.study_state import FIRST, SECOND, standing
from fairwise.study.deliberation import MIN_OTHER_ANSWERS, disagreement, listed
from fairwise.study.settings import Stage

TwoPeople = tuple[str, str]
"""Two people in the order of their ids."""

END, OPEN = "first round ended", "second round opened"
"""Entries of the audit log."""


class ListedPair(NamedTuple):
    """A pair that the second round is about."""

    rank: int
    a: str
    b: str
    reason: str
    """Value of :class:`~fairwise.study.deliberation.Chosen`."""

    @property
    def two(self) -> TwoPeople:
        return self.a, self.b


class RoundAnswer(NamedTuple):
    """Last answer of a participant in a round, on the sides of the list."""

    number: int
    two: TwoPeople
    answer: Answer
    round: int
    answer_id: int
    why: str


MEASURED = appearances.c.design.in_((PairDesign.REPEAT, PairDesign.CHECK))
"""Condition on pairs that put nothing in force, and so are not talked about."""

_LAST_ANSWERS = LAST_OF_EACH_ROUND.with_only_columns(
    participants.c.number,
    appearances.c.a,
    appearances.c.b,
    answers.c.answer,
    answers.c.round,
    answers.c.id,
    answers.c.why,
).where(HAS_ANSWER, ~MEASURED, ~IS_EXCLUDED)


def two_people(a: str, b: str) -> TwoPeople:
    """Return the two as the list has them, whichever sides they were shown on."""
    return (a, b) if a < b else (b, a)


def _round_answers(connection: sa.Connection, *which: sa.ColumnElement[bool]) -> Iterator[RoundAnswer]:
    for number, a, b, answer, turn, answer_id, why in connection.execute(_LAST_ANSWERS.where(*which)):
        two, value = two_people(a, b), Answer(answer)
        yield RoundAnswer(number, two, value if two == (a, b) else value.swapped(), turn, answer_id, why)


# From one round to the next


def end_first_round(connection: sa.Connection, at: datetime) -> bool:
    """Let nobody begin or answer any more; return whether that is new."""
    running = (study.c.round == FIRST) & ~study.c.round_over
    ended = connection.execute(sa.update(study).where(running).values(round_over=True, round_changed_at=at))
    return bool(ended.rowcount)


def end_when_enough(connection: sa.Connection, enough: int, at: datetime) -> None:
    """End the first round once so many have finished, not counting excluded participants; 0 for never."""
    if not enough or standing(connection).round_over:
        return
    take_turns(connection)
    count = sa.select(sa.func.count()).select_from(participants)
    finished = connection.execute(count.where(participants.c.stage == Stage.FINISHED, ~IS_EXCLUDED)).scalar_one()
    if finished >= enough and end_first_round(connection, at):
        note(connection, Operator(0, BY_ITSELF, "owner"), END, f"{finished} have finished", at)


def first_counts(connection: sa.Connection) -> Mapping[TwoPeople, Counter[Answer]]:
    """Count each answer to each pair in the first round, without excluded participants."""
    counts: defaultdict[TwoPeople, Counter[Answer]] = defaultdict(Counter)
    for one in _round_answers(connection, answers.c.round == FIRST):
        counts[one.two][one.answer] += 1
    return counts


def worth_discussing(connection: sa.Connection, prices: Mapping[TwoPeople, float]) -> list[ListedPair]:
    """Return the most disputed pairs of the first round and the most expensive by a model's `prices`, in turns.

    Pairs with fewer than four answers are left out, as nobody may be told what the others said.
    """
    counts = first_counts(connection)
    enough = {two: answers for two, answers in sorted(counts.items()) if answers.total() > MIN_OTHER_ANSWERS}
    disputes = {two: (disagreement(answers.values()), answers.total()) for two, answers in enough.items()}
    disputed = sorted((two for two in enough if disputes[two][0] > 0), key=disputes.__getitem__, reverse=True)
    expensive = sorted((two for two in enough if prices.get(two, 0) > 0), key=prices.__getitem__, reverse=True)
    return [ListedPair(rank, *two, why) for rank, (two, why) in enumerate(listed(disputed, expensive), start=1)]


def open_second_round(
    connection: sa.Connection, at: datetime, until: datetime | None, prices: Mapping[TwoPeople, float]
) -> int:
    """Fix the list of pairs and let participants come back; return the number of pairs.

    The first round must be over, and `until` is when it ends by itself. Called again it changes nothing.
    """
    state = standing(connection, lock=True)
    if state.round == SECOND:
        return len(round_list(connection))
    if not state.first_is_over(at, until):
        raise NotYet
    pairs = worth_discussing(connection, prices)
    if not pairs:
        raise NothingToDiscuss
    connection.execute(sa.insert(round_pairs), [pair._asdict() for pair in pairs])
    connection.execute(sa.update(study).values(round=SECOND, round_over=False, round_changed_at=at))
    return len(pairs)


def round_list(connection: sa.Connection) -> list[ListedPair]:
    """Return the pairs of the second round, the most important first; none before it was opened."""
    return [ListedPair._make(row) for row in connection.execute(sa.select(round_pairs).order_by(round_pairs.c.rank))]


# What a participant is shown, and says


def shown_again(connection: sa.Connection, token_hash: bytes, most: int) -> list[Appearance]:
    """Return the first pairs of the list that a participant answered in the first round, with all versions."""
    mine = {
        two_people(pair.a, pair.b): pair
        for pair in read_appearances(
            connection, ALL_VERSIONS.where(participants.c.token_hash == token_hash, HAS_ANSWER, ~MEASURED)
        )
    }
    return [mine[pair.two] for pair in round_list(connection) if pair.two in mine][:most]


def second_round_policy(most: int) -> RoundPolicy:
    """Return what the second round allows: an answer to one of the first `most` pairs that a participant is shown."""

    def positions(connection: sa.Connection, token_hash: bytes) -> set[int]:
        return {pair.position for pair in shown_again(connection, token_hash, most)}

    return RoundPolicy(round=SECOND, shown_again=positions)


class Reason(NamedTuple):
    """Reason that another participant gave."""

    answer_id: int
    answer: Answer
    text: str


@dataclass(frozen=True)
class Opinion:
    """Answers of the others to a pair in the first round; none if they are fewer than MIN_OTHER_ANSWERS."""

    counts: Mapping[Answer, int] | None
    reasons: Sequence[Reason] = ()
    """Released reasons, in no order that means anything."""


def opinion(connection: sa.Connection, pair: Appearance) -> Opinion:
    """Return what a participant may know of the others' answers to a pair, on the sides that it was shown on.

    It is counted each time, so that nothing of a participant who withdrew or is excluded is in it.
    """
    same = (appearances.c.a == pair.a) & (appearances.c.b == pair.b)
    swapped_pair = (appearances.c.a == pair.b) & (appearances.c.b == pair.a)
    which = (same | swapped_pair, answers.c.round == FIRST, participants.c.number != pair.number)
    swapped = two_people(pair.a, pair.b) != (pair.a, pair.b)
    others = [
        one._replace(answer=one.answer.swapped()) if swapped else one for one in _round_answers(connection, *which)
    ]
    if len(others) < MIN_OTHER_ANSWERS:
        return Opinion(None)
    released = set(
        connection.execute(
            sa.select(reasons.c.answer_id).where(
                reasons.c.answer_id.in_([one.answer_id for one in others]), reasons.c.state == "released"
            )
        ).scalars()
    )
    visible = [Reason(one.answer_id, one.answer, one.why) for one in others if one.answer_id in released and one.why]
    return Opinion(Counter(one.answer for one in others), visible)


# Who came back


class Returned(NamedTuple):
    """Progress of the second round, without excluded participants."""

    asked: int
    """Number of participants with a pair of the list."""

    came: int
    done: int
    """Number of participants who answered all that they were shown."""

    kept: int
    changed: int
    """Answers."""


def returned(connection: sa.Connection, most: int) -> Returned:
    """Count participants who came back, each of whom is shown at most so many pairs."""
    ranks = {pair.two: pair.rank for pair in round_list(connection)}
    by_number: defaultdict[int, dict[int, dict[TwoPeople, Answer]]] = defaultdict(lambda: {FIRST: {}, SECOND: {}})
    for one in _round_answers(connection):
        if one.two in ranks:
            by_number[one.number][one.round][one.two] = one.answer
    came = done = kept = changed = 0
    for answers_by_round in by_number.values():
        mine = sorted(answers_by_round[FIRST], key=ranks.__getitem__)[:most]
        same = [answers_by_round[SECOND][two] == answers_by_round[FIRST][two] for two in answers_by_round[SECOND]]
        came += bool(same)
        done += all(two in answers_by_round[SECOND] for two in mine)
        kept += sum(same)
        changed += len(same) - sum(same)
    return Returned(len(by_number), came, done, kept, changed)


def count_returned(connection: sa.Connection) -> int:
    """Return how many participants came back."""
    return connection.execute(
        sa.select(sa.func.count(appearances.c.participant_id.distinct()))
        .join(answers, answers.c.appearance_id == appearances.c.id)
        .where(answers.c.round == SECOND)
    ).scalar_one()


# Reasons: which of them others may read. None is ever edited, only released or hidden.

RELEASED, HIDDEN = "released", "hidden"
ACTIONS = {RELEASED: "reason released", HIDDEN: "reason hidden"}
"""Entries of the audit log about a reason, by its keyed name."""

REPORTED = "reason reported"
PARTICIPANT = Operator(0, "(a participant)", "viewer")
"""Operator in the audit log of a reported reason; who reported it is not stored."""


class GivenReason(NamedTuple):
    """Reason of the first round, and the decision about it."""

    answer_id: int
    two: TwoPeople
    answer: Answer
    """Answer about the two in that order."""

    text: str
    state: str | None
    """State of the reason; None if nobody has decided yet, and then nobody else reads it."""

    decided_by: str | None
    decided_at: datetime | None
    reported_at: datetime | None

    @property
    def waits(self) -> bool:
        """Whether it was reported and nobody has looked at it since."""
        return self.reported_at is not None and (self.decided_at is None or self.decided_at < self.reported_at)


_REASONS = (
    LAST_OF_EACH_ROUND.with_only_columns(
        answers.c.id,
        appearances.c.a,
        appearances.c.b,
        answers.c.answer,
        answers.c.why,
        reasons.c.state,
        reasons.c.decided_by,
        reasons.c.decided_at,
        reasons.c.reported_at,
    )
    .outerjoin(reasons, reasons.c.answer_id == answers.c.id)
    .where(answers.c.round == FIRST, answers.c.why != "", ~MEASURED, ~IS_EXCLUDED)
)


def reasons_about(connection: sa.Connection, pairs: Collection[TwoPeople]) -> list[GivenReason]:
    """Return all reasons about these pairs, without those of excluded participants."""
    about = []
    for answer_id, a, b, answer, *more in connection.execute(_REASONS):
        two, value = two_people(a, b), Answer(answer)
        if two in pairs:
            about.append(GivenReason(answer_id, two, value if two == (a, b) else value.swapped(), *more))
    return about


def reason_ids(connection: sa.Connection) -> list[int]:
    """Return ids of answers with a reason that could be released."""
    return list(connection.execute(_REASONS.with_only_columns(answers.c.id)).scalars())


def decide_reasons(
    connection: sa.Connection, names: Mapping[int, str], state: str, operator: Operator, at: datetime
) -> None:
    """Release or hide the reasons of answers; the audit log has each decision under the reason's keyed name.

    A reason that is gone, or decided so already, is left alone.
    """
    query = _REASONS.where(answers.c.id.in_(names)).order_by(None).order_by(answers.c.id)
    for row in connection.execute(query).all():
        settled = row.decided_at is not None and (row.reported_at is None or row.reported_at <= row.decided_at)
        if row.state == state and settled:
            continue
        _put(connection, row.id, state=state, decided_by=operator.name, decided_at=at)
        note(connection, operator, ACTIONS[state], f"reason {names[row.id]}", at)


def report_reason(connection: sa.Connection, answer_id: int, name: str, at: datetime) -> None:
    """Hide a reported reason until an operator decides.

    Reported again after an operator released it, it stays, and the operators are told: else one participant could hide
    it from all others for good.
    """
    # Locked, as on PostgreSQL an operator may hide it at the same moment through another process.
    reported = sa.select(reasons).where(reasons.c.answer_id == answer_id).with_for_update()
    row = connection.execute(reported).one_or_none()
    if row is None or row.state != RELEASED:
        return
    state = HIDDEN if row.reported_at is None else RELEASED
    _put(connection, answer_id, state=state, reported_at=at)
    note(connection, PARTICIPANT, REPORTED, f"reason {name}", at)


def count_reported(connection: sa.Connection) -> int:
    """Return how many reasons were reported and nobody has looked at since."""
    unseen = reasons.c.decided_at.is_(None) | (reasons.c.decided_at < reasons.c.reported_at)
    query = sa.select(sa.func.count()).select_from(reasons).where(reasons.c.reported_at.is_not(None), unseen)
    return connection.execute(query).scalar_one()


def _put(connection: sa.Connection, answer_id: int, **values: object) -> None:
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    row = insert(reasons).values(answer_id=answer_id, **values)
    connection.execute(row.on_conflict_do_update(index_elements=[reasons.c.answer_id], set_=values))
