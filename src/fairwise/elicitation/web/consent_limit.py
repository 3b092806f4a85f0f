"""How many begin from one address: counted as attempts to log in are, in the same file, and about nobody."""

from __future__ import annotations

import time
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

from fairwise.elicitation.console.attempts import SECONDS, Attempts

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SECONDS", "ConsentLimit"]


class ConsentLimit(Attempts):
    """Counts for all processes of a server together, under keyed hashes, for a quarter of an hour."""

    def begin_consent(self, address: str, most: int) -> bool:
        """Count someone who begins, unless there were too many already; returns whether they may.

        Addresses that are not public are not counted: behind a proxy that tells no other, everyone would have one.
        """
        counted = _counted(address)
        if not most or counted is None:
            return True
        mark, now = self._keys.mark("consent from", counted), time.time()

        def count(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM attempts WHERE at < ?", (now - SECONDS,))
            (number,) = connection.execute("SELECT count(*) FROM attempts WHERE mark = ?", (mark,)).fetchone()
            if number < most:
                connection.execute("INSERT INTO attempts VALUES (?, ?)", (mark, now))
            return bool(number < most)

        return self._change(count)


def _counted(address: str) -> str | None:
    """What one person has of addresses: one of IPv4, a whole /64 of IPv6.

    >>> _counted("2a00:1450:4001:80b::200e")
    '2a00:1450:4001:80b::/64'
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if not found.is_global:
        return None
    return str(found) if found.version == 4 else str(ip_network((found, 64), strict=False))
