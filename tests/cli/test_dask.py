"""A dask cluster with the key that docs/howto/dask.md makes, and strangers who do not have it."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "dask.md").read_text(encoding="utf-8")
COMMAND = """
import sys
from fairwise.cli.training import dask_client
with dask_client(sys.argv[1]) as client:
    print(client.submit(sum, (1, 2)).result(60))
"""
"""As `fairwise fit --dask ADDRESS` begins."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the key"),
]


@pytest.fixture
def with_key(tmp_path: Path) -> dict[str, str]:
    """The environment of someone who has the key and the settings of the page."""
    (command,) = re.findall(r"^ +(openssl req .*)$", PAGE, flags=re.MULTILINE)
    subprocess.run(["sh", "-c", f"umask 077; {command}"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "dask.key").stat().st_mode & 0o077 == 0
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "dask").mkdir()
    lines = [line.removeprefix("   ") for line in text.replace("/home/me", str(tmp_path)).splitlines()]
    (tmp_path / "dask" / "tls.yaml").write_text("\n".join(lines), encoding="utf-8")
    return {**os.environ, "DASK_CONFIG": str(tmp_path / "dask")}


@contextmanager
def cluster(home: Path, environment: dict[str, str]) -> Iterator[str]:
    file, nothing = home / "scheduler.json", subprocess.DEVNULL

    def process(name: str, *words: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.dask_{name}",
            "--scheduler-file",
            str(file),
            "--no-dashboard",
        ]
        return subprocess.Popen([*command, *words], cwd=home, env=environment, stdout=nothing, stderr=nothing)

    with (
        process("scheduler", "--protocol", "tls", "--port", "0", "--host", "127.0.0.1") as head,
        process("worker", "--nworkers", "1", "--nthreads", "1", "--no-nanny") as hand,
    ):
        try:
            end = time.monotonic() + 120
            while not (file.exists() and file.read_text(encoding="utf-8").strip().endswith("}")):
                assert time.monotonic() < end
                time.sleep(0.1)
            yield str(json.loads(file.read_text(encoding="utf-8"))["address"])
        finally:
            hand.kill()
            head.kill()


def test_nobody_without_the_key_talks_to_a_cluster(tmp_path: Path, with_key: dict[str, str]) -> None:
    def tried(address: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", COMMAND, address]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    with cluster(tmp_path, with_key) as address:
        assert address.startswith("tls://")
        end = time.monotonic() + 120
        while (own := tried(address, with_key)).stdout != "3\n":  # until there is a worker
            assert time.monotonic() < end, own.stderr
        assert "without TLS" not in own.stderr
        place = address.removeprefix("tls://")
        for strange in (address, f"tcp://{place}"):
            told = tried(strange, dict(os.environ))
            assert told.stdout == ""
            assert "no dask scheduler answers there" in told.stderr
            assert ("without TLS everyone who can reach that scheduler" in told.stderr) == (strange != address)
        host, port = place.split(":")
        with socket.create_connection((host, int(port)), 20) as plain, suppress(ConnectionError):
            plain.sendall(b"\0" * 64)
            assert b"compression" not in plain.recv(4096), "dask begins by telling who it is, but not to a stranger"
