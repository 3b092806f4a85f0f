"""Those who compute: one process of our own with the lowest priority, or a cluster of dask that is there already."""

from __future__ import annotations

import logging
import os
import signal
from contextlib import suppress
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Self

import dask
import distributed
from distributed import Client, KilledWorker, LocalCluster

from fairwise import __version__
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from distributed import Future

Call = tuple[Any, ...]
"""A function and what it is given."""

_CLOSING_SECONDS = 5


class Workers:
    """Opened for one job. When it is left, whatever they are at is stopped at once, in the middle of a fit too."""

    def __init__(self, address: str | None, scratch: Path, *, equal: bool) -> None:
        self._address, self._scratch = address, scratch
        self._preload = [] if equal else ["fairwise.jobs.lowest_priority"]
        self._cluster: LocalCluster | None = None
        self._client: Client | None = None
        self._futures: dict[str, Future[Any]] = {}

    def __enter__(self) -> Self:
        dask.config.set(
            {
                "distributed.admin.large-graph-warning-threshold": "1GB",
                "distributed.scheduler.http.routes": [],  # no pages of its own for others to look at
                "distributed.worker.http.routes": [],
                "distributed.scheduler.worker-ttl": None,  # one that gets no turn for minutes is slow, not dead
            }
        )
        for name in ("distributed", "distributed.nanny"):  # that a worker was killed is what was wanted
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if self._address is None:
            self._cluster = LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # None would listen to the whole network
                preload=self._preload,
                local_directory=str(self._scratch),
                silence_logs=logging.CRITICAL,
            )
        try:
            self._client = Client(self._cluster or self._address, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(f"The dask scheduler at {self._address} cannot be reached: {error}") from None
        if self._cluster is None:
            self._check_versions()
        return self

    def _check_versions(self) -> None:
        """A worker that does not know our functions would not fail, but never answer."""
        found = self.client.run(resolve_name, "fairwise:__version__", on_error="return")
        others = {worker: told for worker, told in found.items() if told != __version__}
        for worker, told in others.items():
            has = f"has fairwise {told}" if isinstance(told, str) else "has no fairwise"
            raise InputError(f"The dask worker {worker} {has}; it needs fairwise {__version__}, as this server.")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        with suppress(Exception):
            self.client.close(_CLOSING_SECONDS)
        if self._cluster is not None:
            with suppress(Exception):
                self._cluster.close(_CLOSING_SECONDS)

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    def do(self, calls: Mapping[str, Call], done: Callable[[str, Any], None], wait: Callable[[], None]) -> None:
        """Make calls, as many at once as there are workers; `wait` is called again and again, and may raise."""
        self._futures = {name: self.client.submit(*call, pure=False) for name, call in calls.items()}
        while self._futures:
            for name, future in list(self._futures.items()):
                if future.done():
                    done(name, _result(future))
                    del self._futures[name]
            wait()

    def _stop(self) -> None:
        """End what runs: a fit cannot be asked to stop, so its process is ended."""
        if self._cluster is not None:
            for nanny in self._cluster.workers.values():
                nanny.auto_restart = False
                if nanny.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(nanny.pid, signal.SIGKILL)
            return
        if not self._futures:
            return
        with suppress(Exception):  # the cluster may be gone
            ours = {future.key for future in self._futures.values()}
            busy = [worker for worker, keys in self.client.processing().items() if ours & set(keys)]
            self.client.cancel(list(self._futures.values()), force=True)
            if busy:
                self.client.restart_workers(busy, timeout=_CLOSING_SECONDS, raise_for_error=False)


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except KilledWorker:
        raise InputError("The fit was ended from outside several times, perhaps for want of memory.") from None
    except distributed.CancelledError:
        raise InputError("The dask cluster has lost this fit; try it again.") from None
