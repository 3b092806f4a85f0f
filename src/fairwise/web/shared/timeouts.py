"""Bodies that never come to an end hold no place for ever."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Message, Receive

BODY_SECONDS = 30.0
LEAST_RATE = 4096.0
"""Bytes a second of a body, on average after its first half minute; the slowest phone sends more."""


class TooSlow(Exception):  # noqa: N818 - a refusal, not an error
    """A request whose body comes too slowly."""


def impatient(receive: Receive) -> Receive:
    """What is received of a body, as long as it comes fast enough; what comes after it may take its time."""
    loop = asyncio.get_running_loop()
    deadline, whole = loop.time() + BODY_SECONDS, False

    async def receive_in_time() -> Message:
        nonlocal deadline, whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise TooSlow from None
        deadline += len(message.get("body", b"")) / LEAST_RATE
        whole = not message.get("more_body", False)
        return message

    return receive_in_time
