"""How much memory a process held at its peak."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

GIB = 2**30
_STATUS = Path("/proc/self/status")


def own_peak() -> int:
    """Bytes of this process alone; where Linux tells, without what its parent held when it was started."""
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM"):
                return 1024 * int(line.split()[1])
    return _reported(resource.RUSAGE_SELF)


def largest_peak() -> int:
    """Bytes of the largest among this process and those it started that have ended."""
    return max(own_peak(), _reported(resource.RUSAGE_CHILDREN))


def _reported(who: int) -> int:
    return resource.getrusage(who).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
