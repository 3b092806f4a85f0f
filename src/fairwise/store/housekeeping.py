"""Housekeeping of a server: delete data that is due, and files that nobody may find any more."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from fairwise.store import fit_files
from fairwise.store.erasure import clean_files, forget_in_time, needs_cleaning
from fairwise.store.errors import StoreUnavailable
from fairwise.store.jobs import all_jobs
from fairwise.store.store import Store
from fairwise.study.folder import StudyFolder

SECONDS_BETWEEN = 3600.0
LEAST_SECONDS = 5.0
LARGEST_SHARE = 0.01
"""Largest share of time for housekeeping. While SQLite's file is rewritten after a withdrawal, no answer can be saved:
strangers who come and withdraw in a loop would hold up everyone."""

_LAST_MILLISECONDS = 1000
_log = logging.getLogger("fairwise")


def tidy_fits(study: Path, store: Store) -> None:
    """Delete files of fits that nobody will use. No fit ends meanwhile."""
    store.change_now(lambda connection: fit_files.remove_leftovers(study, all_jobs(connection, locked=True)))


class Housekeeper:
    """Works when a server starts, every hour, and after a deletion."""

    def __init__(self, study: Callable[[], StudyFolder | None], store: Store, database: str | Path) -> None:
        self._study, self._store, self._database = study, store, database
        self._woken = asyncio.Event()
        self._at_work = threading.Lock()

    def wake(self) -> None:
        """Remove deleted data from the files: now, or as soon as the share of time allows.

        The database knows that it is due, so it is done even if the server ends before.
        """
        self._woken.set()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work while the block lasts, and once more at its end."""
        work = asyncio.create_task(self._run())
        try:
            yield
        finally:
            work.cancel()
            await asyncio.wait([work])
            await asyncio.to_thread(self._end)

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            begun = time.monotonic()
            try:
                await asyncio.to_thread(self._work)
            except StoreUnavailable:
                _log.warning("What is due to be deleted could not be deleted; trying again in an hour")
            except Exception:  # noqa: BLE001 - nobody else looks at this task, and the next time it may work
                _log.exception("What is due to be deleted could not be deleted; trying again in an hour")
            pause = min(max((time.monotonic() - begun) / LARGEST_SHARE, LEAST_SECONDS), SECONDS_BETWEEN)
            await asyncio.sleep(pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), SECONDS_BETWEEN - pause)

    def _work(self) -> None:
        with self._at_work:
            study = self._study()
            if study is not None:
                tidy_fits(study.path, self._store)
                forget_in_time(study.settings, self._store, self._database)

    def _end(self) -> None:
        """Clean the files before the server ends, if that is due and nobody is in the way.

        The thread of a cancelled task goes on, and the store is closed after this.
        """
        with self._at_work, suppress(StoreUnavailable):
            if self._store.read_now(needs_cleaning):
                clean_files(self._database, _LAST_MILLISECONDS)
