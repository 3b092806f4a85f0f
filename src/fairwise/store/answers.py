"""The pairs someone is shown, and their answers: every version kept, one current, of each round the last."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, Protocol

import sqlalchemy as sa

from fairwise.judgments.answer import Answer
from fairwise.store.answer_batch import ANSWERED, LATER, AnswerBatch, is_last, padded
from fairwise.store.errors import AlreadyFinished, ChangedTooOften, NotShownAgain, NotYet, StoreProblem, Unknown
from fairwise.store.study_state import (
    FIRST,
    SECOND,
    Standing,
    refuse_other_round,
    refuse_unless_open,
)
from fairwise.store.tables import AnyRow, Query, answers, appearances, participants, repeats
from fairwise.study.schedules import PairAnswer
from fairwise.study.settings import ANSWERING, Stage

if TYPE_CHECKING:
    _Content = tuple[str, str, int | None]


MOST_VERSIONS = 50
"""How often a pair can be answered in a round, all changes counted."""

_MOST_OF_ONE_FORM = 10
_MOST_REPEATS = 100


class Appearance(NamedTuple):
    """A pair that a participant was shown, or will be, and what they answered."""

    number: int
    """The participant's."""

    stage: str
    """Where the participant is."""

    position: int
    key: str
    a: str
    b: str
    design: str
    versions: tuple[PairAnswer, ...]
    """Of its answer, the current one last; all of them, or only that one."""

    @property
    def answer(self) -> PairAnswer | None:
        """The current one."""
        return self.versions[-1] if self.versions else None


@dataclass(frozen=True)
class NewAnswer:
    """What a form says about a pair."""

    key: str
    nonce: str
    answer: Answer
    why: str | None
    """None where the form asks for the answer alone: what was said about the same answer before then stays."""

    confidence: int | None
    seconds: float | None
    at: datetime

    def says(self, answer: str, why: str, confidence: int | None) -> bool:
        """Whether this is what was said already."""
        return self.answer == answer and (self.why is None or (self.why, self.confidence) == (why, confidence))


# Every question about answers is one of these three with a WHERE of its own; without an answer, its columns are empty.


def _pairs_with(which: sa.ColumnElement[bool]) -> Query:
    its_answers = (answers.c.appearance_id == appearances.c.id) & which
    return (
        sa.select(
            participants.c.number,
            participants.c.stage,
            *(appearances.c[name] for name in Appearance._fields[2:-1]),
            *(answers.c[name] for name in ("answer", *PairAnswer._fields[5:])),
        )
        .select_from(participants)
        .join(appearances, appearances.c.participant_id == participants.c.id)
        .outerjoin(answers, its_answers)
        .order_by(participants.c.number, appearances.c.position, answers.c.version)
    )


ALL_VERSIONS = _pairs_with(sa.true())
"""Pairs with every version of their answers."""

CURRENT = _pairs_with(is_last())
"""Pairs with their current answers."""

LAST_OF_EACH_ROUND = _pairs_with(is_last(LATER.c.round == answers.c.round))
"""Pairs with the current answer of each round that has one; for many participants at once."""

HAS_ANSWER = answers.c.id.is_not(None)

_CURRENT_OF_TOKEN = CURRENT.where(participants.c.token_hash == sa.bindparam("token_hash"))
_VERSIONS_OF_TOKEN = ALL_VERSIONS.where(participants.c.token_hash == sa.bindparam("token_hash"), HAS_ANSWER)
# Whatever is looked up of earlier versions is found by an index, and bounded: an answer costs the same however many
# came before it.
_of_pair = answers.c.appearance_id == sa.bindparam("appearance_id")
_what = (answers.c.answer, answers.c.why, answers.c.confidence)
_OF_FORM = sa.select(*_what).where(_of_pair, answers.c.nonce.in_(sa.bindparam("nonces", expanding=True)))
_of_form = (repeats.c.appearance_id == sa.bindparam("appearance_id")) & (repeats.c.nonce == sa.bindparam("nonce"))
_REPEATED = (
    sa.select(answers.c.version, *_what)
    .join(repeats, (repeats.c.appearance_id == answers.c.appearance_id) & (repeats.c.version == answers.c.version))
    .where(_of_form)
)
_HOW_MANY_REPEATS = sa.select(sa.func.count()).select_from(
    sa.select(repeats.c.version)
    .where(repeats.c.appearance_id == sa.bindparam("appearance_id"))
    .limit(_MOST_REPEATS)
    .subquery()
)


def read_appearances(
    connection: sa.Connection, query: Query, parameters: dict[str, object] | None = None
) -> list[Appearance]:
    """What one of the three questions finds, in the order of participants and positions."""
    return _appearances(connection.execute(query, parameters))


