"""The second round: when the first one ends, which pairs it is about, what the panel said of them, who came back."""

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
"""The one whose id comes first is first."""

END, OPEN = "first round ended", "second round opened"
"""What is written down among what operators did."""


class ListedPair(NamedTuple):
    """A pair that the second round is about."""

    rank: int
    a: str
    b: str
    reason: str
    """Of :class:`~fairwise.study.deliberation.Chosen`."""

    @property
    def two(self) -> TwoPeople:
        return self.a, self.b


class RoundAnswer(NamedTuple):
    """The last answer of someone in a round; two people on other sides than those of the list are swapped."""

    number: int
    two: TwoPeople
    answer: Answer
    round: int
    answer_id: int
    why: str


MEASURED = appearances.c.design.in_((PairDesign.REPEAT, PairDesign.CHECK))
"""Pairs that put nothing in force, and so are not talked about."""

_SAID = LAST_OF_EACH_ROUND.with_only_columns(
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


def _said(connection: sa.Connection, *which: sa.ColumnElement[bool]) -> Iterator[RoundAnswer]:
    for number, a, b, answer, turn, answer_id, why in connection.execute(_SAID.where(*which)):
        two, said = two_people(a, b), Answer(answer)
        yield RoundAnswer(number, two, said if two == (a, b) else said.swapped(), turn, answer_id, why)


# From one round to the next


def end_first_round(connection: sa.Connection, at: datetime) -> bool:
    """Let nobody begin or answer any more; returns whether that is new."""
    running = (study.c.round == FIRST) & ~study.c.round_over
    ended = connection.execute(sa.update(study).where(running).values(round_over=True, round_changed_at=at))
    return bool(ended.rowcount)


def end_when_enough(connection: sa.Connection, enough: int, at: datetime) -> None:
    """The same once so many have finished, those not counted whom an operator left out; 0 for never."""
    if not enough or standing(connection).round_over:
        return
    take_turns(connection)
    count = sa.select(sa.func.count()).select_from(participants)
    finished = connection.execute(count.where(participants.c.stage == Stage.FINISHED, ~IS_EXCLUDED)).scalar_one()
    if finished >= enough and end_first_round(connection, at):
        note(connection, Operator(0, BY_ITSELF, "owner"), END, f"{finished} have finished", at)


def first_counts(connection: sa.Connection) -> Mapping[TwoPeople, Counter[Answer]]:
    """How often each answer was given to each pair in the first round, without those whom an operator left out."""
    counts: defaultdict[TwoPeople, Counter[Answer]] = defaultdict(Counter)
    for one in _said(connection, answers.c.round == FIRST):
        counts[one.two][one.answer] += 1
    return counts


def worth_discussing(connection: sa.Connection, prices: Mapping[TwoPeople, float]) -> list[ListedPair]:
    """By the answers of the first round: the most disputed pairs and, by a model's `prices`, the dearest, by turns.

    Left out is what fewer than four people answered, as nobody could be told what the others said.
    """
    counts = first_counts(connection)
    known = {two: answers for two, answers in sorted(counts.items()) if answers.total() > MIN_OTHER_ANSWERS}
    disputes = {two: (disagreement(answers.values()), answers.total()) for two, answers in known.items()}
    disputed = sorted((two for two in known if disputes[two][0] > 0), key=disputes.__getitem__, reverse=True)
    expensive = sorted((two for two in known if prices.get(two, 0) > 0), key=prices.__getitem__, reverse=True)
    return [ListedPair(rank, *two, why) for rank, (two, why) in enumerate(listed(disputed, expensive), start=1)]


def open_second_round(
    connection: sa.Connection, at: datetime, until: datetime | None, prices: Mapping[TwoPeople, float]
) -> int:
    """Fix the list of pairs and let participants come back; returns how many pairs there are.

    The first round must be over, and `until` is when it ends by itself. Asked again it changes nothing.
    """
    stands = standing(connection, lock=True)
    if stands.round == SECOND:
        return len(round_list(connection))
    if not stands.first_is_over(at, until):
        raise NotYet
    pairs = worth_discussing(connection, prices)
    if not pairs:
        raise NothingToDiscuss
    connection.execute(sa.insert(round_pairs), [pair._asdict() for pair in pairs])
    connection.execute(sa.update(study).values(round=SECOND, round_over=False, round_changed_at=at))
    return len(pairs)


def round_list(connection: sa.Connection) -> list[ListedPair]:
    """What the second round is about, the most important first; nothing before it was opened."""
    return [ListedPair._make(row) for row in connection.execute(sa.select(round_pairs).order_by(round_pairs.c.rank))]


# What a participant is shown, and says


def shown_again(connection: sa.Connection, token_hash: bytes, most: int) -> list[Appearance]:
    """Of the list the first pairs that a participant answered in the first round, with all versions of the answers."""
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
    """Why somebody else answered as they did."""

    answer_id: int
    answer: Answer
    text: str


@dataclass(frozen=True)
class Opinion:
    """What the others said about a pair in the first round; nothing at all if they are fewer than MIN_OTHER_ANSWERS."""

    counts: Mapping[Answer, int] | None
    reasons: Sequence[Reason] = ()
    """Those that were released, in no order that means anything."""


def opinion(connection: sa.Connection, pair: Appearance) -> Opinion:
    """What one participant may know of the others' answers to a pair, on the sides that it was shown on.

    It is counted anew each time, so that nothing of someone who withdrew, or was left out, is in it.
    """
    same = (appearances.c.a == pair.a) & (appearances.c.b == pair.b)
    other_way = (appearances.c.a == pair.b) & (appearances.c.b == pair.a)
    which = (same | other_way, answers.c.round == FIRST, participants.c.number != pair.number)
    swapped = two_people(pair.a, pair.b) != (pair.a, pair.b)
    said = [one._replace(answer=one.answer.swapped()) if swapped else one for one in _said(connection, *which)]
    if len(said) < MIN_OTHER_ANSWERS:
        return Opinion(None)
    released = set(
        connection.execute(
            sa.select(reasons.c.answer_id).where(
                reasons.c.answer_id.in_([one.answer_id for one in said]), reasons.c.state == "released"
            )
        ).scalars()
    )
    told = [Reason(one.answer_id, one.answer, one.why) for one in said if one.answer_id in released and one.why]
    return Opinion(Counter(one.answer for one in said), told)


# Who came back


class Returned(NamedTuple):
    """How the second round goes, without those whom an operator left out."""

    asked: int
    """So many have a pair of the list to look at again."""

    came: int
    done: int
    """So many answered all that they were shown."""

    kept: int
    changed: int
    """Answers."""


def returned(connection: sa.Connection, most: int) -> Returned:
    """Who came back so far, of those who are shown at most so many pairs each."""
    ranks = {pair.two: pair.rank for pair in round_list(connection)}
    by_number: defaultdict[int, dict[int, dict[TwoPeople, Answer]]] = defaultdict(lambda: {FIRST: {}, SECOND: {}})
    for one in _said(connection):
        if one.two in ranks:
            by_number[one.number][one.round][one.two] = one.answer
    came = done = kept = changed = 0
    for said in by_number.values():
        mine = sorted(said[FIRST], key=ranks.__getitem__)[:most]
        same = [said[SECOND][two] == said[FIRST][two] for two in said[SECOND]]
        came += bool(same)
        done += all(two in said[SECOND] for two in mine)
        kept += sum(same)
        changed += len(same) - sum(same)
    return Returned(len(by_number), came, done, kept, changed)


def how_many_returned(connection: sa.Connection) -> int:
    """How many came back, for a page that says nothing else about it."""
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
"""Who reported a reason is not kept."""


class GivenReason(NamedTuple):
    """A reason of the first round, with what was decided about it."""

    answer_id: int
    two: TwoPeople
    answer: Answer
    """About the two in that order."""

    text: str
    state: str | None
    """None if nobody has decided yet; then nobody else reads it."""

    decided_by: str | None
    decided_at: datetime | None
    reported_at: datetime | None

    @property
    def waits(self) -> bool:
        """Whether it was reported and nobody has looked at it since."""
        return self.reported_at is not None and (self.decided_at is None or self.decided_at < self.reported_at)


_GIVEN = (
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
    """All reasons about these pairs, without those of whom an operator left out."""
    found = []
    for answer_id, a, b, answer, *more in connection.execute(_GIVEN):
        two, said = two_people(a, b), Answer(answer)
        if two in pairs:
            found.append(GivenReason(answer_id, two, said if two == (a, b) else said.swapped(), *more))
    return found


def reason_ids(connection: sa.Connection) -> list[int]:
    """Ids of the answers that have a reason which could be released."""
    return list(connection.execute(_GIVEN.with_only_columns(answers.c.id)).scalars())


def decide_reasons(
    connection: sa.Connection, names: Mapping[int, str], state: str, operator: Operator, at: datetime
) -> None:
    """Release or hide the reasons of answers; each decision is written down under the reason's keyed name.

    What is gone, or decided so already, is left alone.
    """
    wanted = _GIVEN.where(answers.c.id.in_(names)).order_by(None).order_by(answers.c.id)
    for row in connection.execute(wanted).all():
        settled = row.decided_at is not None and (row.reported_at is None or row.reported_at <= row.decided_at)
        if row.state == state and settled:
            continue
        _put(connection, row.id, state=state, decided_by=operator.name, decided_at=at)
        note(connection, operator, ACTIONS[state], f"reason {names[row.id]}", at)


def report_reason(connection: sa.Connection, answer_id: int, name: str, at: datetime) -> None:
    """Hide a reason at once that a participant says must not be read, until an operator decides.

    Whoever reports it again after an operator released it tells the operators so, and it stays: else one participant
    could keep it from all others for good.
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
    """How many were reported and nobody has looked at since."""
    unseen = reasons.c.decided_at.is_(None) | (reasons.c.decided_at < reasons.c.reported_at)
    query = sa.select(sa.func.count()).select_from(reasons).where(reasons.c.reported_at.is_not(None), unseen)
    return connection.execute(query).scalar_one()


def _put(connection: sa.Connection, answer_id: int, **values: object) -> None:
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    row = insert(reasons).values(answer_id=answer_id, **values)
    connection.execute(row.on_conflict_do_update(index_elements=[reasons.c.answer_id], set_=values))
