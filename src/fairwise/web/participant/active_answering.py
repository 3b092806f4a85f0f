"""Taking an answer in a study with active pairs: together with the pair that it leads to."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from fairwise.store import active_assignment as laying_out
from fairwise.store import pairs
from fairwise.store.errors import StoreUnavailable
from fairwise.study.active.chooser import Situation, StudyChooser
from fairwise.study.active.model import GivenAnswer
from fairwise.study.signing import Keys
from fairwise.web.participant.answer_model_refresh import CommonModel
from fairwise.web.participant.answering import Answering

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.store.active_assignment import Choice, Keep, Upcoming
    from fairwise.store.pairs import NewAnswer
    from fairwise.store.store import Store
    from fairwise.study.folder import StudyFolder

# A choice is made anew if the same participant said something else meanwhile, in another tab.
_TRIES = 10


class ActiveAnswering(Answering):
    """Chooses beside the event loop and before anything is written, from the answers so far and the new one."""

    def __init__(self, study: StudyFolder, store: Store, database: str | Path) -> None:
        super().__init__(store)
        self._places = study.settings.pairs
        self._model = CommonModel(StudyChooser.of(study), store, database)
        # One at a time: in Python two would only wait for each other.
        self._thread = ThreadPoolExecutor(1, "fairwise-chooser")
        # Matrices this small are multiplied sooner by one core than by several that have to agree.
        self._one_core = threadpool_limits(1, "blas")

    async def record(self, token_hash: bytes, new: NewAnswer, keep: Keep = pairs.record) -> int:
        look = partial(laying_out.upcoming, token_hash=token_hash, key=new.key, places=self._places)
        for _ in range(_TRIES):
            upcoming, choice = await self._store.read(look), None
            if upcoming is not None:
                choice = await asyncio.get_running_loop().run_in_executor(self._thread, self._chosen, upcoming, new)
            change = partial(laying_out.record, token_hash=token_hash, new=new, choice=choice, keep=keep)
            position = await self._store.write(change)
            if position is not None:
                self._model.one_more_answer()
                return position
        raise StoreUnavailable

    def _chosen(self, upcoming: Upcoming, new: NewAnswer) -> Choice:
        known = self._model.now
        return laying_out.Choice(upcoming, known.chooser.choose(situation(upcoming, new)), known.model_id, Keys.new())

    def close(self) -> None:
        self._thread.shutdown()
        self._model.close()
        self._one_core.restore_original_limits()


def situation(upcoming: Upcoming, new: NewAnswer) -> Situation:
    """What is known once the new answer is kept."""
    said = {laid.position: laid.answer for laid in upcoming.laid_out} | {upcoming.after: new.answer}
    own = [
        GivenAnswer("", laid.a, laid.b, answer)
        for laid in upcoming.laid_out
        if (answer := said[laid.position]) is not None
    ]
    everything = [(laid.a, laid.b) for laid in upcoming.laid_out]
    return Situation(upcoming.participant_number, upcoming.after + 1, own, everything)
