"""A panel whose members all answered the same pairs, on a store alone: some were shown them on swapped sides."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from tests.support.someone import NOW, Someone, shown_pair

from fairwise.judgments import Answer
from fairwise.store import deliberation, participants
from fairwise.store.recording import NewAnswer, RoundPolicy, record
from fairwise.store.study_state import FIRST, SECOND
from fairwise.study.schedules import ShownPair
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairwise.store.store import Store

MANY = 100
LETTERS = {
    "s": Answer.SAME,
    "a": Answer.A_AT_LEAST_B,
    "b": Answer.B_AT_LEAST_A,
    "n": Answer.NO_CONSTRAINT,
}
TWO = [("1a", "1b"), ("2a", "2b"), ("3a", "3b")]


def shared(number: int, _slot: int) -> list[ShownPair]:
    """The same three pairs for everyone, on other sides for every second one."""
    return [ShownPair(*((a, b) if number % 2 else (b, a)), "fixed", 1.0) for a, b in TWO]


class Panellist(Someone):
    """Someone who answers the same pairs as everybody else."""

    def start(self, stage: Stage = Stage.PAIRS) -> participants.Participant:
        consent = participants.Consent(self.token, "v1", NOW, stage, timedelta(hours=24))
        started: participants.Participant = self.write(
            lambda c: participants.start(c, consent, shared, lambda: secrets.token_urlsafe(18))
        )
        self.number = started.number
        return started

    def says(
        self,
        position: int,
        letter: str,
        *,
        why: str = "",
        asked: int = FIRST,
        nonce: str | None = None,
        at: datetime = NOW,
        until: datetime | None = None,
    ) -> None:
        """Answer a pair: A is meant as the first of TWO, whichever side they are on."""
        answer = LETTERS[letter] if self.number % 2 else LETTERS[letter].swapped()
        new = NewAnswer(
            self.read(shown_pair, position=position).key, nonce or secrets.token_hex(8), answer, why, None, 1.0, at
        )
        policy = deliberation.second_round_policy(MANY) if asked == SECOND else RoundPolicy(until=until)
        self.write(partial(record, token_hash=self.token, new=new, policy=policy))


def panel(store: Store, *answers: str, why: Mapping[int, str] | None = None) -> Sequence[Panellist]:
    """People who finished, each with one letter for each pair; by their place, `why` they gave the first."""
    people = []
    for place, letters in enumerate(answers):
        one = Panellist(store)
        for position, letter in enumerate(letters, start=1):
            one.says(position, letter, why=(why or {}).get(place, "") if position == 1 else "")
        if len(letters) == len(TWO):
            one.finish()
        people.append(one)
    return people


def open_round(store: Store, prices: Mapping[tuple[str, str], float] | None = None) -> int:
    """End the first round and open the second."""
    store.change_now(partial(deliberation.end_first_round, at=NOW))
    return store.change_now(partial(deliberation.open_second_round, at=NOW, until=None, prices=prices or {}))
