"""What is done to a study while it is answered, one fault after the other."""

from __future__ import annotations

import asyncio
import resource
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faults.backups import backed_up_and_restored
from faults.proxy import Proxy

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

    from faults.crowd import Crowd
    from faults.disk import SmallDisk
    from faults.postgres import Postgres
    from faults.server import Server

HOUR, DAY = 3600.0, 86400.0
_UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
_FEW_BYTES = 4096


@dataclass(frozen=True)
class Scene:
    """A study that is being answered. One of `disk` and `postgres` is there: where its answers are kept."""

    server: Server
    crowd: Crowd
    disk: SmallDisk | None
    postgres: Postgres | None
    chance: random.Random
    hard: float = 1.0
    """How long everything lasts: 1 for the whole run, less for the short form."""

    def times(self, number: int) -> int:
        return max(1, round(number * self.hard))

    async def a_while(self, seconds: float) -> None:
        await asyncio.sleep(max(0.5, seconds * self.hard))


async def kills(scene: Scene) -> int:
    """Kill it with -9, in turns at any moment and exactly after a commit of which nobody was told yet."""
    times = scene.times(100)
    for turn in range(times):
        await scene.crowd.answers(scene.chance.randint(1, 60))
        await (scene.server.die_after_commit() if turn % 2 else scene.server.kill())
        await scene.server.start()
    return times


async def graceful_stops(scene: Scene) -> int:
    """SIGTERM, as for an update."""
    times = scene.times(6)
    for _ in range(times):
        await scene.crowd.answers(30)
        await scene.server.stop()
        await scene.server.start()
    return times


async def full_disk(scene: Scene) -> int:
    """Not a byte is left on the disk of the SQLite file; in the last turn the server is killed then as well."""
    disk, times = scene.disk, scene.times(4)
    if disk is None or not disk.can_be_filled:
        return 0
    for turn in range(times):
        await scene.crowd.answers(30)
        await asyncio.to_thread(disk.fill)
        await scene.a_while(4)
        if turn == times - 1:
            await scene.server.kill()
        disk.free()
        if turn == times - 1:
            await scene.server.start()
        await scene.crowd.answers(30)
    return times


async def no_more_bytes(scene: Scene) -> int:
    """No file of the server may grow, by a limit of its process."""
    if scene.disk is None:
        return 0

    def limit(wanted: bool) -> None:
        most = (_FEW_BYTES, resource.RLIM_INFINITY) if wanted else _UNLIMITED
        resource.prlimit(scene.server.pid, resource.RLIMIT_FSIZE, most)

    return await _now_and_then(scene, limit)


async def read_only(scene: Scene) -> int:
    """The database can be read and not written to."""
    return await _now_and_then(scene, (scene.postgres or scene.server).read_only)


async def _now_and_then(scene: Scene, spoil: Callable[[bool], None]) -> int:
    times = scene.times(3)
    for _ in range(times):
        await scene.crowd.answers(30)
        await asyncio.to_thread(spoil, True)
        await scene.a_while(4)
        await asyncio.to_thread(spoil, False)
        await scene.crowd.answers(30)
    return times


async def database_restarts(scene: Scene) -> int:
    """PostgreSQL is stopped without finishing anything, and recovers from its log."""
    if scene.postgres is None:
        return 0
    times = scene.times(8)
    for _ in range(times):
        await scene.crowd.answers(scene.chance.randint(1, 60))
        await asyncio.to_thread(scene.postgres.restart)
    return times


async def bad_network(scene: Scene) -> int:
    """Requests and replies are late, and arrive in halves or not at all."""
    proxy = Proxy(scene.server.port, cuts=0.02, longest_delay=0.1)
    async with proxy.listening():
        scene.crowd.ports = [proxy.port]
        await scene.a_while(15)
        while not proxy.cut:  # which is left to chance
            await scene.crowd.answers(1)
        scene.crowd.ports = [scene.server.port]
        await scene.crowd.rest()
    return proxy.cut


async def unruly_people(scene: Scene) -> int:
    """Double clicks, old forms once more, changed minds, two tabs, and pairs in any order, with every other answer."""
    scene.crowd.unruliness = 0.5
    before = scene.crowd.seen.acknowledged
    await scene.a_while(15)
    return scene.crowd.seen.acknowledged - before


async def wrong_clock(scene: Scene) -> int:
    """The clock goes back by an hour, forward by a day, and is right again."""
    moves = (-HOUR, DAY, 0.0)
    for wrong_by in moves:
        scene.server.clock(wrong_by)
        await scene.crowd.answers(30)
        await scene.a_while(4)
    return len(moves)


async def backups(scene: Scene) -> int:
    """A backup is taken while everyone answers; restored elsewhere, it must hold what was acknowledged before."""
    times = scene.times(3)
    for turn in range(times):
        await scene.crowd.answers(30)
        await backed_up_and_restored(scene.server, scene.crowd, scene.postgres, turn)
    return times


PHASES: dict[str, Callable[[Scene], Awaitable[int]]] = {
    "server killed": kills,
    "server stopped and started": graceful_stops,
    "disk full": full_disk,
    "files that cannot grow": no_more_bytes,
    "database read-only": read_only,
    "PostgreSQL stopped at once": database_restarts,
    "connections cut and delayed": bad_network,
    "duplicates, replays, any order": unruly_people,
    "clock moved": wrong_clock,
    "backups taken and restored": backups,
}
