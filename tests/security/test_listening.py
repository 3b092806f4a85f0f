"""While a fit runs, nobody else on this machine can talk to it, run anything in it, or read what it works with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.support.fitting import answered, ended, job_of, study_of, submitted, until, working

from fairwise.store.fit_files import job_folder
from fairwise.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairwise.study.folder import StudyFolder

pytestmark = pytest.mark.slow
STRANGER = """
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for root in sys.argv[1:]:
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                open(os.path.join(folder, name), "rb").read(1)
            except OSError:
                continue
            print(os.path.join(folder, name))
"""
"""Another user of the machine, who prints every file that they could read."""

INTRUDER = """
import os, sys
from distributed import Client
with Client(f"tcp://127.0.0.1:{sys.argv[1]}", timeout=3) as client:
    print("code of a stranger ran in", client.run(os.getpid))
"""


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    return study_of(tmp_path)


@pytest.fixture
def store(study: StudyFolder) -> Iterator[Store]:
    store = Store.open(study.path / "study.sqlite", study.fingerprint)
    answered(study, store)
    yield store
    store.close()


def test_fits_listen_nowhere(study: StudyFolder, store: Store) -> None:
    """Whoever finds a port of dask can run what they like there: on this machine anyone could."""
    job, found = submitted(store, frontier=False), set[str]()
    with working(study.path, study.path / "study.sqlite") as process:
        until(store, job, lambda known: known.state == "running")
        while not ended(job_of(store, job)):
            new = _listened_to(process.pid) - found
            found |= new
            assert "".join(_stranger_runs(port) for port in new) == ""
        assert job_of(store, job).state == "done"
    assert found == set()


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can become another user")
def test_other_users_read_nothing_of_a_fit(
    study: StudyFolder, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither where it keeps what it has, nor in the folder for temporary files, which everyone shares."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    for folder in (study.path, *tmp_path.parents, tmp_path):
        if folder.is_relative_to(tmp_path.parents[1]):
            folder.chmod(0o755)  # as folders often are; what a fit makes in it is still its own
    monkeypatch.setenv("TMPDIR", str(shared))
    read, seen = set[str](), set[str]()
    job = submitted(store, frontier=False)
    with working(study.path, study.path / "study.sqlite") as process:
        until(store, job, lambda known: known.state == "running")
        while not ended(job_of(store, job)):
            seen |= {file.name for root in (study.path / "jobs", shared) for file in root.rglob("*") if file.is_file()}
            processes = [f"/proc/{pid}/fd" for pid in _family(process.pid)]
            read |= set(_readable(study.path / "jobs", shared, *processes))
        assert job_of(store, job).state == "done"
    read |= set(_readable(job_folder(study.path, job), shared))
    assert seen >= {"judgments.parquet", "own.skops"}, "there was something to be read"
    assert read == set()


def _readable(*roots: Path | str) -> list[str]:
    command = [sys.executable, "-c", STRANGER, *map(str, roots)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _stranger_runs(port: str) -> str:
    """What dask says to code that anybody gives it, if that is what listens there."""
    command = [sys.executable, "-c", INTRUDER, port]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout
    except subprocess.TimeoutExpired:
        return ""


def _family(pid: int) -> list[int]:
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


def _listened_to(pid: int) -> set[str]:
    """The ports, and sockets in the file system, at which a process and all that it started wait for others."""
    found: set[str] = set()
    for member in _family(pid):
        try:
            connections = psutil.Process(member).net_connections(kind="all")
        except psutil.Error:  # ended meanwhile
            continue
        found |= {str(one.laddr.port) for one in connections if one.status == psutil.CONN_LISTEN}
        found |= {path for one in connections if isinstance(path := one.laddr, str) and path and Path(path).exists()}
    return found
