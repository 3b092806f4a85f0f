"""Programs that take much memory: one at a time, a few requests wait, and more are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from fairwise.errors import InputError
from fairwise.study.texts import marked

MOST_WAITING = 4
"""Requests at a time, with the one whose program runs."""

LONGEST_SECONDS = 50
"""Time limit of a request, waiting included: proxies give up after a minute."""

_BUSY = marked("The server is computing for other people at the moment; try it again in a minute")


class _Queue:
    def __init__(self) -> None:
        self.lock, self.requests = asyncio.Lock(), 0


class Turns:
    """The requests of one server process for programs of one kind, whichever study they are about."""

    def __init__(self) -> None:
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()

    async def run(
        self,
        command: Sequence[str],
        question: bytes,
        seconds: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[int | None, bytes]:
        """Return how a program ended, None if it took too long, and what it wrote; it ends with the request."""
        queue = self._queues.setdefault(asyncio.get_running_loop(), _Queue())
        if queue.requests >= MOST_WAITING:
            raise InputError(_BUSY)
        queue.requests += 1
        try:
            async with asyncio.timeout(LONGEST_SECONDS), queue.lock:
                return await _run(command, question, seconds, environment)
        except TimeoutError:
            return None, b""
        finally:
            queue.requests -= 1


async def _run(
    command: Sequence[str], question: bytes, seconds: float | None, environment: Mapping[str, str] | None
) -> tuple[int | None, bytes]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(question), seconds)
    except TimeoutError:
        return None, b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output
