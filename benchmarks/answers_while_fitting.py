"""How long an answer takes while fits keep every core busy, side by side with no fit at all."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import uvloop

from benchmarks import compas
from benchmarks.lean_client import ANSWERS, LeanParticipant
from benchmarks.row import Row
from benchmarks.served_study import served
from fairwise.jobs.runner import start_jobs
from fairwise.judgments import Answer
from fairwise.store import answers, jobs, participants, recording
from fairwise.store.store import Store
from fairwise.study.new_study import new_study
from fairwise.study.settings import Stage
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from fairwise.study.folder import StudyFolder

PARTICIPANTS = 50
THINKING = 1.0
SECONDS = 15.0
TURNS = 3
_PANEL = 20
_PAIRS = 250
_PATIENCE = 240.0
# Of which one alone takes minutes.
_FIT = {"name": "long", "estimator": "tree", "max_depth": 3, "gamma": 0.05, "eta": 0.001, "favorable_label": "0"}


def run() -> Row:
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as home:
        study = _study(Path(home))
        database = study.path / "study.sqlite"
        with closing(Store.open(database, study.fingerprint)) as store:
            _answered(study, store)
            with ExitStack() as stack:
                runners = [stack.enter_context(_runner(study, database)) for _ in range(cores)]
                server = stack.enter_context(served(study.path, "--no-jobs"))
                without, beside, busy = uvloop.run(_compared(server.port, store, runners))
    (alone, p95_alone), (together, p95) = ((np.median(times), np.quantile(times, 0.95)) for times in (without, beside))
    ratio = p95 / p95_alone
    return Row(
        what=f"an answer while fits run on all {cores} cores, SQLite, one worker, {PARTICIPANTS} people with "
        f"{THINKING:.0f} s of thinking",
        bar="p95 ≤ 2 × without",
        measured=f"p95 {1000 * p95:.1f} ms, {ratio:.2f} × the {1000 * p95_alone:.1f} ms without",
        reached=bool(ratio <= 2),
        notes=f"{TURNS} times {SECONDS:.0f} s without and {SECONDS:.0f} s with {cores} fits at once (trees of depth 3, "
        f"each in the process that `fairwise serve` would start), in turns on the same server and with the same load. "
        f"An answer is the form sent, saved and the next page loaded: {len(without)} of them without, {len(beside)} "
        f"beside the fits; median {1000 * alone:.1f} and {1000 * together:.1f} ms. The fits meanwhile had "
        f"{busy:.0%} of the processor time of all cores.",
        ratios={"p95 without fits / with": p95_alone / p95},
    )


def _study(home: Path) -> StudyFolder:
    people, outcome = compas.people()
    people.assign(again=np.asarray(outcome)).to_csv(home / "people.csv", index_label="person")
    file = PeopleFile.read(home / "people.csv", "person")
    told = {"title": "Benchmark", "pairs": _PAIRS, "practice": False, "seed": 0}
    return new_study(home / "study", file, list(map(str, people.columns)), told, outcome="again")


def _answered(study: StudyFolder, store: Store) -> None:
    """A panel that has answered 50 pairs each, to be fitted."""
    now, chance = datetime.now(UTC), random.Random(0)
    for _ in range(_PANEL):
        token = secrets.token_bytes(32)
        consent = participants.Consent(token, "v1", now, Stage.PAIRS, timedelta(days=1))
        new_key = partial(secrets.token_urlsafe, 18)
        store.change_now(partial(participants.start, consent=consent, schedule=study.schedule, new_key=new_key))
        for pair in store.read_now(partial(answers.appearances_of, token_hash=token)):
            answer = Answer(chance.choice((*ANSWERS, "same", "same")))
            new = recording.NewAnswer(pair.key, secrets.token_hex(8), answer, "", None, 1.0, now)
            store.change_now(partial(recording.record, token_hash=token, new=new))


@contextmanager
def _runner(study: StudyFolder, database: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = start_jobs(study.path, database, None)
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(_PATIENCE)


async def _compared(port: int, store: Store, runners: list[Any]) -> tuple[list[float], list[float], float]:
    everyone = [await LeanParticipant.connected(port) for _ in range(PARTICIPANTS)]
    for someone in everyone:
        await someone.begin()
    without: list[float] = []
    beside: list[float] = []
    shares: list[float] = []
    for _ in range(TURNS):
        await answer_for_a_while(everyone, without)
        submit = partial(jobs.submit, settings=_FIT, operator_name="benchmark", at=datetime.now(UTC))
        fits = [store.change_now(submit) for _ in runners]
        await _all_compute(store, fits, runners)
        before, start = _cpu_seconds(runners), time.perf_counter()
        await answer_for_a_while(everyone, beside)
        spent = _cpu_seconds(runners) - before
        shares.append(spent / (time.perf_counter() - start) / (os.cpu_count() or 1))
        if any(_of(store, fit).state != "running" for fit in fits):
            raise RuntimeError("a fit was over before the load was")
        for fit in fits:
            store.change_now(partial(jobs.want_cancel, job_id=fit))
        while any(_of(store, fit).state == "running" for fit in fits):  # noqa: ASYNC110 - in another process
            await asyncio.sleep(0.1)
    for someone in everyone:
        await someone.close()
    return without, beside, float(np.mean(shares))


async def answer_for_a_while(everyone: list[LeanParticipant], times: list[float]) -> None:
    end = time.perf_counter() + SECONDS

    async def take_part(someone: LeanParticipant, number: int) -> None:
        chance, turn = random.Random(number), number
        await someone.reload()  # the server closes connections on which nothing is said
        while True:
            await asyncio.sleep(chance.uniform(0.5, 1.5) * THINKING)
            if time.perf_counter() > end:
                return
            begun = time.perf_counter()
            if not await someone.answer(turn):
                raise RuntimeError("there were too few pairs")
            times.append(time.perf_counter() - begun)
            turn += 1

    await asyncio.gather(*(take_part(someone, number) for number, someone in enumerate(everyone)))


async def _all_compute(store: Store, fits: list[int], runners: list[Any]) -> None:
    """Wait until each of the fits computes, as far as what else the machine does lets it."""
    until = time.perf_counter() + _PATIENCE
    while time.perf_counter() < until:
        if all(_of(store, fit).message == "Fitting the model" for fit in fits):
            before = [_cpu_seconds([runner]) for runner in runners]
            await asyncio.sleep(2)
            if all(_cpu_seconds([runner]) - b > 0.1 for runner, b in zip(runners, before, strict=True)):
                return
        await asyncio.sleep(0.2)
    raise RuntimeError(f"the fits did not begin: {[_of(store, fit) for fit in fits]}")


def _of(store: Store, fit: int) -> jobs.Job:
    found = store.read_now(partial(jobs.find_job, job_id=fit))
    assert found is not None
    return found


def _cpu_seconds(runners: list[Any]) -> float:
    """Spent so far by these processes and all below them that still are."""
    import psutil  # noqa: PLC0415 - comes with dask

    total = 0.0
    for runner in runners:
        top = psutil.Process(runner.pid)
        for process in (top, *top.children(recursive=True)):
            spent = process.cpu_times()
            total += spent.user + spent.system
    return total
