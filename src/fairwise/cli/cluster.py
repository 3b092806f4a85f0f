"""The option that gives the work to a dask cluster."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask", help="Scheduler of a dask cluster whose workers do the work: tcp://host:8786.", metavar="ADDRESS"
    ),
]
_PATIENCE = 10  # seconds


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Yield a client of the cluster, or None where no address is given."""
    if address is None:
        yield None
        return
    from distributed import Client

    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"--dask {address}: no dask scheduler answers there ({error})") from None
    with client:
        if not client.nthreads():
            raise InputError(f"--dask {address}: the scheduler has no workers; start some with dask worker {address}")
        yield client
