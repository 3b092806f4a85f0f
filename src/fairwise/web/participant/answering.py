"""Storing an answer, and choosing the pair that it leads to."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic

from threadpoolctl import threadpool_limits

from fairwise.store import recording
from fairwise.store.engine import database_url, reading_engine
from fairwise.store.errors import StoreUnavailable
from fairwise.store.logs import with_log_lines
from fairwise.store.recording import Choice, EmptyPlace, NewAnswer, SentAnswer
from fairwise.store.store import Batchable, Store
from fairwise.study.active import ParticipantAnswer, Situation, StudyChooser, written
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Keys


class Answering:
    """Store answers of a study whose pairs are all laid out at the beginning."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def record(self, sent: SentAnswer) -> int:
        """Record an answer; return the position of its pair."""
        return await self._store.write(Batchable(recording.record_all, sent))

    def close(self) -> None:
        """Wait for what is in progress."""


def answering(study: StudyFolder, store: Store, database: str | Path) -> Answering:
    """Return the way in which a study stores answers."""
    if not study.settings.design.active:
        return Answering(store)
    return ActiveAnswering(study, store, database)


# A choice is made anew if the same participant said something else meanwhile, in another tab.
_TRIES = 10


class ActiveAnswering(Answering):
    """Store answers of a study with active pairs; each answer decides the next pair, in a thread before the write."""

    def __init__(self, study: StudyFolder, store: Store, database: str | Path) -> None:
        super().__init__(store)
        self._places = study.settings.pairs
        self.model = CommonModel(StudyChooser.of(study), store, database)
        # One at a time: in Python two would only wait for each other.
        self._thread = ThreadPoolExecutor(1, "fairwise-chooser")
        # Matrices this small are multiplied sooner by one core than by several that have to agree.
        self._one_core = threadpool_limits(1, "blas")

    async def record(self, sent: SentAnswer) -> int:
        look = partial(recording.empty_place, token_hash=sent.token_hash, key=sent.new.key, places=self._places)
        for _ in range(_TRIES):
            place, choice = await self._store.read(look), None
            if place is not None:
                choice = await asyncio.get_running_loop().run_in_executor(self._thread, self._chosen, place, sent.new)
            position = await self._store.write(partial(recording.record_with_choice, sent=sent, choice=choice))
            if position is not None:
                self.model.count_answer()
                return position
        raise StoreUnavailable

    def _chosen(self, place: EmptyPlace, new: NewAnswer) -> Choice:
        now = self.model.now
        return Choice(place, now.chooser.choose(situation(place, new)), now.model_id, Keys.new())

    def close(self) -> None:
        self._thread.shutdown()
        self.model.close()
        self._one_core.restore_original_limits()


def situation(place: EmptyPlace, new: NewAnswer) -> Situation:
    """Return what is known once the new answer is recorded."""
    answered = {pair.position: pair.answer.answer for pair in place.laid_out if pair.answer is not None}
    answered[place.after] = new.answer
    own = [
        ParticipantAnswer("", pair.a, pair.b, answered[pair.position])
        for pair in place.laid_out
        if pair.position in answered
    ]
    shown = [(pair.a, pair.b) for pair in place.laid_out]
    return Situation(place.participant_number, place.after + 1, own, shown)


_log = logging.getLogger("fairwise")
# Anew when there are so many more answers, and not more often than this.
_GROWTH = 0.1
_SECONDS = 1.0
# Of fewer people than these nothing is learned in common: it would be hardly more than what one of them said.
FEWEST_PARTICIPANTS = 3


@dataclass(frozen=True, eq=False)
class ChooserState:
    """A chooser and the id of its stored model, None before one was learned."""

    chooser: StudyChooser
    model_id: int | None
    learned_from: int


class CommonModel:
    """The newest stored model of all participants; the next one is learned in a thread with its own connection."""

    def __init__(self, nobody: StudyChooser, store: Store, database: str | Path) -> None:
        self._nobody, self._store = nobody, store
        self._database = reading_engine(database_url(database))  # not the store's, for which others would have to wait
        self.now = self._stored(store.read_now(recording.newest_model))
        self._new_answers, self._last = 0, monotonic() - _SECONDS
        self._thread = ThreadPoolExecutor(1, "fairwise-learner")
        self.learning: Future[None] | None = None

    def count_answer(self) -> None:
        """Start learning if it is time. Called from the event loop."""
        self._new_answers += 1
        busy = self.learning is not None and not self.learning.done()
        if busy or self._new_answers < _GROWTH * self.now.learned_from or monotonic() < self._last + _SECONDS:
            return
        self._new_answers, self._last = 0, monotonic()
        self.learning = self._thread.submit(with_log_lines(self._learn))

    def close(self) -> None:
        """Wait for what is in progress."""
        self._thread.shutdown()
        self._database.dispose()

    def _learn(self) -> None:
        try:
            self.now = self._newer()
        except Exception:  # noqa: BLE001 - what was known is still good, and people go on answering
            _log.exception("learning what participants have in common failed; going on with what was known")

    def _newer(self) -> ChooserState:
        with self._database.connect() as connection:
            stored, answered = recording.newest_model(connection), recording.count_answered(connection)
            now = self.now if stored is None or stored.id == self.now.model_id else self._stored(stored)
            # Fewer than it was learned from, if someone withdrew: then what they said is not used any longer.
            if now.learned_from <= answered < (1 + _GROWTH) * now.learned_from:
                return now
            judgments = recording.all_current_answers(connection)
        if len({one.participant for one in judgments}) < FEWEST_PARTICIPANTS:
            return now
        chooser = self._nobody.learned(judgments)
        keep = partial(
            recording.add_model,
            learned_from=len(judgments),
            parameters=written(chooser.chooser.model),
            at=datetime.now(UTC),
        )
        return ChooserState(chooser, self._store.change_now(keep), len(judgments))

    def _stored(self, stored: recording.StoredModel | None) -> ChooserState:
        if stored is None:
            return ChooserState(self._nobody, None, 0)
        chooser = self._nobody.restored(stored.parameters, stored.learned_from)
        return ChooserState(chooser, stored.id, stored.learned_from)
