"""Passwords: kept as argon2 hashes, and checked in the same time whether there is such an account or not."""

from __future__ import annotations

import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

SHORTEST = 12
LONGEST = 200

_NONE = "none "

_hasher = PasswordHasher()


def hashed(password: str) -> str:
    """What is kept of a password."""
    return _hasher.hash(password)


def is_right(password: str, kept: str | None) -> bool:
    """Whether this is the password; for nobody's account (None), or one without a password, it takes as long."""
    real = None if kept is None or kept.startswith(_NONE) else kept
    try:
        return _hasher.verify(real or _nobodys(), password) and real is not None
    except (Argon2Error, InvalidHashError):
        return False


def no_password() -> str:
    """What is kept while an account has no password: nothing fits it, and it is another each time."""
    return f"{_NONE}{secrets.token_urlsafe(18)}"


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
