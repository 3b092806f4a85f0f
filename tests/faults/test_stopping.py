"""Stopping a server: what is under way is finished, the database is closed, and nobody is left behind."""

from __future__ import annotations

import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import httpx2
import psutil
import pytest
from faults.ledger import kept
from tests.security.uploaded_bombs import bombardment
from tests.support.fitting import answered, job_of, study_of, submitted, until
from tests.support.served_process import served
from tests.support.visits import hidden

from fairwise.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.study.folder import StudyFolder


def first_pair(client: httpx2.Client) -> httpx2.Response:
    """From the link to the first pair."""
    page = client.post("/consent", data={**hidden(client.get("/")), "decision": "agree"})
    while "/pair/" not in page.url.path:
        page = client.post(page.url.path, data={**hidden(page), "answer": "same"})
    return page


def refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.slow
def test_a_request_under_way_is_finished_and_the_database_closed(study: StudyFolder) -> None:
    with served(study.path, "--no-jobs") as (url, process):
        port = int(url.rpartition(":")[2])
        with httpx2.Client(base_url=url, trust_env=False, follow_redirects=True) as client:
            page = first_pair(client)
        body = urlencode({**hidden(page), "answer": "same"}).encode()
        with socket.create_connection(("127.0.0.1", port)) as line:
            head = f"POST {page.url.path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n"
            line.sendall(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\n".encode() + body[:20])
            time.sleep(0.3)  # it has arrived, half of it
            process.send_signal(signal.SIGTERM)
            while not refused(port):
                time.sleep(0.02)
            line.sendall(body[20:])
            reply = line.recv(2**16)
        process.wait(20)
    assert reply.startswith(b"HTTP/1.1 303")
    assert b"saved" in reply
    assert not (study.path / "study.sqlite-wal").exists()  # SQLite takes it away when the last connection is closed
    assert len(kept(study.path / "study.sqlite")) == 1


@pytest.mark.slow
def test_what_is_not_over_in_seconds_is_ended(tmp_path: Path) -> None:
    """A table that takes long to read, whose process is killed, and a form of which only half ever comes."""
    with bombardment(tmp_path) as attack, ThreadPoolExecutor(1) as sender:
        port, server = int(attack.address.rpartition(":")[2]), psutil.Process(attack.server)
        sender.submit(attack.send, attack.folders[0], "wide rows.xlsx")
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(b"POST /asked/consent HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nhalf")
            while not (readers := [one for one in server.children() if "fairwise.tables.guarded" in _words(one)]):
                time.sleep(0.05)
            server.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            _, alive = psutil.wait_procs([server, *readers], timeout=30)
    assert alive == []
    assert time.monotonic() - begun < 7


@pytest.mark.slow
def test_a_fit_under_way_is_put_back_before_the_server_ends(tmp_path: Path) -> None:
    """The process for fits is ended in order by a server that was told to stop, and does not outlive it."""
    study = study_of(tmp_path, n_people=600, pairs_each=40)
    with closing(Store.open(study.path / "study.sqlite", study.fingerprint)) as store:
        answered(study, store, 12)
        job_id = submitted(store, max_depth=3, eta=0.02)
        with served(study.path) as (_, process):
            until(store, job_id, lambda job: job.message == "Fitting the model")
            below = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
            assert [one for one in below if "fairwise.jobs" in _words(one)] == []
        assert job_of(store, job_id).state == "waiting"


def _words(process: psutil.Process) -> list[str]:
    """Of a process that runs; none of one that has ended."""
    try:
        words: list[str] = process.cmdline()
    except psutil.NoSuchProcess:
        return []
    return words


@pytest.mark.slow
def test_workers_do_not_outlive_their_parent(study: StudyFolder, own_postgres: str) -> None:
    """Killed without a chance to say goodbye, a server can be started again on the same port."""
    with served(study.path, "--no-jobs", "--workers", "2", "--database", own_postgres) as (url, process):
        workers = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(20)
        _, alive = psutil.wait_procs(workers, timeout=20)
        assert alive == []
        assert refused(int(url.rpartition(":")[2]))
