"""A backup by the real command while everyone answers, restored beside it and compared."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from faults.ledger import kept

if TYPE_CHECKING:
    from faults.crowd import Crowd
    from faults.postgres import Postgres
    from faults.server import Server


async def backed_up_and_restored(server: Server, crowd: Crowd, postgres: Postgres | None, turn: int) -> None:
    """Raise unless all that was acknowledged before is in the backup, and nothing that nobody said."""
    before = {(ledger.token_hash, key): list(said) for ledger in crowd.ledgers for key, said in ledger.said.items()}
    with tempfile.TemporaryDirectory() as home:
        file, folder = Path(home) / "backup.zip", Path(home) / "study"
        await _fairwise("backup", server.folder, "--out", file, *_at(None if postgres is None else server.database))
        database = None if postgres is None else postgres.new_database(f"restored_{turn}")
        await _fairwise("restore", file, folder, *_at(database))
        there = await asyncio.to_thread(kept, database or folder / "study.sqlite")
    missing = [pair for pair, said in before.items() if there.get(pair, [])[: len(said)] != said]
    if missing:
        raise RuntimeError(f"{len(missing)} of {len(before)} pairs are not in the backup as they were acknowledged")
    await crowd.rest()
    now = {(ledger.token_hash, key): said for ledger in crowd.ledgers for key, said in ledger.said.items()}
    made_up = [pair for pair, said in there.items() if now.get(pair, [])[: len(said)] != said]
    if made_up:
        raise RuntimeError(f"{len(made_up)} pairs are in the backup as nobody answered them")
    crowd.wake()


def _at(database: object) -> list[object]:
    return [] if database is None else ["--database", database]


async def _fairwise(*words: object) -> None:
    run = [sys.executable, "-c", "from fairwise.cli import main; main()", *map(str, words)]
    process = await asyncio.create_subprocess_exec(
        *run, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    if process.returncode:
        raise RuntimeError(said.decode())
