"""``fairwise serve``: the web app of a study, and its console."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fairwise.cli.options.learning import warn_without_tls
from fairwise.cli.options.study import NewDatabaseOption
from fairwise.cli.terminal import note
from fairwise.errors import InputError


def serve(
    folder: Annotated[
        Path,
        Argument(metavar="DIR", help="The study; or a new folder, to make one in the console; or one with --several."),
    ],
    database: NewDatabaseOption = None,
    host: Annotated[str, Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option("--port", help="Port to listen on; 0 for any that is free.", min=0, max=65535)] = 8000,
    workers: Annotated[int, Option("--workers", help="Processes; more than one needs PostgreSQL.", min=1)] = 1,
    prefix: Annotated[
        str, Option("--prefix", help="Path under which a proxy shows the study: /study.", metavar="PATH")
    ] = "",
    dask: Annotated[
        str | None,
        Option("--dask", help="Scheduler of a dask cluster that makes the models: tls://host:8786.", metavar="ADDRESS"),
    ] = None,
    several: Annotated[
        bool, Option("--several", help="DIR holds several studies, each a folder: the study DIR/loans is at /loans/.")
    ] = False,
    no_jobs: Annotated[bool, Option("--no-jobs", help="Make no models here; those asked for wait.")] = False,
) -> None:
    """Ask people: serve the pages of a study, and the console of those who run it, until stopped with Ctrl-C.

    Example:

    fairwise serve my-study --port 8000
    """
    if workers > 1 and (database is None or database.startswith("sqlite")):
        raise InputError("--workers: SQLite has one writer, so several processes need --database postgresql://…")
    if prefix and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", prefix):
        raise InputError(f"--prefix: {prefix!r} must be a path of letters, digits and - . _ ~, such as /study")
    if dask is not None:
        warn_without_tls(dask)
    from fairwise.jobs.runner import jobs_beside
    from fairwise.store.places import database_of
    from fairwise.web.server import run_server

    where = (database or "") if several else database_of(folder, database)
    run_server(
        folder,
        database,
        host=host,
        port=port,
        workers=workers,
        prefix=prefix,
        announce=note,
        background=nullcontext() if no_jobs else jobs_beside(folder, where, dask, several=several),
        several=several,
    )
