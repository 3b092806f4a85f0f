"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "numba", "highspy")


def description() -> str:
    """Processor, cores, memory, versions, date and how busy the machine was, as Markdown lines."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    return "\n".join(
        [
            f"- {_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB of memory, {platform.system()}",
            f"- Python {platform.python_version()}, {versions}",
            f"- {datetime.now(UTC):%Y-%m-%d}; load average at the start {os.getloadavg()[0]:.1f}",
        ]
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
