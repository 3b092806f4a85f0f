"""A participant as the web app handles one, on a store alone."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fairwise.store import answers, participants, recording
from fairwise.store.store import Batchable
from fairwise.study.schedules import ShownPair
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from fairwise.judgments import Answer
    from fairwise.store.store import Store

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TOTAL = 3
LEASE = timedelta(hours=24)


def schedule(number: int, _slot: int) -> list[ShownPair]:
    return [ShownPair(f"{number}-{k}a", f"{number}-{k}b", "uniform", None) for k in range(TOTAL)]


def shown_pair(connection: Connection, token_hash: bytes, position: int, places: int = 0) -> answers.Appearance:
    """A pair of a participant."""
    return answers.appearance_at(connection, token_hash, position, places)[0]


class Someone:
    """A participant as the web app handles one."""

    def __init__(self, store: Store, token: bytes | None = None, stage: Stage = Stage.PAIRS) -> None:
        self.store, self.token = store, token or secrets.token_bytes(32)
        self.start(stage)

    def start(self, stage: Stage = Stage.PAIRS) -> participants.Participant:
        consent = participants.Consent(self.token, "v1", NOW, stage, LEASE)
        started: participants.Participant = self.write(
            lambda c: participants.start(c, consent, schedule, lambda: secrets.token_urlsafe(18))
        )
        return started

    def write(self, change: Callable[..., Any]) -> Any:
        return self.store._writer.submit(change).result(timeout=300)

    def read(self, question: Callable[..., Any], **more: Any) -> Any:
        return self.store.read_now(partial(question, token_hash=self.token, **more))

    def answer(self, position: int, answer: Answer, nonce: str, key: str | None = None, why: str = "") -> int:
        key = key or self.read(shown_pair, position=position).key
        new = recording.NewAnswer(key, nonce, answer, why, None, 1.0, NOW)
        return int(self.write(Batchable(recording.record_all, recording.SentAnswer(self.token, new))))

    def finish(self) -> None:
        self.write(partial(participants.finish, token_hash=self.token, rules="", expressible="", comments="", at=NOW))

    def withdraw(self) -> None:
        self.write(partial(participants.withdraw, token_hash=self.token, at=NOW))
