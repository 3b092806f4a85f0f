"""While a fit runs, nothing listens but to this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import pytest
from fitting import answered, ended, job_of, study_of, submitted, until, working

from fairwise.elicitation.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_fits_listen_on_this_machine_alone(tmp_path: Path) -> None:
    study, database = study_of(tmp_path), tmp_path / "study.sqlite"
    store = Store.open(database, study.fingerprint)
    addresses: set[str] = set()
    try:
        answered(study, store)
        job = submitted(store)
        with working(study.path, database) as process:
            until(store, job, lambda found: found.state == "running")
            while not ended(job_of(store, job)):
                addresses |= _listened_to(process.pid)
            assert job_of(store, job).state == "done"
    finally:
        store.close()
    assert addresses == {"127.0.0.1"}


def _listened_to(pid: int) -> set[str]:
    """The addresses of a process and of all that it started."""
    found: set[str] = set()
    ours = psutil.Process(pid)
    for process in (ours, *ours.children(recursive=True)):
        try:
            connections = process.net_connections(kind="inet")
        except psutil.Error:  # ended meanwhile
            continue
        found |= {one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN}
    return found
