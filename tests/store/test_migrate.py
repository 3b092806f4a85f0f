"""Which databases are taken, what is made in them, and what stays in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from tests.support.someone import Someone

from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.store.engine import database_url, migrate, writing_engine
from fairwise.store.store import Store
from fairwise.store.tables import metadata

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_migrations_make_the_tables_the_code_expects(new_empty_database: Callable[[], str | Path]) -> None:
    engine = writing_engine(database_url(new_empty_database()))
    migrate(engine)
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_a_newer_database_is_refused(new_empty_database: Callable[[], str | Path]) -> None:
    address = new_empty_database()
    engine = writing_engine(database_url(address))
    migrate(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(InputError, match="newer Fairwise"):
        migrate(engine)
    engine.dispose()


def test_another_studys_answers_are_not_mixed_in(new_database: Callable[[], str | Path]) -> None:
    address = new_database()
    Store.open(address, "one").close()
    second = Store.open(address, "another")  # nobody has answered yet
    Someone(second)
    second.close()
    with pytest.raises(InputError, match="another study"):
        Store.open(address, "a third")
    Store.open(address, "another").close()


def test_what_was_withdrawn_is_gone_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    store = Store.open(path, "study")
    someone = Someone(store)
    secret = "a reason that nobody else would give"
    someone.answer(1, Answer.SAME, "n", why=secret)
    someone.withdraw()
    store.close()
    remains = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert secret.encode() not in remains
