"""uvicorn with the study and its console in it."""

from __future__ import annotations

import errno
import gc
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
from fairwise.store.logs import limit_log, name_studies
from fairwise.store.operators import has_owner, was_set_up
from fairwise.store.places import (
    Place,
    check_several,
    database_for,
    database_of,
    find_places,
    is_address,
    is_study,
)
from fairwise.web.app import Site
from fairwise.web.connections import MOST_CONNECTIONS, Connection, LimitConnections
from fairwise.web.console.accounts import setup_key
from fairwise.web.shared.host import Host
from fairwise.web.studies import Studies

try:
    import resource
except ImportError:  # not on every system
    resource = None  # type: ignore[assignment]

_FOLDER, _DATABASE, _PREFIX = "FAIRWISE_STUDY", "FAIRWISE_DATABASE", "FAIRWISE_PREFIX"
_SEVERAL = "FAIRWISE_SEVERAL"
_PARENT = "FAIRWISE_WORKERS_OF"
_BACKLOG = 2048
_OTHER_FILES = 500
_GRACE_SECONDS = 3
"""Time that requests under way have when the server is told to stop; then they and their programs are ended."""


def app_from_environment() -> Site | Studies:
    """Return the app of a worker process; the parent passes the study or folder in the environment."""
    name_studies("fairwise")  # before what is told twice is kept back: what two studies say is not the same
    limit_log()
    # That somebody sent a broken form is no news for the log, which anyone could fill like that.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    gc.freeze()  # what the program loaded stays: it is not to be looked through for garbage again and again
    folder = Path(os.environ[_FOLDER])
    if _PARENT in os.environ:
        Thread(target=_end_with, args=(int(os.environ[_PARENT]),), name="fairwise-orphan", daemon=True).start()
    database, prefix = os.environ.get(_DATABASE), os.environ.get(_PREFIX, "")
    if _SEVERAL in os.environ:
        return Studies(folder, database, prefix)
    return Site(folder, database_of(folder, database), prefix)


def limited_app() -> LimitConnections:
    """Return the app of a worker process with limits of connections."""
    return LimitConnections(app_from_environment())


def run_server(
    folder: Path,
    database: str | None,
    *,
    host: str,
    port: int,
    workers: int,
    prefix: str,
    announce: Callable[[str], None],
    background: AbstractContextManager[object],
    several: bool = False,
) -> None:
    """Serve a folder, with a study in it or not yet, until told to stop; requests under way are finished.

    With `several`, it is a folder of such folders. `beside` is entered once it is known that the folder can be served,
    and left at the end.
    """
    os.environ.pop(_SEVERAL, None)
    if several:
        check_several(folder, database)
        os.environ[_SEVERAL] = "yes"
    else:
        _refuse_other_folders(folder)
    os.environ[_FOLDER], os.environ[_PREFIX] = str(folder), prefix
    os.environ.pop(_DATABASE, None)  # the database is what was asked for here, and nothing that was there before
    if database is not None:
        os.environ[_DATABASE] = database
    _may_open(MOST_CONNECTIONS + _OTHER_FILES)
    with _listening(host, port) as listener:
        own_port = listener.getsockname()[1]
        address = f"[{host}]" if ":" in host else host
        if several:
            _announce_several(folder, database, f"http://{address}:{own_port}", prefix, announce)
        else:
            _announce(folder, database_of(folder, database), f"http://{address}:{own_port}", prefix, announce)
        config = uvicorn.Config(
            "fairwise.web.server:limited_app",
            factory=True,
            http=Connection,  # type: ignore[arg-type]  # asyncio takes either kind of protocol
            ws="none",  # which would have limits of its own, or none
            host=host,
            port=own_port,
            workers=workers,
            access_log=False,  # addresses of pages are keys, and participants' own addresses nobody's business
            log_level="warning",
            server_header=False,
            date_header=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        with background:
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
    """Allow a file for every connection, as far as the system permits; its default is often 1024."""
    if resource is None:
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now != resource.RLIM_INFINITY and now < files:
        limit = files if most == resource.RLIM_INFINITY else min(files, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


def _refuse_other_folders(folder: Path) -> None:
    """Refuse a folder that holds other things."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; a study is a folder")
    if not folder.exists() and not folder.resolve().parent.is_dir():
        raise InputError(f"{folder.resolve().parent}: there is no such folder; make it first")
    if folder.is_dir() and any(folder.iterdir()) and not is_study(folder):
        hint = "; with --several each study in it is served" if any(map(is_study, folder.iterdir())) else ""
        raise InputError(f"{folder}: holds other things and no study; give the folder of a study, or a new one{hint}")


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


def _announce_several(
    folder: Path, database: str | None, server: str, prefix: str, announce: Callable[[str], None]
) -> None:
    """Say where each study is; an empty folder is one to be made in the console, and has a secret from now on."""
    server = _announce_address(server, prefix, announce)
    existing = find_places(folder, database)
    new = [
        path for path in sorted(folder.iterdir()) if is_address(path.name) and path.is_dir() and not any(path.iterdir())
    ]
    places = {path.name: Place(path.name, path, database_for(path, database)) for path in new} | dict(existing.studies)
    for name, why in existing.refused.items():
        announce(f"{name}: cannot be served: {why}")
    for name, place in sorted(places.items()):

        def announce_study(words: str, name: str = name) -> None:
            announce(f"{name}: {words}")

        announce_study(f"{server}{prefix}/{name}/")
        try:
            _announce(place.path, place.database, server, f"{prefix}/{name}", announce_study, is_announced=True)
        except (InputError, OSError) as error:
            announce_study(f"cannot be served: {' '.join(str(error).split())}")
    if not places:
        announce(f"There is no study in {folder} yet: fairwise study new {folder}/NAME …, or an empty folder")


def _announce_address(server: str, prefix: str, announce: Callable[[str], None]) -> str:
    """Announce the address, and return the beginning of public addresses."""
    if prefix:
        announce(f"For a proxy that shows {server}/ under {prefix}/ (Ctrl-C stops)")
        return "https://…"
    announce(f"Open {server}/ (Ctrl-C stops)")
    return server


def _announce(
    folder: Path,
    database: str | Path,
    server: str,
    prefix: str,
    announce: Callable[[str], None],
    *,
    is_announced: bool = False,
) -> None:
    """Say where everything is, once it is known that it can be opened."""
    opened = Host(folder, database, prefix)
    try:
        study, first = opened.study, "" if opened.store.read_now(was_set_up) else setup_key(opened)
        nobody = not first and not opened.store.read_now(has_owner)
    finally:
        opened.close()
    for missing in () if study is None else study.unfinished:
        announce(f"To be filled in before anyone is asked: {missing}")
    if not is_announced:
        server = _announce_address(server, prefix, announce)
    if study is None:
        announce("There is no study yet; one is made in the console.")
    announce(f"Console: {server}{prefix}/admin")
    if first:
        announce(f"No account yet. Make the first one, by which you can log in: {server}{prefix}/admin/setup/{first}")
    if nobody:
        announce(f"No owner's account any more. Make one: fairwise study operator add {folder} NAME")
