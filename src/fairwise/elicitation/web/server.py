"""uvicorn with this app in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from fairwise.elicitation.folder import StudyFolder
from fairwise.elicitation.web.app import create_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

DATABASE_FILE = "study.sqlite"
_FOLDER, _DATABASE, _PREFIX = "FAIRWISE_STUDY", "FAIRWISE_DATABASE", "FAIRWISE_PREFIX"


def database_of(folder: Path, url: str | None) -> str | Path:
    """Where answers are kept: a file in the study's folder, unless a URL says otherwise."""
    return folder / DATABASE_FILE if url is None else url


def app_from_environment() -> FastAPI:
    """What each worker process runs; the parent says by the environment which study it is."""
    folder = Path(os.environ[_FOLDER])
    database = database_of(folder, os.environ.get(_DATABASE))
    return create_app(StudyFolder.open(folder), database, prefix=os.environ.get(_PREFIX, ""))


def run_server(
    folder: Path,
    database: str | None,
    *,
    host: str,
    port: int,
    workers: int,
    prefix: str,
    announce: Callable[[str], None],
) -> None:
    """Serve until told to stop; requests under way are finished."""
    os.environ[_FOLDER], os.environ[_PREFIX] = str(folder), prefix
    if database is not None:
        os.environ[_DATABASE] = database
    address = f"http://{host}:{port}/"
    if prefix:
        announce(f"For a proxy that shows {address} under {prefix}/ (Ctrl-C stops)")
    else:
        announce(f"Open {address} (Ctrl-C stops)")
    uvicorn.run(
        "fairwise.elicitation.web.server:app_from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,  # addresses of pages are keys, and participants' own addresses nobody's business
        log_level="warning",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=10,
        limit_concurrency=2000,
    )
