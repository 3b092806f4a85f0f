"""Bad inputs by the thousand: each counted once, none for ever, and the first that does harm shown."""

from __future__ import annotations

import hashlib
import os
import signal
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

from fairwise.errors import FairwiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROPERTY = "distinct bad inputs"
PATIENCE = 60
_TIMES = "FAIRWISE_FUZZ"


def how_many(short: int) -> int:
    """So many as in `make test-all`, or as many times more as `make fuzz` wants."""
    return short * int(os.environ.get(_TIMES, "1"))


class Tried:
    """What was tried in one test."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self.taken = 0
        """How many turned out to be good."""

    @property
    def distinct(self) -> int:
        return len(self._seen)

    def is_new(self, content: bytes) -> bool:
        """Whether this was not tried before; from now on it was."""
        digest = hashlib.blake2b(content, digest_size=12).digest()
        new = digest not in self._seen
        self._seen.add(digest)
        return new

    def read(self, content: bytes, reader: Callable[[bytes], Any]) -> None:
        """Give it to a reader, which must take it or say in one line what is wrong with it."""
        if not self.is_new(content):
            return
        try:
            with patience():
                reader(content)
        except FairwiseError as error:
            said = str(error)
            assert said.strip(), content
            assert "Traceback" not in said, content
        except Exception as error:
            raise AssertionError(f"{error!r} of {content[:3000]!r}") from error
        else:
            self.taken += 1


def rng_of(target: str, number: int) -> Random:
    """The same chance on every machine, another for each input."""
    return Random(f"{target} {number}")


@contextmanager
def patience(seconds: int = PATIENCE) -> Iterator[None]:
    """Say that something hangs, rather than wait for ever."""

    def hangs(_signal: int, _frame: Any) -> None:
        raise AssertionError(f"no answer within {seconds} seconds")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
