"""The jobs of several studies in one process: one job at a time, of one study after the other."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from fairwise.errors import InputError
from fairwise.jobs.runner import LOOKING_SECONDS, Runner
from fairwise.store.identity import FILE
from fairwise.store.log_lines import log_lines_of
from fairwise.store.places import Place, find_places
from fairwise.store.store import Store

_log = logging.getLogger("fairwise.jobs")
_SECONDS_BETWEEN_LOOKS = 5.0


@dataclass(frozen=True)
class _Opened:
    runner: Runner
    store: Store


class SeveralRunners:
    """One runner for each study that is served, of which only one is at work: a small machine has room for one fit.

    Each does one job at most before it is the next one's turn, so a study with many jobs holds up no other.
    """

    def __init__(
        self,
        folder: Path,
        database: str | None,
        stopping: Event,
        dask_address: str | None = None,
        *,
        equal: bool = False,
    ) -> None:
        self._folder, self._database, self._stopping = folder, database, stopping
        self._address, self._equal = dask_address, equal
        self._opened: dict[str, _Opened] = {}
        self._complaints: dict[str, str] = {}
        self._next_look = 0.0

    def work(self) -> None:
        """Until told to stop."""
        while not self._stopping.is_set():
            if not self.work_in_turn():
                self._stopping.wait(LOOKING_SECONDS)
        self.close()

    def close(self) -> None:
        for name in list(self._opened):
            self._close(name)

    def work_in_turn(self) -> bool:
        """Do one job of each study that has one; returns whether there was any."""
        if time.monotonic() >= self._next_look:
            self._look()
            self._next_look = time.monotonic() + _SECONDS_BETWEEN_LOOKS
        found = False
        for name, opened in list(self._opened.items()):
            if self._stopping.is_set():
                break
            with log_lines_of(name):
                found = opened.runner.work_once() or found
        return found

    def _look(self) -> None:
        """Open what the server has opened before: it is the server that makes databases, and says what is wrong."""
        try:
            found = find_places(self._folder, self._database).studies
        except OSError as error:
            _log.warning("%s cannot be read: %s", self._folder, error)
            return
        places = {name: place for name, place in found.items() if (place.path / FILE).exists()}
        for name in [name for name in self._opened if name not in places]:
            self._close(name)
        for name, place in places.items():
            if name not in self._opened:
                self._open(place)

    def _open(self, place: Place) -> None:
        with log_lines_of(place.name):
            try:
                store = Store.open(place.database, None, place.path)
            except (InputError, OSError) as error:
                if self._complaints.get(place.name) != str(error):  # once, and not every time
                    self._complaints[place.name] = str(error)
                    _log.error("Its models cannot be made: %s", error)
                return
        self._complaints.pop(place.name, None)
        runner = Runner(place.path, store, self._stopping, self._address, equal=self._equal)
        self._opened[place.name] = _Opened(runner, store)

    def _close(self, name: str) -> None:
        self._opened.pop(name).store.close()
