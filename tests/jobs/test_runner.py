"""A fit that is cancelled, or whose process is killed in the middle, and a process whose server is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import psutil
import pytest
import sqlalchemy as sa
from tests.support.fits import read_json
from tests.support.fitting import ended, job_of, killed, submitted, until, working

from fairwise.errors import InputError
from fairwise.jobs.dask_cluster import DaskCluster
from fairwise.jobs.runner import _CURVE_WEIGHT
from fairwise.store import jobs
from fairwise.store.fit_files import (
    FRONTIER,
    MODEL,
    PRICES,
    SCORES,
    SUMMARY,
    job_folder,
    unfinished_folder,
)
from fairwise.store.schema import jobs as table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.jobs.conftest import Panel

pytestmark = pytest.mark.slow
LONG = {"max_depth": 3, "eta": 0.02}


def wait_for(reached: Callable[[], object]) -> None:
    """However busy the machine is; the end is for what never comes."""
    end = time.monotonic() + 300
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def computing(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The processes under this one that compute."""
    try:
        below = psutil.Process(process.pid).children(recursive=True)
        return [one for one in below if any("spawn_main" in word for word in one.cmdline())]
    except psutil.NoSuchProcess:
        return []


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    def lives(process: psutil.Process) -> bool:
        try:
            return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return [one for one in processes if lives(one)]


def kept_files(panel: Panel, job_id: int) -> dict[str, int]:
    """What an unfinished job has of its files, and since when."""
    folder = unfinished_folder(panel.study.path, job_id, 0)
    files = [folder / name for name in (MODEL, PRICES, FRONTIER)]
    return {file.name: file.stat().st_mtime_ns for file in files if file.exists()}


def cancelled_in_the_middle(panel: Panel, job_id: int) -> None:
    """Want it, and wait for it: after the fit the curve is the longest step by far, and that was not finished."""
    panel.store.change_now(partial(jobs.want_cancel, job_id=job_id))
    stopped = until(panel.store, job_id, ended)
    assert stopped.state == "cancelled"
    assert stopped.progress < (1 + _CURVE_WEIGHT) / (3 + _CURVE_WEIGHT)


def test_a_running_fit_is_cancelled_in_the_middle(larger_panel: Panel) -> None:
    panel = larger_panel
    job_id = submitted(panel.store, **LONG)
    with working(panel.study.path, panel.database) as process:
        until(panel.store, job_id, lambda job: job.message == "Fitting the model")
        wait_for(lambda: [one for one in computing(process) if one.cpu_times().user > 4])
        busy = computing(process)
        cancelled_in_the_middle(panel, job_id)
        wait_for(lambda: not alive(busy))
        assert list(panel.jobs.iterdir()) == []
        small = submitted(panel.store, estimator="logistic", frontier=False)
        assert until(panel.store, small, ended).state == "done", "the next one is done"


def test_killed_in_the_middle_it_goes_on_to_the_same_numbers(larger_panel: Panel) -> None:
    panel, settings = larger_panel, {**LONG, "max_depth": 2}  # long enough to be killed in, and twice to the end
    cut_short = submitted(panel.store, **settings)
    with working(panel.study.path, panel.database) as process:
        traced = until(panel.store, cut_short, lambda job: job.message.startswith("Tracing") and job.progress > 0.2)
        below = computing(process)
        killed(process)
    kept = kept_files(panel, cut_short)
    assert set(kept) == {MODEL, PRICES}, "it was in the middle"
    found = next(unfinished_folder(panel.study.path, cut_short, 0).glob("curve-*")).read_bytes()
    assert found.count(b'"classifiers"') > 0, "and what it had found is kept"
    wait_for(lambda: not alive(below))
    left = job_of(panel.store, cut_short)
    assert left.state == "running", "nobody could say that it is not"

    def age(connection: sa.Connection) -> None:
        long_ago = datetime.now(UTC) - timedelta(minutes=5)
        connection.execute(sa.update(table).where(table.c.id == cut_short).values(alive_at=long_ago))

    panel.store.change_now(age)
    with working(panel.study.path, panel.database):
        again = until(panel.store, cut_short, lambda job: job.message.startswith("Tracing"))
        assert kept_files(panel, cut_short) == kept, "what was finished is not done again"
        assert again.progress >= traced.progress
        assert until(panel.store, cut_short, ended).state == "done"
        undisturbed = submitted(panel.store, **settings)
        assert until(panel.store, undisturbed, ended).state == "done"
    first, second = (read_json(panel.study.path, job_id, FRONTIER)["points"] for job_id in (cut_short, undisturbed))
    # What was found before and after are put together, and of optimal mixtures another one may be taken.
    assert [point["eta"] for point in first] == [point["eta"] for point in second]
    assert [point["error"] for point in first] == pytest.approx([point["error"] for point in second], abs=1e-4)
    assert [point for point in first if point["own"]] == [point for point in second if point["own"]]
    one, other = (read_json(panel.study.path, job_id, SUMMARY) for job_id in (cut_short, undisturbed))
    assert {**one, "times": None} == {**other, "times": None}
    before, after = (pd.read_parquet(job_folder(panel.study.path, job) / SCORES) for job in (cut_short, undisturbed))
    pd.testing.assert_frame_equal(before, after)


