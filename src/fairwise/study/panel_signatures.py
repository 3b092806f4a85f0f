"""Who a panel sent, as it signed it: JSON Web Tokens with RS256, checked with keys that the operator gave.

Prolific adds such a token to a study's address where the researcher asks for secure addresses, and publishes its keys.
Nothing is fetched here: the keys are a setting of the study.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Mapping

PARAMETER = "prolific_token"
"""Under which name the token is in the address."""

_ISSUER = "https://www.prolific.com"
_LONGEST = 4000
_LEEWAY_SECONDS = 60
_PART = r"([A-Za-z0-9_-]+)"
_TOKEN = re.compile(rf"{_PART}\.{_PART}\.{_PART}")
_BITS = range(2048, 8193)
_LARGEST_EXPONENT = 2**32
# What PKCS #1 puts before a SHA-256 digest: that it is one.
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")


class NotSigned(Exception):  # noqa: N818 - says what is the case
    """Nothing that the panel signed for this study, or not any more."""


@dataclass(frozen=True)
class PublicKey:
    """An RSA key with modulus `n` and exponent `e`."""

    n: int
    e: int

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Whether s^e mod n is exactly the encoding of the message's digest (RSASSA-PKCS1-v1_5, SHA-256).

        The encoding is made anew and compared as a whole; nothing of the signature is parsed.
        """
        size, number = (self.n.bit_length() + 7) // 8, int.from_bytes(signature)
        if len(signature) != size or number >= self.n:
            return False
        digest = _SHA256 + hashlib.sha256(message).digest()
        expected = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
        return hmac.compare_digest(pow(number, self.e, self.n).to_bytes(size), expected)


@dataclass(frozen=True)
class PanelKeys:
    """The keys that a panel publishes, by their names."""

    keys: Mapping[str, PublicKey]

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a JSON Web Key Set; a ValueError says what is wrong with it."""
        try:
            listed = json.loads(text)["keys"]
            found = {str(key["kid"]): PublicKey(_number(key["n"]), _number(key["e"])) for key in listed if _is_rsa(key)}
        except (ValueError, TypeError, KeyError, RecursionError, NotSigned):
            raise ValueError('not a list of keys; needed: the panel\'s own, which begins with {"keys": [') from None
        if not found:
            raise ValueError("no key in it with which RS256 can be checked")
        for name, key in found.items():
            if key.n.bit_length() not in _BITS or not 2 < key.e < _LARGEST_EXPONENT or not key.n & key.e & 1:
                raise ValueError(f"the key {name[:40]!r} is not an RSA key of 2048 to 8192 bits")
        return cls(found)

    def claims(self, token: str, studies: str, now: float) -> Mapping[str, Any]:
        """Return whom the panel says it sent to one of its `studies`, if it signed so and that holds `now`."""
        parts = _TOKEN.fullmatch(token) if len(token) <= _LONGEST else None
        if parts is None:
            raise NotSigned
        head = _content(parts[1])
        key = self.keys.get(str(head.get("kid")))
        if (
            key is None
            or head.get("alg") != "RS256"
            or not key.signed(token[: parts.end(2)].encode(), _bytes(parts[3]))
        ):
            raise NotSigned
        said = _content(parts[2])
        sent, until, begins = said.get("prolific"), said.get("exp"), said.get("nbf", 0)
        if said.get("iss") != _ISSUER or not isinstance(sent, dict) or sent.get("STUDY_ID") not in studies.split():
            raise NotSigned
        if not _is_time(until) or not _is_time(begins) or not begins - _LEEWAY_SECONDS <= now < until + _LEEWAY_SECONDS:
            raise NotSigned
        return {name: value for name, value in sent.items() if isinstance(value, str)}


def _is_rsa(key: Mapping[str, Any]) -> bool:
    return bool(key["kty"] == "RSA") and key.get("alg", "RS256") == "RS256" and key.get("use", "sig") == "sig"


def _is_time(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bytes(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise NotSigned from None


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text))


def _content(text: str) -> dict[str, Any]:
    try:
        found = json.loads(_bytes(text))
    except (ValueError, RecursionError):
        raise NotSigned from None
    if not isinstance(found, dict):
        raise NotSigned
    return found
