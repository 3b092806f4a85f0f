"""One pass over a table: the same work on every span, in threads here or on the workers of a dask cluster."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from fairwise.errors import InputError
from fairwise.learning.blocks.spans import FrameSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fairwise.learning.blocks.spans import Span

Result = TypeVar("Result")
_AHEAD = 2  # spans under way for each worker: enough to keep it busy, few enough to keep memory small


def over_spans(spans: Iterable[Span], work: Callable[[Span], Result], client: Any = None) -> Iterator[Result]:
    """``work`` on every span; results come in the order of the spans, whoever finishes first.

    On a cluster a span that was lost with its worker is done again by another one, from the same rows.
    """
    if client is not None:
        if not hasattr(client, "submit"):
            raise InputError(f"client={client!r} is not a client of dask: give distributed.Client(address).")
        yield from _on_workers(spans, work, client)
        return
    n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(n_threads) as pool:
        yield from _in_order(spans, lambda span: pool.submit(work, computed(span)), _AHEAD * n_threads)


def _in_order(spans: Iterable[Any], start: Callable[[Any], Any], ahead: int) -> Iterator[Any]:
    running: deque[Any] = deque()
    try:
        for span in spans:
            running.append(start(span))
            if len(running) >= ahead:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for future in running:
            future.cancel()


def _on_workers(spans: Iterable[Span], work: Callable[[Span], Any], client: Any) -> Iterator[Any]:
    import dask

    if isinstance(spans, list) and any(is_pending(span) for span in spans):
        # The tables are dask's own: computed by the workers that get the work, and planned all at once.
        planned = [
            dask.delayed(_on_tables, pure=False)(work, span.tables, span.first, span.start, span.stop) for span in spans
        ]
        yield from _in_order(client.compute(planned), lambda future: future, len(planned))
        return
    ahead = _AHEAD * max(1, len(client.nthreads()))
    # Rows that are only here go out with the work itself, or they would be lost with a worker; dask need not warn.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"}):
        yield from _in_order(spans, lambda span: client.submit(work, span, pure=False), ahead)


def _on_tables(work: Callable[[Span], Any], tables: list[Any], first: int, start: int, stop: int) -> Any:
    return work(FrameSpan(tables, first, start, stop))


def default_client() -> Any:
    """The client that dask itself would use, if there is one: tables that it keeps can be had from nobody else."""
    import sys

    if "distributed" not in sys.modules:
        return None
    from distributed import default_client as found

    try:
        return found()
    except ValueError:
        return None


def is_pending(span: Span) -> TypeGuard[FrameSpan]:
    """Whether its tables are still dask's plans."""
    return isinstance(span, FrameSpan) and any(hasattr(table, "dask") for table in span.tables)


def computed(span: Span, client: Any = None) -> Span:
    """A span whose tables are here, computed by dask where they are not yet."""
    if not is_pending(span):
        return span
    import dask

    client = client or default_client()
    if client is not None:
        tables = client.gather(client.compute(span.tables))
    else:
        (tables,) = dask.compute(span.tables, scheduler="synchronous")
    return FrameSpan(list(tables), span.first, span.start, span.stop)
