"""The priority of processes that compute beside the server."""

from __future__ import annotations

import os
from contextlib import suppress

NICE = 19
_NICE_WAITED_FOR = 5


def let_others_go_first() -> None:
    """Compute only while nobody else on this machine wants to: in Linux' idle class, elsewhere at the lowest priority.

    Nice alone does not do on Linux: whoever wakes up may have to wait for the next tick, some milliseconds, and an
    answer wakes several threads. The idle class is interrupted at once. It counts among processes of one session or
    control group, so this one must remain in that of the server.

    Only who computes does so. Who writes to the database must not: waiting for a turn while holding its lock, they
    would keep everyone else waiting.
    """
    if hasattr(os, "nice"):
        os.nice(NICE)
    if hasattr(os, "SCHED_IDLE"):
        with suppress(OSError):  # where a sandbox forbids it, nice remains
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def let_visitors_go_first() -> None:
    """Compute what somebody waits for: with a third of a visitor's weight.

    On a machine whose cores are all busy, the idle class and the lowest priority get about a hundredth of a core or
    less, and would not be done while anybody waits.
    """
    if hasattr(os, "nice"):
        os.nice(_NICE_WAITED_FOR)
