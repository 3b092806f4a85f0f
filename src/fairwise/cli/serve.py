"""``fairwise serve``: the web app of a study."""

import re
from pathlib import Path
from typing import Annotated

import typer

from fairwise.cli.screen import note
from fairwise.errors import InputError


def serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study, made by: fairwise study new.")],
    database: Annotated[
        str | None, typer.Option("--database", help="postgresql://…; without it SQLite in DIR.", metavar="URL")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option("--workers", help="Processes; more than one needs PostgreSQL.", min=1)] = 1,
    prefix: Annotated[
        str, typer.Option("--prefix", help="Path under which a proxy shows the study: /study.", metavar="PATH")
    ] = "",
) -> None:
    """Ask people: serve the pages of a study until it is stopped with Ctrl-C.

    Example:

    fairwise serve my-study --port 8000
    """
    if workers > 1 and (database is None or database.startswith("sqlite")):
        raise InputError("--workers: SQLite has one writer, so several processes need --database postgresql://…")
    if prefix and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", prefix):
        raise InputError(f"--prefix: {prefix!r} must be a path of letters, digits and - . _ ~, such as /study")
    from fairwise.elicitation.folder import StudyFolder
    from fairwise.elicitation.store.store import Store
    from fairwise.elicitation.web.server import database_of, run_server

    study = StudyFolder.open(folder)
    Store.open(database_of(folder, database), study.fingerprint).close()  # what is wrong with it is said here, once
    for missing in study.unfinished:
        note(f"To be filled in before anyone is asked: {missing}")
    run_server(folder, database, host=host, port=port, workers=workers, prefix=prefix, announce=note)
