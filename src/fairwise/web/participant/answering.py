"""Taking an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.store import pairs

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.store.active_assignment import Keep
    from fairwise.store.pairs import NewAnswer
    from fairwise.store.store import Store
    from fairwise.study.folder import StudyFolder


class Answering:
    """Keeps answers to pairs that were all laid out at the beginning."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def record(self, token_hash: bytes, new: NewAnswer, keep: Keep = pairs.record) -> int:
        """Keep an answer; returns the position of its pair."""
        return await self._store.write(lambda connection: keep(connection, token_hash, new))

    def close(self) -> None:
        """Finish what was begun."""


def answering(study: StudyFolder, store: Store, database: str | Path) -> Answering:
    """Return what this study needs."""
    if not study.settings.design.active:
        return Answering(store)
    from fairwise.web.participant.active_answering import ActiveAnswering

    return ActiveAnswering(study, store, database)
