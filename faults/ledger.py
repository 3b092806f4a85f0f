"""What participants were told is saved, and what is in the database; the two are compared."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.store.schema import answers, appearances, participants
from fairwise.store.store import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Said = tuple[str, str]
"""The nonce of a form, and the answer that was sent with it."""


class Ledger:
    """Kept by a participant: for each pair, by its key, every answer that was acknowledged, in order."""

    def __init__(self, token: str) -> None:
        self.token_hash = sha256(token.encode()).digest()
        self.said: dict[str, list[Said]] = defaultdict(list)
        self.finished = False

    def acknowledged(self, key: str, nonce: str, answer: str) -> None:
        """Note a reply that said: saved. Sent again, or the same said once more, it is nothing new."""
        given = self.said[key]
        if (nonce, answer) not in given and (not given or given[-1][1] != answer):
            given.append((nonce, answer))


@dataclass(frozen=True)
class Compared:
    """All of it must be zero but the first two."""

    participants: int
    acknowledged: int
    lost: int
    """Answers that were acknowledged and are not there."""

    doubled: int
    """Answers that are there and that nobody gave, or gave once and are there twice."""

    not_current: int
    """Pairs whose current answer is not the last that was acknowledged."""

    strangers: int
    """Participants more, or fewer, than those who agreed; or finished without having finished, or the reverse."""

    @property
    def whole(self) -> bool:
        return not (self.lost or self.doubled or self.not_current or self.strangers)


Pair = tuple[bytes, str]
"""Whose it is, by the hash of their link, and its key."""


def kept(database: str | Path) -> dict[Pair, list[Said]]:
    """All answers that are in a database, in the order of their versions."""
    query = (
        sa.select(participants.c.token_hash, appearances.c.key, answers.c.nonce, answers.c.answer)
        .select_from(participants.join(appearances).join(answers))
        .order_by(appearances.c.id, answers.c.version)
    )
    found: dict[Pair, list[Said]] = defaultdict(list)
    with snapshot(database) as connection:
        for token_hash, key, nonce, answer in connection.execute(query):
            found[token_hash, key].append((nonce, answer))
    return dict(found)


def compared(database: str | Path, ledgers: Sequence[Ledger]) -> Compared:
    """Ask the database itself, not the app, while nothing is under way."""
    there = kept(database)
    said = {(ledger.token_hash, key): given for ledger in ledgers for key, given in ledger.said.items()}
    with snapshot(database) as connection:
        states = connection.execute(sa.select(participants.c.token_hash, participants.c.finished_at)).all()
    ended = {row.token_hash: row.finished_at is not None for row in states}
    told = {ledger.token_hash: ledger.finished for ledger in ledgers}
    lost = doubled = not_current = 0
    for pair in said.keys() | there.keys():
        given, found = said.get(pair, []), there.get(pair, [])
        lost += len(set(given) - set(found))
        doubled += len(found) - len(set(found) & set(given))
        not_current += bool(given) and (not found or found[-1] != given[-1])
    strangers = sum(ended.get(someone) is not told.get(someone) for someone in ended.keys() | told.keys())
    return Compared(len(told), sum(map(len, said.values())), lost, doubled, not_current, strangers)
