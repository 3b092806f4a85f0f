"""`fairwise serve` as a process of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def served(home: Path, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    port = free_port()
    command = [sys.executable, "-c", "from fairwise.cli import main; main()", "serve", str(home), "--port", str(port)]
    with subprocess.Popen([*command, *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            until = time.monotonic() + 300
            while time.monotonic() < until and process.poll() is None:
                try:
                    httpx2.get(f"http://127.0.0.1:{port}/health", trust_env=False)
                    break
                except httpx2.TransportError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}", process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(300)
