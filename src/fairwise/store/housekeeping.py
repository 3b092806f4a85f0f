"""What a server does beside answering: deleting what is due, and the files that nobody may find any more."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from fairwise.store import fit_files
from fairwise.store.erasure import clean_files, forget_in_time, needs_cleaning
from fairwise.store.errors import StoreUnavailable
from fairwise.store.export import judge_name
from fairwise.store.jobs import all_jobs
from fairwise.store.store import Store
from fairwise.store.tables import participants
from fairwise.study.folder import StudyFolder
from fairwise.tables.output import write_whole

SECONDS_BETWEEN = 3600.0
LEAST_SECONDS = 5.0
LARGEST_SHARE = 0.01
"""Of the time that this may take. SQLite's file is written anew after somebody withdrew, and meanwhile nobody's answer
can be saved: of strangers who come and withdraw in a loop, each would hold up everyone."""

_LAST_MILLISECONDS = 1000
_log = logging.getLogger("fairwise")


def tidy_fits(study: Path, store: Store) -> None:
    """Delete files of fits that nobody will use; none of them ends meanwhile."""
    store.change_now(lambda connection: fit_files.remove_leftovers(study, all_jobs(connection, locked=True)))


class Housekeeper:
    """Works when a server starts, every hour, and when it is woken since something was deleted."""

    def __init__(self, study: Callable[[], StudyFolder | None], store: Store, database: str | Path) -> None:
        self._study, self._store, self._database = study, store, database
        self._woken = asyncio.Event()
        self._at_work = threading.Lock()

    def wake(self) -> None:
        """Take what was just deleted out of the files: at once, or as soon as it may take that time again.

        That it is to be done is noted in the database, and so it is done also if the server ends before.
        """
        self._woken.set()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """While the block lasts, and once more at its end."""
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
        """Clean the files before the server is gone, if that is still to be done and nobody is in the way.

        A task that is cancelled leaves its thread at work, and the store is closed after this.
        """
        with self._at_work, suppress(StoreUnavailable):
            if self._store.read_now(needs_cleaning):
                clean_files(self._database, _LAST_MILLISECONDS)


# Models of version 0.1 hold the prices of single answers: these are moved beside them, where erasing reaches them.


def move_prices_out(study: Path, store: Store) -> None:
    """Rewrite every model file of a study that holds prices; they are kept if everyone in them still takes part."""
    files = sorted((study / fit_files.JOBS).glob(f"*/{fit_files.MODEL}"))
    if not files:
        return
    everyone = store.read_now(_judges)
    for file in files:
        try:
            _move(file, everyone)
        except Exception as error:  # noqa: BLE001 - whatever is in it, the study is served
            _log.error(
                "%s: may hold single answers, and could not be rewritten without them, so it is neither handed out nor "
                "put into backups: %s",
                file,
                error,
            )


def _judges(connection: sa.Connection) -> set[str]:
    return set(map(judge_name, connection.execute(sa.select(participants.c.number)).scalars()))


def _move(file: Path, everyone: set[str]) -> None:
    with zipfile.ZipFile(file) as archive:
        schema = json.loads(archive.read(fit_files.MODEL_SCHEMA))
        node = schema["content"].get(fit_files.MODEL_PRICES)
        if not node or not node["content"]:
            return
        members = {name: archive.read(name) for name in archive.namelist()}
    prices = {
        name: [json.loads(cell["content"]) for cell in column["content"]] for name, column in node["content"].items()
    }
    # Without the report somebody was erased since, and with them all that names single answers.
    if not everyone.issuperset(prices["judge"]):
        for name in fit_files.WITH_ANSWERS:
            file.with_name(name).unlink(missing_ok=True)
    elif (file.parent / fit_files.REPORT).exists():
        write_whole(
            file.with_name(fit_files.PRICES),
            lambda draft: pq.write_table(pa.table(prices), draft),
            private=True,
            lasting=True,
        )
    node["content"], node["key_types"]["content"] = {}, []
    members[fit_files.MODEL_SCHEMA] = json.dumps(schema, indent=2).encode()
    write_whole(file, lambda draft: _write(draft, members), private=True, lasting=True)


def _write(draft: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(draft, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
