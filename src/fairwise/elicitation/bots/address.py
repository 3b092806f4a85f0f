"""Where simulated people may go: to this machine, unless they are told that elsewhere is meant."""

from __future__ import annotations

from ipaddress import ip_address

import httpx2

from fairwise.errors import InputError


def checked_address(url: str, *, allow_remote: bool = False) -> httpx2.URL:
    """Return the address of a study, without a slash at its end; another machine's is refused unless allowed."""
    try:
        address = httpx2.URL(url.strip().rstrip("/"))
    except httpx2.InvalidURL as error:
        raise InputError(f"{url}: not an address: {error}") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise InputError(f"{url}: not the address of a study; needed: http://… or https://…")
    if not allow_remote and not is_loopback(address.host):
        raise InputError(
            f"{url}: is not on this machine, and simulated answers would be kept beside those of real people; "
            "if that is what you want, add --allow-remote"
        )
    return address


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, told by its name alone; nothing is looked up."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