def test_stopped_in_order_it_is_put_back_and_taken_again_at_once(larger_panel: Panel) -> None:
    panel = larger_panel
    job_id = submitted(panel.store, **LONG)
    with working(panel.study.path, panel.database):
        until(panel.store, job_id, lambda job: job.message == "Fitting the model")
    assert job_of(panel.store, job_id).state == "waiting"
    panel.store.change_now(partial(jobs.want_cancel, job_id=job_id))


SERVER = """
import sys, time
from pathlib import Path
from fairwise.jobs.runner import jobs_beside
with jobs_beside(Path(sys.argv[1]), Path(sys.argv[2]), None):
    print("up", flush=True)
    time.sleep(600)
"""


def runners(server: subprocess.Popen[str]) -> list[psutil.Process]:
    try:
        return [one for one in alive(psutil.Process(server.pid).children()) if "fairwise.jobs" in one.cmdline()]
    except psutil.NoSuchProcess:  # it ended between the two looks
        return []


def lets_others_go_first(process: psutil.Process) -> bool:
    idle = sys.platform != "linux" or os.sched_getscheduler(process.pid) == os.SCHED_IDLE
    return process.nice() == 19 and idle


def test_nothing_is_left_when_the_server_is_killed_and_a_runner_that_dies_is_started_again(larger_panel: Panel) -> None:
    panel = larger_panel
    command = [sys.executable, "-c", SERVER, str(panel.study.path), str(panel.database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            wait_for(lambda: runners(server))
            (first,) = runners(server)
            first.kill()
            wait_for(lambda: [one for one in runners(server) if one.pid != first.pid])
            (second,) = runners(server)
            job_id = submitted(panel.store, **LONG)
            wait_for(lambda: len(second.children(recursive=True)) > 1)
            below = [second, *second.children(recursive=True)]
            wait_for(lambda: [one for one in below[1:] if lets_others_go_first(one)])
            assert second.nice() == psutil.Process().nice(), "it writes to the database, so it must not be kept waiting"
            if sys.platform == "linux":
                assert os.sched_getscheduler(second.pid) == os.sched_getscheduler(0)
                assert {os.getsid(one.pid) for one in below} == {os.getsid(server.pid)}, "or the class means nothing"
            assert os.getpgid(second.pid) != os.getpgid(server.pid), "Ctrl-C is for the server"
        finally:
            server.send_signal(signal.SIGKILL)
            server.wait()
        wait_for(lambda: not alive(below))
    assert job_of(panel.store, job_id).state in ("waiting", "running")
    panel.store.change_now(partial(jobs.want_cancel, job_id=job_id))  # or the next test would wait for it


def test_a_cluster_that_is_there_does_it_and_is_left_as_it_was(larger_panel: Panel, tmp_path: Path) -> None:
    panel, file = larger_panel, tmp_path / "scheduler.json"
    of_dask = [sys.executable, "-m", "distributed.cli.dask_{}", "--scheduler-file", str(file), "--no-dashboard"]

    def process(name: str, *words: str) -> subprocess.Popen[bytes]:
        command = [word.format(name) for word in of_dask]
        nothing = subprocess.DEVNULL
        return subprocess.Popen([*command, *words], cwd=tmp_path, stdout=nothing, stderr=nothing)

    with (
        process("scheduler", "--port", "0", "--host", "127.0.0.1") as head,
        process("worker", "--nworkers", "1", "--nthreads", "1") as hand,
    ):
        try:
            wait_for(lambda: file.exists() and file.read_text(encoding="utf-8").strip().endswith("}"))
            address = str(json.loads(file.read_text(encoding="utf-8"))["address"])
            with working(panel.study.path, panel.database, address):
                job_id = submitted(panel.store, **LONG)
                until(panel.store, job_id, lambda job: job.message == "Fitting the model")
                wait_for(lambda: [one for one in computing(hand) if one.cpu_times().user > 4])
                cancelled_in_the_middle(panel, job_id)
                small = submitted(panel.store, estimator="logistic", frontier=False)
                assert until(panel.store, small, ended).state == "done"
            assert head.poll() is None
            assert hand.poll() is None
        finally:
            hand.terminate()
            head.terminate()
    with working(panel.study.path, panel.database, address):
        gone = until(panel.store, submitted(panel.store), ended)
    assert gone.state == "failed"
    assert gone.message.startswith(f"The dask scheduler at {address} cannot be reached")


def test_workers_of_another_version_are_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with DaskCluster(cluster.scheduler_address):
        pass
    monkeypatch.setattr("fairwise.jobs.dask_cluster.__version__", "9.9")
    with (
        pytest.raises(InputError, match=r"has fairwise \d.*; it needs fairwise 9\.9, as this server"),
        DaskCluster(cluster.scheduler_address),
    ):
        pass
