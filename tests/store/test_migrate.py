"""Which databases are taken, what is made in them, and how the next version upgrades them."""

from __future__ import annotations

import hashlib
import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from tests.support.someone import Someone

from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.store import answers, engine
from fairwise.store.engine import current_version, database_url, migrate, newest_version, writing_engine
from fairwise.store.schema import metadata
from fairwise.store.store import Store, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIRST_TABLES = "6ac4caf39fec5f6397ce713a5f2f089c730e63fa41da70cbf2d45722d056ac83"


def test_the_first_version_makes_the_same_tables_for_ever() -> None:
    """Whoever changes `schema.py` writes its tables as they were into the first migration, and adds another one."""
    made = []
    for dialect in (sqlite.dialect(), postgresql.dialect()):  # type: ignore[no-untyped-call]
        for table in metadata.sorted_tables:
            made.append(str(CreateTable(table).compile(dialect=dialect)))
            made += sorted(str(CreateIndex(index).compile(dialect=dialect)) for index in table.indexes)
    assert hashlib.sha256("".join(made).encode()).hexdigest() == FIRST_TABLES


def test_migrations_make_the_tables_the_code_expects(new_empty_database: Callable[[], str | Path]) -> None:
    writing = writing_engine(database_url(new_empty_database()))
    migrate(writing)
    migrate(writing)
    with writing.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
    writing.dispose()


NEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "2", "1"


def upgrade():
    with op.batch_alter_table("appearances") as table:
        table.add_column(sa.Column("shown", sa.Integer, nullable=False, server_default="7"))
"""


def test_the_next_version_upgrades_with_all_answers(
    new_database: Callable[[], str | Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = new_database()
    store = Store.open(address, "study")
    someone = Someone(store)
    someone.answer(1, Answer.SAME, "n")
    read = partial(answers.appearances_of, token_hash=someone.token)
    before = store.read_now(read)
    store.close()
    shutil.copytree(engine.MIGRATIONS, tmp_path / "migrations")
    (tmp_path / "migrations" / "versions" / "2_next.py").write_text(NEXT)
    monkeypatch.setattr(engine, "MIGRATIONS", tmp_path / "migrations")
    with pytest.raises(InputError, match="'1', and this Fairwise reads '2': upgrade the tables"), snapshot(address):
        pass
    writing = writing_engine(database_url(address))
    migrate(writing)
    with writing.connect() as connection:
        assert current_version(connection) == newest_version() == "2"
        assert read(connection) == before
        assert connection.execute(sa.text("SELECT DISTINCT shown FROM appearances")).scalar_one() == 7
    writing.dispose()


@pytest.mark.parametrize(("version", "said"), [("9999", "update Fairwise"), ("0018", "fairwise study reopen")])
def test_tables_of_another_version_are_refused_and_left_as_they_are(
    new_database: Callable[[], str | Path], version: str, said: str
) -> None:
    address = new_database()
    Store.open(address, "study").close()
    writing = writing_engine(database_url(address))
    with writing.begin() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
    with pytest.raises(InputError, match=f"tables of version '{version}'.*{said}"):
        Store.open(address, "study")
    with pytest.raises(InputError, match=f"tables of version '{version}'.*{said}"), snapshot(address):
        pass
    with writing.connect() as connection:
        assert current_version(connection) == version
    writing.dispose()


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
