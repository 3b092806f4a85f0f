"""A room that talks, on a store: what is kept at which turn, and what the wall may show."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from tests.support.panellists import LETTERS, TWO, Panellist, shared
from tests.support.someone import NOW, shown_pair

from fairwise.judgments import Answer
from fairwise.store import export, participants, quotas, rooms
from fairwise.store.errors import NotYet, Unknown
from fairwise.store.recording import NewAnswer, RoundPolicy, record
from fairwise.store.schema import answers as answers_table
from fairwise.study.deliberation import Step, Turn
from fairwise.study.recruitment import Arrival
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from fairwise.store.store import Store

ALONE, SHOWN, AGAIN, COMPARED = Step.ALONE, Step.SHOWN, Step.AGAIN, Step.COMPARED


def in_room(turn: Turn) -> RoundPolicy:
    return RoundPolicy(in_rooms=True, turn=turn, fixed_pairs=TWO)


class Phone(Panellist):
    """Somebody in a room; "a" is the first of the two on the wall, whichever side they were laid out on."""

    def __init__(self, store: Store, code: str) -> None:
        self.code = code
        super().__init__(store)

    def start(self, stage: Stage = Stage.PAIRS) -> participants.Participant:
        arrival = Arrival.into_room(self.code)
        consent = participants.Consent(self.token, "v1", NOW, stage, timedelta(hours=24), arrival=arrival)
        new_key = partial(secrets.token_urlsafe, 18)
        started: participants.Participant = self.write(lambda c: participants.start(c, consent, shared, new_key))
        self.number = started.number
        return started

    def new(self, position: int, letter: str, nonce: str | None = None) -> NewAnswer:
        key = self.read(shown_pair, position=position).key
        return NewAnswer(key, nonce or secrets.token_hex(8), LETTERS[letter], "", None, 1.0, NOW)

    def presses(self, turn: Turn, letter: str, *, position: int = 0, nonce: str | None = None) -> None:
        new = self.new(position or turn.pair, letter, nonce)
        self.write(partial(record, token_hash=self.token, new=new, policy=in_room(turn)))

    def outside(self, position: int, letter: str) -> None:
        self.write(
            partial(record, token_hash=self.token, new=self.new(position, letter), policy=RoundPolicy(in_rooms=True))
        )


class TalkingRoom:
    """With its phones."""

    def __init__(self, store: Store, phones: int) -> None:
        self.store = store
        self.code: str = store.change_now(partial(rooms.open_room, name="Class 7b", at=NOW))
        self.phones = [Phone(store, self.code) for _ in range(phones)]

    @property
    def talk(self) -> rooms.Talk:
        found = self.store.read_now(partial(rooms.talk_in, code=self.code))
        assert found is not None
        return found

    def go(self, pair: int, step: Step, seen: Turn | None = None) -> bool:
        move = partial(
            rooms.change_turn, code=self.code, seen=seen or self.talk.turn, to=Turn(pair, step), pairs=len(TWO)
        )
        return self.store.change_now(move)

    def wall(self, pair: int) -> rooms.RoomAnswers:
        return self.store.read_now(partial(rooms.room_answers, room_id=self.talk.room_id, two=TWO[pair - 1]))


@pytest.fixture
def room(store: Store) -> TalkingRoom:
    return TalkingRoom(store, phones=4)


def test_a_pair_is_answered_alone_and_again_and_both_are_kept(room: TalkingRoom, store: Store) -> None:
    assert room.talk.turn == Turn()
    room.go(1, ALONE)
    for phone, letter in zip(room.phones, "aabs", strict=True):
        phone.presses(Turn(1, ALONE), letter)
    room.go(1, SHOWN)
    assert room.wall(1).alone == {Answer.A_AT_LEAST_B: 2, Answer.B_AT_LEAST_A: 1, Answer.SAME: 1}
    room.go(1, AGAIN)
    for phone, letter in zip(room.phones, "aaab", strict=True):  # two keep what they said
        phone.presses(Turn(1, AGAIN), letter)
    room.go(1, COMPARED)
    shown = room.wall(1)
    assert shown.present == 4
    assert shown.alone == {Answer.A_AT_LEAST_B: 2, Answer.B_AT_LEAST_A: 1, Answer.SAME: 1}
    assert shown.again == {Answer.A_AT_LEAST_B: 3, Answer.B_AT_LEAST_A: 1}
    frame = store.read_now(export.judgments).frame
    assert sorted(frame["round"]) == [1, 1, 1, 1, 2, 2, 2, 2]
    # Of half of them the sides were swapped: in the export an answer is about the people, and not the sides.
    said = {(row.judge, row.round): row.a if row.answer == "a_at_least_b" else row.b for row in frame.itertuples()}
    for phone in room.phones[:2]:
        assert said[f"p{phone.number:05}", 1] == "1a"


def test_nothing_is_kept_for_a_turn_that_is_over_or_not_there_yet(room: TalkingRoom, store: Store) -> None:
    phone, other = room.phones[:2]
    for turn in (Turn(1, ALONE), Turn(0, Step.WAITING), Turn(4, ALONE)):
        with pytest.raises(NotYet):
            phone.presses(turn, "s", position=1)
    room.go(1, ALONE)
    phone.presses(Turn(1, ALONE), "s")
    for turn, position in ((Turn(1, AGAIN), 1), (Turn(2, ALONE), 2), (Turn(1, ALONE), 2)):
        with pytest.raises(NotYet):
            phone.presses(turn, "a", position=position)
    room.go(1, SHOWN)
    for turn in (Turn(1, ALONE), Turn(1, SHOWN)):  # who saw the wall says nothing alone any more
        with pytest.raises(NotYet):
            phone.presses(turn, "a")
    room.go(1, AGAIN)
    with pytest.raises(NotYet):
        other.presses(Turn(1, AGAIN), "a")  # who did not answer alone listens
    phone.presses(Turn(1, AGAIN), "s")
    assert store.read_now(lambda c: c.execute(sa.select(answers_table.c.round)).scalars().all()) == [1, 2]


def test_a_form_sent_twice_counts_once_and_a_mind_may_be_changed(room: TalkingRoom) -> None:
    phone, turn = room.phones[0], Turn(1, ALONE)
    room.go(1, ALONE)
    for _ in range(2):
        phone.presses(turn, "s", nonce="one")
    phone.presses(turn, "a", nonce="two")
    phone.presses(turn, "s", nonce="one")  # the first once more, by a reload
    assert room.wall(1).alone == {Answer.A_AT_LEAST_B: 1}


def test_outside_of_the_room_only_what_was_not_answered_in_it_and_afterwards(room: TalkingRoom) -> None:
    phone, late = room.phones[:2]
    with pytest.raises(NotYet):
        phone.outside(1, "s")
    room.go(1, ALONE)
    phone.presses(Turn(1, ALONE), "s")
    for pair in (1, 2, 3):
        room.go(pair, ALONE)
        room.go(pair, SHOWN)
    room.go(3, Step.OVER)
    assert room.talk.turn == Turn(3, Step.OVER)
    with pytest.raises(NotYet):
        phone.outside(1, "a")
    late.outside(1, "a")
    phone.outside(2, "a")


def test_who_came_by_no_room_is_in_none(store: Store) -> None:
    one = Panellist(store)
    assert one.read(rooms.talk_of) is None
    with pytest.raises(Unknown):
        one.write(
            partial(
                record,
                token_hash=one.token,
                new=NewAnswer(one.read(shown_pair, position=1).key, "n", Answer.SAME, "", None, 1.0, NOW),
                policy=in_room(Turn(1, ALONE)),
            )
        )


def test_a_button_pressed_twice_counts_once_and_none_leads_where_it_may_not(room: TalkingRoom) -> None:
    assert room.go(1, ALONE)
    assert room.go(1, SHOWN)
    assert room.go(1, AGAIN)
    assert not room.go(1, AGAIN, seen=Turn(1, SHOWN))
    assert room.go(2, ALONE)
    assert not room.go(2, ALONE, seen=Turn(1, AGAIN))
    for pair, step in ((3, ALONE), (1, ALONE), (2, AGAIN), (2, Step.OVER)):
        assert not room.go(pair, step)
    assert room.talk.turn == Turn(2, ALONE)


def test_of_many_who_press_at_once_one_leads(room: TalkingRoom) -> None:
    with ThreadPoolExecutor(8) as pool:
        led = list(pool.map(lambda _: room.go(1, ALONE, seen=Turn()), range(16)))
    assert led.count(True) == 1


def test_two_rooms_do_not_know_each_other(store: Store) -> None:
    one, other = TalkingRoom(store, 3), TalkingRoom(store, 3)
    one.go(1, ALONE)
    other.go(1, ALONE)
    one.phones[0].presses(Turn(1, ALONE), "a")
    assert (one.wall(1).alone.total(), other.wall(1).alone.total()) == (1, 0)  # type: ignore[attr-defined]
    assert other.talk.turn == Turn(1, ALONE)


def test_of_someone_who_withdrew_or_was_left_out_the_wall_shows_nothing(room: TalkingRoom, store: Store) -> None:
    room.go(1, ALONE)
    for phone in room.phones:
        phone.presses(Turn(1, ALONE), "a")
    room.phones[0].withdraw()
    store.change_now(partial(quotas.exclude, number=room.phones[1].number, reason="asleep", by="Ada", at=NOW))
    shown = room.wall(1)
    assert (shown.present, shown.alone) == (2, {Answer.A_AT_LEAST_B: 2})