def _appearances(rows: Iterable[AnyRow]) -> list[Appearance]:
    return [
        Appearance._make((*pair, tuple(_answer(row) for row in versions if row.answer is not None)))
        for pair, versions in groupby(rows, key=lambda row: row[:7])
    ]


_N_COLUMNS = len(CURRENT.selected_columns)


def _answer(row: AnyRow) -> PairAnswer:
    _, _, position, _, a, b, design, answer, *more = row[:_N_COLUMNS]
    return PairAnswer(position, a, b, Answer(answer), design, *more)


def appearances_of(connection: sa.Connection, token_hash: bytes) -> list[Appearance]:
    """All pairs of a participant that are laid out, with the current answers."""
    return read_appearances(connection, _CURRENT_OF_TOKEN, {"token_hash": token_hash})


def appearance_at(
    connection: sa.Connection, token_hash: bytes, position: int, places: int = 0
) -> tuple[Appearance, int]:
    """One of a participant's pairs, and how many of all have an answer.

    It may not be laid out yet, if it is one of so many `places`.
    """
    (found,) = appearances_at(connection, [(token_hash, position)])
    if found is None:
        raise NotYet if 1 <= position <= places and appearances_of(connection, token_hash) else Unknown
    return found


def appearances_at(
    connection: sa.Connection, wanted: Sequence[tuple[bytes, int]]
) -> list[tuple[Appearance, int] | None]:
    """For several, each with the hash of their token and a position: the pair that is there, if one is laid out.

    With it comes how many of all the participant's pairs have an answer.
    """
    asked, parameters = padded(wanted), dict[str, object]()
    for place, (token_hash, position) in enumerate(asked):
        parameters[f"token_hash_{place}"], parameters[f"position_{place}"] = token_hash, position
    rows = {row.place: row for row in connection.execute(_at_positions(len(asked)), parameters)}
    found = [rows.get(place) for place in range(len(wanted))]
    return [None if row is None else (_appearances([row])[0], int(row.answered)) for row in found]


@cache
def _at_positions(number: int) -> Query:
    """Pairs with current answers at so many positions."""
    # As text: whatever SQLAlchemy has for rows of values, it compiles anew each time.
    rows = [
        f"SELECT {row} AS place, :token_hash_{row} AS token_hash, :position_{row} AS position" for row in range(number)
    ]
    hashes = [sa.bindparam(f"token_hash_{row}", type_=sa.LargeBinary) for row in range(number)]
    positions = [sa.bindparam(f"position_{row}", type_=sa.Integer) for row in range(number)]
    text = sa.text(" UNION ALL ".join(rows)).bindparams(*hashes, *positions)
    wanted = text.columns(place=sa.Integer, token_hash=sa.LargeBinary, position=sa.Integer).cte("wanted")
    at = (participants.c.token_hash == wanted.c.token_hash) & (appearances.c.position == wanted.c.position)
    return CURRENT.add_columns(ANSWERED.label("answered"), wanted.c.place).where(at).order_by(None)


def current_answers(connection: sa.Connection, number: int) -> list[PairAnswer]:
    """The current answers of the participant of this number, in the order of their pairs."""
    pairs = read_appearances(connection, CURRENT.where(participants.c.number == number, HAS_ANSWER))
    return [answer for pair in pairs for answer in pair.versions]


def first_and_current(connection: sa.Connection, token_hash: bytes) -> list[tuple[PairAnswer, PairAnswer]]:
    """Of each pair that a participant answered, the last answer before their second look, and the current one."""
    pairs = read_appearances(connection, _VERSIONS_OF_TOKEN, {"token_hash": token_hash})
    return [([one for one in versions if one.round == FIRST][-1], versions[-1]) for *_, versions in pairs]


def anyone_answered(connection: sa.Connection) -> bool:
    """Whether there is any answer at all."""
    return connection.execute(sa.select(answers.c.id).limit(1)).first() is not None


