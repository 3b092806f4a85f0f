"""Execution backend on an existing cluster of dask."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pkgutil import resolve_name
from types import TracebackType
from typing import Any, Self

import dask
import distributed
from distributed import Client, Future, KilledWorker

from fairwise import __version__
from fairwise.errors import InputError
from fairwise.jobs.workers import Call

_CLOSING_SECONDS = 5


class DaskCluster:
    """Opened for one job. When it is left, what its workers are at for us is stopped, in the middle of a fit too."""

    shares_disk = False

    def __init__(self, address: str) -> None:
        self._address = address
        self._client: Client | None = None
        self._future: Future[Any] | None = None

    def __enter__(self) -> Self:
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # that a worker was restarted is what was wanted
        try:
            self._client = Client(self._address, timeout=10, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise InputError(f"The dask scheduler at {self._address} cannot be reached: {error}") from None
        self._check_versions()
        return self

    def _check_versions(self) -> None:
        """A worker that does not know our functions would not fail, but never answer."""
        versions = self.client.run(resolve_name, "fairwise:__version__", on_error="return")
        for worker, version in versions.items():
            if version == __version__:
                continue
            has = f"has fairwise {version}" if isinstance(version, str) else "has no fairwise"
            raise InputError(f"The dask worker {worker} {has}; it needs fairwise {__version__}, as this server.")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        with suppress(Exception):
            self.client.close(_CLOSING_SECONDS)

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    def result(self, call: Call, wait: Callable[[float], None]) -> Any:
        """Make the call; `wait` is called again and again, and may raise."""
        self._future = self.client.submit(*call, pure=False)
        while not self._future.done():
            wait(0.0)
        result, self._future = _result(self._future), None
        return result

    def _stop(self) -> None:
        """End what runs: a fit cannot be asked to stop, so the process that computes it is restarted."""
        if self._future is None:
            return
        with suppress(Exception):  # the cluster may be gone
            busy = [worker for worker, keys in self.client.processing().items() if self._future.key in keys]
            self.client.cancel(self._future, force=True)
            if busy:
                self.client.restart_workers(busy, timeout=_CLOSING_SECONDS, raise_for_error=False)


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except KilledWorker:
        raise InputError("The work was ended from outside several times, perhaps for want of memory.") from None
    except distributed.CancelledError:
        raise InputError("The dask cluster has lost this model; try it again.") from None
