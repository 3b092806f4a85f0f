"""One pass over a table: the same work on every span, in threads here or on the workers of a dask cluster."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

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
        n_workers = max(1, len(client.nthreads()))
        yield from _in_order(spans, lambda span: _submitted(client, work, span), _AHEAD * n_workers)
        return
    n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(n_threads) as pool:
        yield from _in_order(spans, lambda span: pool.submit(work, computed(span)), _AHEAD * n_threads)


def _in_order(spans: Iterable[Span], start: Callable[[Span], Any], ahead: int) -> Iterator[Any]:
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


def _submitted(client: Any, work: Callable[[Span], Any], span: Span) -> Any:
    from dask import delayed

    if isinstance(span, FrameSpan):
        # Its tables may be dask's own, to be computed by the worker that gets the work.
        return client.compute(delayed(_on_tables, pure=False)(work, span.tables, span.first, span.start, span.stop))
    return client.submit(work, span, pure=False)


def _on_tables(work: Callable[[Span], Any], tables: list[Any], first: int, start: int, stop: int) -> Any:
    return work(FrameSpan(tables, first, start, stop))


def computed(span: Span) -> Span:
    """A span whose tables are here, computed by dask on this thread where they are not yet."""
    if not isinstance(span, FrameSpan) or not any(hasattr(table, "dask") for table in span.tables):
        return span
    import dask

    (tables,) = dask.compute(span.tables, scheduler="synchronous")
    return FrameSpan(tables, span.first, span.start, span.stop)
