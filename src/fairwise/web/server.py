"""uvicorn with the study and its console in it."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from threading import Thread

import uvicorn
from uvicorn.supervisors import Multiprocess

from fairwise.errors import InputError
from fairwise.store.failures import limit_log
from fairwise.store.operators import has_owner, was_set_up
from fairwise.study.folder import SECRET, SETTINGS
from fairwise.web.app import Site
from fairwise.web.console.login import setup_key
from fairwise.web.protocol import MOST_CONNECTIONS, LimitedProtocol
from fairwise.web.shared.host import Host

try:
    import resource
except ImportError:  # not on every system
    resource = None  # type: ignore[assignment]

DATABASE_FILE = "study.sqlite"
_FOLDER, _DATABASE, _PREFIX = "FAIRWISE_STUDY", "FAIRWISE_DATABASE", "FAIRWISE_PREFIX"
_PARENT = "FAIRWISE_WORKERS_OF"
_BACKLOG = 2048
_FILES_BESIDE = 500


def database_of(folder: Path, url: str | None) -> str | Path:
    """Where answers are kept: a file in the study's folder, unless a URL says otherwise."""
    return folder / DATABASE_FILE if url is None else url


def app_from_environment() -> Site:
    """What each worker process runs; the parent says by the environment which study it is."""
    limit_log()
    # That somebody sent a broken form is no news for the log, which anyone could fill like that.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    folder = Path(os.environ[_FOLDER])
    if _PARENT in os.environ:
        Thread(target=_end_with, args=(int(os.environ[_PARENT]),), name="fairwise-orphan", daemon=True).start()
    return Site(folder, database_of(folder, os.environ.get(_DATABASE)), os.environ.get(_PREFIX, ""))


def run_server(
    folder: Path,
    database: str | None,
    *,
    host: str,
    port: int,
    workers: int,
    prefix: str,
    announce: Callable[[str], None],
    beside: AbstractContextManager[object],
) -> None:
    """Serve a folder, with a study in it or not yet, until told to stop; requests under way are finished.

    `beside` is entered once it is known that the folder can be served, and left at the end.
    """
    _refuse_other_folders(folder)
    os.environ[_FOLDER], os.environ[_PREFIX] = str(folder), prefix
    os.environ.pop(_DATABASE, None)  # the database is what was asked for here, and nothing that was there before
    if database is not None:
        os.environ[_DATABASE] = database
    _may_open(MOST_CONNECTIONS + _FILES_BESIDE)
    with _listening(host, port) as listener:
        taken = listener.getsockname()[1]
        address = f"[{host}]" if ":" in host else host
        _announce(folder, database_of(folder, database), f"http://{address}:{taken}", prefix, announce)
        config = uvicorn.Config(
            "fairwise.web.server:app_from_environment",
            factory=True,
            http=LimitedProtocol,
            ws="none",  # which would have limits of its own, or none
            host=host,
            port=taken,
            workers=workers,
            access_log=False,  # addresses of pages are keys, and participants' own addresses nobody's business
            log_level="warning",
            server_header=False,
            date_header=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=10,
        )
        with beside:
            _run(config, listener)


def _run(config: uvicorn.Config, listener: socket.socket) -> None:
    if config.workers > 1:
        os.environ[_PARENT] = str(os.getpid())
        Multiprocess(config, sockets=[listener]).run()
        return
    server = uvicorn.Server(config)
    # Having stopped in order, uvicorn sends itself the signal once more: it must not kill what has yet to be ended.
    signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
    if not server.started:
        raise SystemExit(1)  # and the log has said why


def _end_with(parent: int) -> None:
    """Stop as soon as the parent is gone: workers left alone would keep the port, and nobody would look after them."""
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


def _may_open(files: int) -> None:
    """As many files at once as there may be connections, as far as the system allows; its own number is often 1024."""
    if resource is None:
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now != resource.RLIM_INFINITY and now < files:
        limit = files if most == resource.RLIM_INFINITY else min(files, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


def _refuse_other_folders(folder: Path) -> None:
    """A folder that is not ours is not to be filled with our files."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; a study is a folder")
    if not folder.exists() and not folder.resolve().parent.is_dir():
        raise InputError(f"{folder.resolve().parent}: there is no such folder; make it first")
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / ours).exists() for ours in (SETTINGS, SECRET)):
        raise InputError(f"{folder}: holds other things and no study; give the folder of a study, or a new one")


def _listening(host: str, port: int) -> closing[socket.socket]:
    """A socket on which nobody else listens; said in one line if there is none."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"--host {host}: {error.strerror or error}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)  # before the address is told: whoever is quick waits, and is not refused
        listener.set_inheritable(True)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"--port {port}: something else listens there already; choose another port") from None
        raise InputError(f"--host {host} --port {port}: {error.strerror or error}") from None
    return closing(listener)


def _announce(folder: Path, database: str | Path, server: str, prefix: str, announce: Callable[[str], None]) -> None:
    """Say where everything is, once it is known that it can be opened."""
    opened = Host(folder, database, prefix)
    try:
        study, first = opened.study, "" if opened.store.read_now(was_set_up) else setup_key(opened)
        nobody = not first and not opened.store.read_now(has_owner)
    finally:
        opened.close()
    for missing in () if study is None else study.unfinished:
        announce(f"To be filled in before anyone is asked: {missing}")
    if prefix:
        announce(f"For a proxy that shows {server}/ under {prefix}/ (Ctrl-C stops)")
        server = "https://…"
    else:
        announce(f"Open {server}/ (Ctrl-C stops)")
    if study is None:
        announce("There is no study yet; one is made in the console.")
    announce(f"Console: {server}{prefix}/admin")
    if first:
        announce(f"No account yet. Make the first one, by which you can log in: {server}{prefix}/admin/setup/{first}")
    if nobody:
        announce(f"No owner's account any more. Make one: fairwise study operator add {folder} NAME")
