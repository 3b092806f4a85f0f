"""What every test may use: one hypothesis profile, and judgments in one short line each."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from fairwise.judgments import Judgments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The same examples on every machine and in every run; how long one takes says nothing about the code.
settings.register_profile("fairwise", deadline=None, derandomize=True)
settings.load_profile("fairwise")


@pytest.fixture(scope="session")
def said() -> Callable[..., Judgments]:
    """Judgments from tuples ``(judge, a, b, answer)`` or ``(judge, a, b, answer, weight)``."""

    def make(*answers: tuple[Any, ...], **more: Any) -> Judgments:
        columns = ("judge", "a", "b", "answer", "weight")
        rows = [dict(zip(columns, answer, strict=False)) for answer in answers]
        return Judgments([{"weight": 1.0} | row for row in rows], **more)

    return make


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Two dask workers on this machine, each a process of its own."""
    from distributed import LocalCluster  # noqa: PLC0415  (few tests need it, and it is slow to load)

    options = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    from distributed import Client  # noqa: PLC0415

    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2)
        yield client
