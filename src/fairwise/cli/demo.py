"""``fairwise demo``: the whole way on one machine, from a table of people to a report, with simulated people."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPConnection, HTTPException
from math import isnan
from pathlib import Path
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING, Annotated

from typer import Abort, Option, confirm

from fairwise.cli.options import budget, parse_option, study_store
from fairwise.cli.terminal import check_folder, echo, heading, note, progress_bar, spinner
from fairwise.errors import InputError
from fairwise.numbers import in_100, share_difference

if TYPE_CHECKING:
    from fairwise.store.jobs import Job
    from fairwise.study.folder import StudyFolder

_PEOPLE = 43
_NAME = "demo"
_PATIENCE = 60.0
_BAR = 40


def demo(
    out: Annotated[Path | None, Option(help="Folder to make for the study; without it a temporary one.")] = None,
    no_serve: Annotated[bool, Option("--no-serve", help="Stop the server when the report is there.")] = False,
    port: Annotated[int, Option(help="Port of the server; another one if it is taken.", min=1, max=65535)] = 8000,
    gamma: Annotated[float, Option(help="How far two chances may differ against a judgment.", min=0, max=1)] = 0.1,
    eta: Annotated[str, Option(help="Mean excess that the panel may suffer, or none.")] = "0.02",
    seed: Annotated[int, Option(help="Of the pairs and of the simulated people.", min=0)] = 0,
) -> None:
    """Ask 43 simulated people about COMPAS over HTTP, fit what they said, and write a report.

    In a terminal the study is then served until Ctrl-C; where nobody could press it, the demo ends by itself.

    Example:

    fairwise demo --out my-demo --no-serve
    """
    from fairwise.bots.participant import play  # noqa: F401 - says at once if the extra is missing

    limit = parse_option("--eta", budget, eta)
    if out is not None:
        check_folder(out.parent if str(out.parent) else Path())
    home = Path(tempfile.mkdtemp(prefix="fairwise-demo-")) / "study" if out is None else out
    start = time.perf_counter()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server does not outlive this
    from fairwise.study.new_study import make_sample

    with spinner("Making the study"):
        study = make_sample(home, seed=seed)
    heading("1. A study")
    echo("5,829 people of the bundled COMPAS data: whom should a court release until the trial?")
    echo(f"Every participant compares {study.settings.pairs} pairs of them. Made {home}")
    with serving_study(home, port) as address:
        password = _account(study)
        _ask(study, address, seed)
        _print_agreement(study)
        job = _fit(study, {"gamma": gamma, "eta": limit, "frontier": True, "name": "Demo"})
        _print_fit(home, job)
        seconds = time.perf_counter() - start
        heading("What there is now")
        echo(f"The report            {home / 'jobs' / str(job.id) / 'report.html'}  (after {seconds:.0f} s)")
        if no_serve or not (sys.stdin.isatty() and sys.stdout.isatty()):
            echo(f"The study             {home}")
            echo(f"Serve it with         {typed_program()} serve {quote(str(home))}")
            echo(f"The console           /admin of the served study; log in as {_NAME} with the password {password}")
            return
        echo(f"The study             {address}/")
        echo(f"The console           {address}/admin")
        echo(f"                      log in as {_NAME} with the password {password}")
        _serve_on(address)


def typed_program() -> str:
    """Return this program as it is typed here: after ``make demo`` its name alone is only in the environment."""
    if which("fairwise"):
        return "fairwise"
    program = Path(sys.argv[0])
    return quote(str(program)) if program.stem == "fairwise" else f"{quote(sys.executable)} -m fairwise"


def _serve_on(address: str) -> None:
    """Offer the console in a browser, and wait for Ctrl-C."""
    try:
        if confirm("\nOpen the console in a browser?", default=False, err=True):
            webbrowser.open(f"{address}/admin")
        note("Ctrl-C stops the server.")
        while True:
            time.sleep(3600)
    except (KeyboardInterrupt, Abort):
        note("Stopped.")


@contextmanager
def serving_study(home: Path, port: int) -> Iterator[str]:
    """Serve the study in a process of its own until the block ends; yield its address."""
    from fairwise.jobs.runner import EQUAL

    words = [sys.executable, "-c", "from fairwise.cli import main; main()"]
    port = _free_port(port)
    log = home.parent / f"{home.name}-server.log"
    # Nobody real waits for a page; on a busy machine the model would wait for ever.
    environment = {**os.environ, EQUAL: "1"}
    with log.open("w") as output:
        server = subprocess.Popen(  # noqa: S603 - this very program
            [*words, "serve", str(home), "--port", str(port)], stdout=output, stderr=output, env=environment
        )
    address = f"http://127.0.0.1:{port}"
    try:
        with spinner("Starting the server"):
            _wait_until_there(address, server, log)
        yield address
    finally:
        server.terminate()
        server.wait()


def _free_port(preferred: int) -> int:
    """Return the preferred port, or another one if it is taken."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise InputError("There is no free port on this machine")


