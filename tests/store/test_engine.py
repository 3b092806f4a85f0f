"""Addresses of databases: refused in a sentence, and never shown with a password."""

from __future__ import annotations

import pytest

from fairwise.errors import InputError
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
