"""Read by our own worker of dask when it starts: whoever answers comes first.

Only those who compute are put back. Whoever writes to the database must not be: waiting for a turn while holding its
lock, they would keep everyone else waiting.
"""

import os
from contextlib import suppress
from pathlib import Path

NICE = 19
_SESSION = Path("/proc/self/autogroup")

if hasattr(os, "nice"):
    os.nice(NICE)
if _SESSION.exists():
    # Linux then shares the processor among sessions first and heeds nice only within each: one of its own is needed.
    with suppress(OSError):
        os.setsid()
        _SESSION.write_text(str(NICE), encoding="ascii")
