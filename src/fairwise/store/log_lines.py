"""Which of several studies a line of the log is about."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_study: ContextVar[str] = ContextVar("study", default="")


@contextmanager
def log_lines_of(name: str) -> Iterator[None]:
    """Whatever is logged in the block, and in tasks and threads that begin there, names this study."""
    before = _study.set(name)
    try:
        yield
    finally:
        _study.reset(before)


def with_log_lines(work: Callable[P, T]) -> Callable[P, T]:
    """For a thread, which knows nothing of who started it."""
    return partial(copy_context().run, work)


def name_studies(*loggers: str) -> None:
    """From now on lines of these loggers begin with the name of the study they are about, if it is one of several."""
    for logger in loggers:
        logging.getLogger(logger).addFilter(_named)


def _named(record: logging.LogRecord) -> bool:
    name = _study.get()
    if name:
        record.msg = f"{name}: {record.msg}"  # a name has no % in it
    return True