def _wait_until_there(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and server.poll() is None:
        try:
            with closing(HTTPConnection(address.removeprefix("http://"), timeout=1)) as connection:
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
        except (OSError, HTTPException):
            time.sleep(0.1)
    raise InputError(f"The server did not start; {log} says why")


def _account(study: StudyFolder) -> str:
    """Make an owner's account for the console; return its password."""
    from fairwise.store.operators import add_operator
    from fairwise.web.console.accounts import hashed

    password = secrets.token_urlsafe(12)
    owner = partial(add_operator, name=_NAME, password_hash=hashed(password), role="owner", at=datetime.now(UTC))
    with study_store(study.path, None) as store:
        store.change_now(owner)
    return password


def _ask(study: StudyFolder, address: str, seed: int) -> None:
    from fairwise.bots.browser import checked_address
    from fairwise.bots.participant import play
    from fairwise.simulation import PRINCIPLES, draw_panel

    heading("2. Simulated people (no real people are asked)")
    respondents = draw_panel(_PEOPLE, seed=seed)
    echo(f"{_PEOPLE} simulated people, each with one of {len(PRINCIPLES)} principles about people's records:")
    for kind, principle in PRINCIPLES.items():
        echo(f"{sum(respondent.kind == kind for respondent in respondents):>4}  {principle.statement}")
    with progress_bar("Simulated answers") as progress:
        site = checked_address(address)
        run = asyncio.run(play(study, site, respondents, seed=seed, thinking=False, progress=progress))
    echo(
        f"All {len(run.receipts)} went through the study's pages, from consent to receipt: "
        f"{run.answers:,} answers in {run.seconds:.0f} s."
    )


def _print_agreement(study: StudyFolder) -> None:
    from fairwise.judgments.agreement import krippendorff_alpha
    from fairwise.store.export import judgments
    from fairwise.store.places import DATABASE_FILE
    from fairwise.store.store import snapshot

    heading("3. Do they agree?")
    with snapshot(study.path / DATABASE_FILE) as connection:
        answers = judgments(connection)
    alpha = krippendorff_alpha(answers)
    if not isnan(alpha.alpha):
        echo(f"These simulated people {alpha.in_words}.")
    echo(alpha)


def _fit(study: StudyFolder, choices: dict[str, object]) -> Job:
    """Let the server's runner do a fit, as the console would."""
    from fairwise.store.jobs import find_job, submit
    from fairwise.store.places import DATABASE_FILE
    from fairwise.store.store import snapshot
    from fairwise.study.fit_choices import FitChoices
    from fairwise.study.new_study import SAMPLE_FAVORABLE

    heading("4. The model")
    settings = FitChoices.checked({"estimator": "tree", "favorable_label": SAMPLE_FAVORABLE, **choices}, study)
    new_job = partial(submit, settings=settings.model_dump(mode="json"), operator_name=_NAME, at=datetime.now(UTC))
    with study_store(study.path, None) as store:
        job_id = store.change_now(new_job)
    with spinner("Fitting, outside the web server (the first time after an install it compiles, too)"):
        while True:
            with snapshot(study.path / DATABASE_FILE) as connection:
                job = find_job(connection, job_id)
            if job is None or job.state in ("failed", "cancelled"):
                raise InputError(f"The model could not be made: {job.message if job else 'it is gone'}")
            if job.state == "done":
                return job
            time.sleep(0.3)


def _print_fit(home: Path, job: Job) -> None:
    summary = json.loads((home / "jobs" / str(job.id) / "summary.json").read_text(encoding="utf-8"))
    certificate = summary["certificate"]
    plain, error = summary["error_without_judgments"], certificate["error"]
    echo("Wrong decisions in 100, about the people that the model is made from")
    for name, rate in (("without any answers", plain), ("following them", error)):
        echo(f"  {name:<20} {'█' * round(_BAR * rate / max(plain, error))} {in_100(rate)}")
    proof = ""
    if certificate["lower_bound"] is not None:
        bound = in_100(certificate["lower_bound"])
        proof = f"; proved: no mixture of such trees that follows them as well has fewer than {bound}"
    echo(
        f"Following what {summary['judges']} simulated people asked for costs {share_difference(error, plain)} more "
        f"wrong decisions in 100 ({in_100(error)} instead of {in_100(plain)}){proof}."
    )
    if (held := summary["held_out"]) is not None:
        rates = [in_100(one["error"]) for one in (held, held["plain"], held["constant"])]
        echo(f"On new people: {rates[0]} following them, {rates[1]} without any answers, {rates[2]} always the same.")
    followed, n_demands = summary["followed"], summary["followed"] + summary["not_followed"]
    echo(f"Of {n_demands:,} answers that ask for something {followed:,} are followed.")
