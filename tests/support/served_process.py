"""`fairwise serve` as a process of its own."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import httpx2

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RUN = "import sys; from importlib import import_module; import_module(sys.argv.pop(1)).main()"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def command(home: Path, *words: str, port: int, module: str = "fairwise.cli") -> list[str]:
    return [sys.executable, "-c", _RUN, module, "serve", str(home), "--port", str(port), *words]


def wait_for_pages(address: str, process: subprocess.Popen[str]) -> None:
    """Return once a page is served, or the server has ended."""
    until = time.monotonic() + 300
    while time.monotonic() < until and process.poll() is None:
        try:
            httpx2.get(f"{address}/health", trust_env=False)
            break
        except httpx2.TransportError:
            time.sleep(0.05)


@contextmanager
def served(
    home: Path, *words: str, module: str = "fairwise.cli", output: int | IO[str] = subprocess.PIPE
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve until the block ends; yields the address, and the process, once pages are served."""
    port = free_port()
    words = tuple(command(home, *words, port=port, module=module))
    with subprocess.Popen(words, stderr=output, stdout=output, text=True) as process:
        try:
            wait_for_pages(f"http://127.0.0.1:{port}", process)
            yield f"http://127.0.0.1:{port}", process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(300)


@dataclass
class Announced:
    """What a server says of itself, and everything it wrote once it has ended."""

    address: str
    link: str
    """By which the first account is made."""

    log: str


@contextmanager
def announced(home: Path, *words: str) -> Iterator[Announced]:
    """Serve on any port, as an operator does, until the block ends."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command(home, *words, port=0), **options) as process:  # type: ignore[call-overload]
        try:
            log = ""
            while "/admin/setup/" not in log:
                line = process.stdout.readline()
                assert line, log
                log += line
            address, link = re.search(r"Open (http://127.0.0.1:\d+)/", log), re.search(r"\S+/admin/setup/\S+", log)
            assert address is not None
            assert link is not None
            wait_for_pages(address[1], process)
            server = Announced(address[1], link[0], log)
            yield server
        finally:
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=300)
        server.log += said
