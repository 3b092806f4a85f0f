"""The option that gives the work to a dask cluster."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairwise.cli.screen import note
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask", help="Scheduler of a dask cluster whose workers do the work: tls://host:8786.", metavar="ADDRESS"
    ),
]
_PATIENCE = 10  # seconds


def warn_without_tls(address: str) -> None:
    """Say who else can use such a cluster, and read what is sent to it."""
    if not address.startswith("tls://"):
        note(
            f"--dask {address}: without TLS everyone who can reach that scheduler can run code on it, and read what is "
            "sent to it. docs/howto/dask.md says how to use tls://…"
        )


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Yield a client of the cluster, or None where no address is given."""
    if address is None:
        yield None
        return
    from distributed import Client

    warn_without_tls(address)
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        raise InputError(f"--dask {address}: no dask scheduler answers there ({error})") from None
    with client:
        if not client.nthreads():
            raise InputError(f"--dask {address}: the scheduler has no workers; start some with dask worker {address}")
        yield client
