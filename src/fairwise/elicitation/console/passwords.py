"""Passwords: kept as argon2 hashes, and checked in the same time whether there is such an account or not."""

from __future__ import annotations

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

SHORTEST = 12
LONGEST = 200

_hasher = PasswordHasher()


def hashed(password: str) -> str:
    """What is kept of a password."""
    return _hasher.hash(password)


def is_right(password: str, kept: str | None) -> bool:
    """Whether this is the password; for nobody's account (None) it takes as long, and is not."""
    try:
        return _hasher.verify(kept or _nobodys(), password) and kept is not None
    except (Argon2Error, InvalidHashError):
        return False


def problem_with(password: str, again: str) -> str | None:
    """What is wrong with a new password, in one sentence."""
    if not SHORTEST <= len(password) <= LONGEST:
        return f"A password needs {SHORTEST} to {LONGEST} characters; a few words do well"
    if len(set(password)) < 5:
        return "This password repeats itself too much; a few words do well"
    if password != again:
        return "The two passwords differ"
    return None


@cache
def _nobodys() -> str:
    return _hasher.hash("nobody has this password")
