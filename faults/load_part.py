"""The part of the report about load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import machine
from benchmarks.row import table

from faults.load import ANSWERS, PAIRS, STEPS, THINKING, loaded

if TYPE_CHECKING:
    from faults.load import Loaded

_OPENING = f"""
[locust](https://locust.io) in a process of its own, on the same cores as the server, of which there is one worker. Each
user takes part in a study of {PAIRS} pairs, with {THINKING:.0f} s of thinking before every pair on average, and is
followed by another when they finish: more users, {STEPS[0][1]} s for each number, and then {STEPS[-1][0]} at a time
until {ANSWERS} answers were acknowledged. The times are those until an answer was acknowledged, over the last ten
seconds of a step.
"""


def measured() -> tuple[str, bool]:
    on, parts, whole = machine.description(), [_OPENING.strip()], True
    for database in ("SQLite", "PostgreSQL"):
        found = loaded(database)
        whole &= found.whole
        parts.append(_written(database, found))
        print(parts[-1], flush=True)
    return "\n\n".join([on, *parts]), whole


def _written(database: str, found: Loaded) -> str:
    lines = [
        [str(step.users), f"{step.per_second:.0f}", f"{step.p50:.0f} ms", f"{step.p95:.0f} ms"] for step in found.steps
    ]
    knee = found.knee
    answered = (
        f"{found.acknowledged} answers of {found.participants} participants were acknowledged in "
        f"{found.seconds:.0f} s: {found.lost} lost, {found.doubled} doubled, {found.failures} requests failed."
    )
    bend = (
        f"The knee, the most users of whom 95 in 100 wait for a second at most, is at {knee.users}: "
        f"{knee.per_second:.0f} answers a second, 95 of 100 within {knee.p95:.0f} ms."
    )
    return "\n\n".join(
        [
            f"### {database}",
            table(["users at the same time", "answers a second", "half within", "95 of 100 within"], lines),
            answered,
            bend,
            _memory(found),
        ]
    )


def _memory(found: Loaded) -> str:
    """In quarters of the time after everyone has come, when nothing may grow any more."""
    begun = sum(seconds for _, seconds in STEPS)
    late = [mib for at, mib in found.memory if at > begun] or [mib for _, mib in found.memory]
    quarters = [late[len(late) * part // 4 : max(1, len(late) * (part + 1) // 4)] for part in range(4)]
    means = [sum(each) / len(each) for each in quarters if each]
    shown = ", ".join(f"{mean:.0f}" for mean in means)
    return (
        f"Memory of the server: {found.memory[0][1]:.0f} MiB at the start, "
        f"{max(mib for _, mib in found.memory):.0f} at most; in the four quarters of the time with {STEPS[-1][0]} "
        f"users {shown} MiB."
    )