def record(
    connection: sa.Connection,
    token_hash: bytes,
    new: NewAnswer,
    shown_again: Callable[[sa.Connection, bytes], Collection[int]] | None = None,
    before_first: Callable[[sa.Connection, bytes], None] | None = None,
    asked: int = FIRST,
    until: datetime | None = None,
    talked: bool = False,
    batch: AnswerBatch | None = None,
) -> int:
    """Keep an answer, or add it to a `batch`; returns the position of its pair.

    The first answer is version 1. A form sent again, or one that says what is current already, changes nothing;
    anything else is a new version, and the old ones stay, up to MOST_VERSIONS of them in each round. In a second look,
    when only what is `shown_again` can be answered, it is one of the second round. Before the participant's very first
    answer `before_first` may refuse it.

    `asked` is the round of the study that the form is of, and `until` when the first one ends by itself. In the second,
    too, only what is `shown_again` can be answered; what was said in the first is said anew there, so that one who
    keeps an answer is told apart from one who was never asked again. So it is, too, if others `talked` about it in a
    room with whoever answers; an answer given alone must have come before.
    """
    batch = batch or AnswerBatch(connection)
    pair, last = batch.find(token_hash, new.key)
    refuse_unless_open(pair.state)  # known without another question
    refuse_other_round(Standing(round=pair.round, round_over=pair.round_over), asked, new.at, until)
    _refuse_at(pair.stage, asked)
    again = asked == SECOND or pair.stage == Stage.SECOND_LOOK
    if again and not talked and (shown_again is None or pair.position not in shown_again(connection, token_hash)):
        raise NotShownAgain
    position = int(pair.position)
    form = new.nonce.partition("+")[0]
    of_this_form = [] if last is None else _contents_of_form(connection, pair.id, form)
    if talked and last is None:
        raise NotShownAgain
    anew = last is None or ((asked == SECOND or talked) and last.round == FIRST)
    said_before = any(new.says(*said) for said in of_this_form)
    if said_before or (last is not None and not anew and _is_repeat(connection, pair.id, form, new, last)):
        return position
    version = 1 if last is None else last.version + 1
    if version > MOST_VERSIONS * (SECOND if talked else asked) or len(of_this_form) == _MOST_OF_ONE_FORM:
        raise ChangedTooOften
    if before_first is not None and not pair.has_answered:
        batch.write()  # which may be too many answers for this one
        before_first(connection, token_hash)
    # One form with two different answers: someone pressed another button before the first reply came.
    nonce = f"{form}+{len(of_this_form)}" if of_this_form else form
    batch.add(
        {
            "appearance_id": pair.id,
            "version": version,
            "nonce": nonce,
            "answer": str(new.answer),
            "why": new.why or "",
            "confidence": new.confidence,
            # Of the answer itself, which may have been given before why.
            "seconds": new.seconds if anew or last is None or last.answer != new.answer else last.seconds,
            "answered_at": max(pair.consented_at, new.at),  # also where the clock was put back meanwhile
            "round": SECOND if again or talked else FIRST,
        },
    )
    return position


class Keep(Protocol):
    """How an answer is kept: :func:`record`, or something around it."""

    def __call__(
        self, connection: sa.Connection, token_hash: bytes, new: NewAnswer, *, batch: AnswerBatch | None = None
    ) -> int:
        """Return the position of its pair."""


class SentAnswer(NamedTuple):
    """An answer as it came, and how it is kept."""

    token_hash: bytes
    new: NewAnswer
    keep: Keep


def record_all(connection: sa.Connection, sent: Sequence[SentAnswer]) -> list[int | StoreProblem]:
    """Record answers that arrived together; return the position of each one's pair, or why it is refused."""
    batch = AnswerBatch(connection, [(one.token_hash, one.new.key) for one in sent])
    outcomes: list[int | StoreProblem] = []
    for one in sent:
        try:
            outcomes.append(one.keep(connection, one.token_hash, one.new, batch=batch))
        except StoreProblem as refusal:  # raised before anything of this answer was written
            outcomes.append(refusal)
    batch.write()
    return outcomes


def _refuse_at(stage: str, asked: int) -> None:
    """Refuse an answer of someone who is not at the pairs; for the second round of all it is enough to have answered.

    Whoever has not is shown nothing again.
    """
    if asked == FIRST and stage == Stage.FINISHED:
        raise AlreadyFinished
    if asked == FIRST and stage not in ANSWERING:
        raise NotYet


def _contents_of_form(connection: sa.Connection, appearance_id: int, form: str) -> list[_Content]:
    """What a form said so far: its first answer is kept under its nonce, others under ``nonce+1`` and so on."""
    nonces = [form, *(f"{form}+{number}" for number in range(1, _MOST_OF_ONE_FORM))]
    rows = connection.execute(_OF_FORM, {"appearance_id": appearance_id, "nonces": nonces})
    return [(row.answer, row.why, row.confidence) for row in rows]


def _is_repeat(
    connection: sa.Connection,
    appearance_id: int,
    nonce: str,
    new: NewAnswer,
    current: AnyRow,
) -> bool:
    """Whether a form says what is current already, or did so when it was sent for the first time.

    It is remembered, since sent again after another answer it would undo that answer.
    """
    form = {"appearance_id": appearance_id, "nonce": nonce}
    remembered = {number: tuple(what) for number, *what in connection.execute(_REPEATED, form)}
    if not new.says(current.answer, current.why, current.confidence):
        return any(new.says(*said) for said in remembered.values())
    if current.version not in remembered and connection.execute(_HOW_MANY_REPEATS, form).scalar_one() < _MOST_REPEATS:
        connection.execute(sa.insert(repeats), {**form, "version": current.version})
    return True
