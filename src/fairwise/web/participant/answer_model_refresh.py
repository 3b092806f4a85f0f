"""What all participants have in common, learned anew now and then while they answer, beside all else."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from fairwise.judgments import Answer
from fairwise.store import answer_models
from fairwise.store.engine import database_url, reading_engine
from fairwise.study.active.model import GivenAnswer, written

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.store.store import Store
    from fairwise.study.active.chooser import StudyChooser

_log = logging.getLogger("fairwise")
# Anew when there are so many more answers, and not more often than this.
_GROWTH = 0.1
_SECONDS = 1.0
# Of fewer people than these nothing is learned in common: it would be hardly more than what one of them said.
FEWEST_PARTICIPANTS = 3


@dataclass(frozen=True, eq=False)
class Known:
    """A chooser and the model that it has learned, as it is kept; None if it knows nothing yet."""

    chooser: StudyChooser
    model_id: int | None
    learned_from: int


class CommonModel:
    """The newest one that is kept; one at a time is learned, in a thread, from a look at the database of its own."""

    def __init__(self, nobody: StudyChooser, store: Store, database: str | Path) -> None:
        self._nobody, self._store = nobody, store
        self._database = reading_engine(database_url(database))  # not the store's, for which others would have to wait
        self.now = self._stored(store.read_now(answer_models.newest))
        self._new_answers, self._last = 0, monotonic() - _SECONDS
        self._thread = ThreadPoolExecutor(1, "fairwise-learner")
        self._learning: Future[None] | None = None

    def one_more_answer(self) -> None:
        """Learn anew if it is time; never waits. Called by one thread, that of the event loop."""
        self._new_answers += 1
        busy = self._learning is not None and not self._learning.done()
        if busy or self._new_answers < _GROWTH * self.now.learned_from or monotonic() < self._last + _SECONDS:
            return
        self._new_answers, self._last = 0, monotonic()
        self._learning = self._thread.submit(self._learn)

    def close(self) -> None:
        """Finish what was begun."""
        self._thread.shutdown()
        self._database.dispose()

    def _learn(self) -> None:
        try:
            self.now = self._newer()
        except Exception:  # noqa: BLE001 - what was known is still good, and people go on answering
            _log.exception("learning what participants have in common failed; going on with what was known")

    def _newer(self) -> Known:
        with self._database.connect() as connection:
            stored, answered = answer_models.newest(connection), answer_models.how_many_answered(connection)
            found = self.now if stored is None or stored.id == self.now.model_id else self._stored(stored)
            # Fewer than it was learned from, if someone withdrew: then what they said is not used any longer.
            if found.learned_from <= answered < (1 + _GROWTH) * found.learned_from:
                return found
            rows = answer_models.everything_said(connection)
        if len({number for number, *_ in rows}) < FEWEST_PARTICIPANTS:
            return found
        said = [GivenAnswer(str(number), a, b, Answer(answer)) for number, a, b, answer in rows]
        chooser = self._nobody.learned(said)
        keep = partial(
            answer_models.keep,
            learned_from=len(said),
            parameters=written(chooser.chooser.model),
            at=datetime.now(UTC),
        )
        return Known(chooser, self._store.change_now(keep), len(said))

    def _stored(self, stored: answer_models.StoredModel | None) -> Known:
        if stored is None:
            return Known(self._nobody, None, 0)
        chooser = self._nobody.restored(stored.parameters, stored.learned_from)
        return Known(chooser, stored.id, stored.learned_from)
