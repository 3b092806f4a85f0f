"""Addresses of databases: refused in a sentence, and never shown with a password; and what is promised of commits."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.databases import PREPARE_SQLITE

from fairwise.errors import InputError
from fairwise.store import engine
from fairwise.store.engine import database_url, public_address
from fairwise.store.store import Store, snapshot

_NOBODY = "127.0.0.1:1"  # nothing listens there


@pytest.mark.parametrize(
    "address",
    [
        "post gres://me:hunter2@host/x",
        "me:hunter2@host/x",
        "post gres://me:pass@hunter2@host/x",
        "post gres://me@host/x?password=hunter2",
        "postgresql://me:hunter2@127.0.0.1:x/x",
        "postgresql://me:pass@hunter2:word@host/x",
    ],
)
def test_what_is_no_address_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(InputError, match="allowed: postgresql://") as refused:
        database_url(address)
    assert "hunter2" not in str(refused.value)


def test_a_port_that_is_no_number_is_named() -> None:
    with pytest.raises(InputError, match="the port in it is not a number"):
        database_url("postgresql://u:p@127.0.0.1:x/x")


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:hunter2@{_NOBODY}/x",
        f"postgresql://me@{_NOBODY}/x?password=hunter2&sslpassword=hunter2&application_name=study",
    ],
)
def test_a_database_that_cannot_be_used_is_named_without_its_password(address: str) -> None:
    with pytest.raises(InputError, match=_NOBODY) as opened:
        Store.open(address, "f")
    with pytest.raises(InputError, match=_NOBODY) as looked, snapshot(address):
        pass
    for told in (str(opened.value), str(looked.value), public_address(database_url(address))):
        assert "hunter2" not in told


@pytest.mark.parametrize("address", ["mysql://localhost/x", "what is this", "postgresql+asyncpg://x/y"])
def test_other_databases_are_refused(address: str) -> None:
    with pytest.raises(InputError, match="allowed: postgresql"):
        database_url(address)


def test_commits_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_prepare_sqlite", PREPARE_SQLITE)  # in other tests they do not
    names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
    store = Store.open(tmp_path / "study.sqlite", "study")
    settings = store.change_now(lambda c: {name: c.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names})
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}
    store.close()
