"""A PostgreSQL that can be made to hang: connections are taken and kept, and nothing is ever said."""

from __future__ import annotations

import socket
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING, Self

from sqlalchemy.engine import make_url

if TYPE_CHECKING:
    from collections.abc import Iterator

_AT_MOST = 60.0
"""Then it goes on by itself, so that a test of something that waits for ever fails instead of waiting with it."""


class Hanging:
    """Passes on what is said between us and the server, as long as it does not hang."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self._events: list[Event] = []
        self._begin_anew()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = [self._listener]
        self.port: int = self._listener.getsockname()[1]
        self.gave_up = False
        Thread(target=self._listen, daemon=True).start()

    @contextmanager
    def hung(self) -> Iterator[None]:
        timer = Timer(_AT_MOST, self._give_up)
        timer.start()
        self._may_pass.clear()
        try:
            yield
            assert not self.gave_up, "something waited for it"
        finally:
            timer.cancel()
            self._may_pass.set()

    def fail_over(self) -> None:
        """Another server takes the place of this one, whose connections stay open and are never heard of again."""
        self._may_pass.clear()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._may_pass = Event()
        self._may_pass.set()
        self._events.append(self._may_pass)

    def _give_up(self) -> None:
        self.gave_up = True
        self._may_pass.set()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(str(self._server))
                self._open += [near, far]
                for source, target in ((near, far), (far, near)):
                    Thread(target=self._pass_on, args=(source, target, self._may_pass), daemon=True).start()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket, may_pass: Event) -> None:
        with suppress(OSError):
            while chunk := source.recv(2**16):
                may_pass.wait()
                target.sendall(chunk)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    @classmethod
    @contextmanager
    def before(cls, address: str) -> Iterator[tuple[str, Self]]:
        """An address that leads to the same database, which is on a socket of this machine."""
        url = make_url(address)
        folder = url.query["host"]
        assert isinstance(folder, str)
        proxy = cls(next(Path(folder).glob(".s.PGSQL.*[0-9]")))
        through = url.set(host="127.0.0.1", port=proxy.port, query={}).render_as_string(hide_password=False)
        try:
            yield through, proxy
        finally:
            for line in proxy._open:
                line.close()
            for event in proxy._events:
                event.set()
