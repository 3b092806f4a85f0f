"""Two rounds of a study with two arms, played on its store alone."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.support.someone import shown_pair

from fairwise.judgments import Answer
from fairwise.store import deliberation, participants, rooms
from fairwise.store.operators import Operator
from fairwise.store.recording import NewAnswer, RoundPolicy, record
from fairwise.study.deliberation import Step, Turn
from fairwise.study.recruitment import Arrival
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.store.store import Store
    from fairwise.study.folder import StudyFolder

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TWO_ARMS = [{"name": "talk"}, {"name": "again", "reasons": False}]
PAIRS = 4


def play_two_rounds(folder: StudyFolder, store: Store) -> None:
    """Twelve people answer four fixed pairs; eleven come back, and those of the arm `talk` then say all are the same.

    The others keep their answers. Reasons for "same" are released, and no others.
    """
    write: Callable[..., Any] = store.change_now
    tokens = []
    for number in range(12):
        token = secrets.token_bytes(32)
        consent = participants.Consent(token, "v1", NOW, Stage.PAIRS, timedelta(days=1))
        write(lambda c, consent=consent: participants.start(c, consent, folder.schedule, lambda: secrets.token_hex(9)))
        for position in range(1, PAIRS + 1):
            new = _answer(store, token, position, _alone(number, position), "Because.")
            write(partial(record, token_hash=token, new=new))
        closing = partial(participants.finish, rules="", expressible="", comments="", arms=folder.arms_at_end)
        write(partial(closing, token_hash=token, at=NOW))
        tokens.append(token)
    write(partial(deliberation.end_first_round, at=NOW))
    write(partial(deliberation.open_second_round, at=NOW, until=None, prices={}))
    pairs = {pair.two for pair in store.read_now(deliberation.round_list)}
    every = store.read_now(partial(deliberation.reasons_about, pairs=pairs))
    same = {reason.answer_id: "ABCD" for reason in every if reason.answer == Answer.SAME}
    write(
        partial(deliberation.decide_reasons, names=same, state="released", operator=Operator(1, "Ada", "owner"), at=NOW)
    )
    turns = folder.arms_at_end
    assert turns is not None
    for number, token in enumerate(tokens[:-1]):  # the last one does not come back
        for position in range(1, PAIRS + 1):
            answer = Answer.SAME if turns[number] == "talk" else _alone(number, position)
            new = _answer(store, token, position, answer, "")
            write(partial(record, token_hash=token, new=new, policy=deliberation.second_round_policy(10)))


def play_in_room(folder: StudyFolder, store: Store) -> None:
    """Six people answer four fixed pairs alone and, having talked in a room, say that all are the same."""
    write: Callable[..., Any] = store.change_now
    code = write(partial(rooms.open_room, name="Hall", at=NOW))
    tokens = [secrets.token_bytes(32) for _ in range(6)]
    for token in tokens:
        arrival = Arrival.into_room(code)
        consent = participants.Consent(token, "v1", NOW, Stage.PAIRS, timedelta(days=1), arrival=arrival)
        write(lambda c, consent=consent: participants.start(c, consent, folder.schedule, lambda: secrets.token_hex(9)))
    fixed, turn = folder.schedules.fixed, Turn()
    for pair, two in enumerate(fixed, start=1):
        for step in (Step.ALONE, Step.SHOWN, Step.AGAIN):
            seen, turn = turn, Turn(pair, step)
            write(partial(rooms.change_turn, code=code, seen=seen, to=turn, pairs=len(fixed)))
            for number, token in enumerate(tokens) if step != Step.SHOWN else ():
                position = store.read_now(partial(rooms.own_pair, token_hash=token, two=two)).position
                answer = Answer.SAME if step == Step.AGAIN else _alone(number, position)
                policy = RoundPolicy(in_rooms=True, turn=turn, fixed_pairs=fixed)
                write(partial(record, token_hash=token, new=_answer(store, token, position, answer, ""), policy=policy))


def _alone(number: int, position: int) -> Answer:
    return Answer.SAME if (number + position) % 2 else Answer.NO_CONSTRAINT


def _answer(store: Store, token: bytes, position: int, answer: Answer, why: str) -> NewAnswer:
    key = store.read_now(partial(shown_pair, token_hash=token, position=position)).key
    return NewAnswer(key, secrets.token_hex(8), answer, why, None, 1.5, NOW)
