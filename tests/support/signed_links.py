"""A panel that signs whom it sends, as Prolific does: RS256 with a key of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from functools import cache
from math import gcd, prod
from typing import Any

ISSUER, STUDY, KID = "https://www.prolific.com", "study1", "key-1"
NOW = 1_800_000_000.0
DIGEST_IS_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")


_SMALL_PRIMES = prod(
    number for number in range(3, 4000, 2) if all(number % small for small in range(3, 64, 2) if small < number)
)
"""Times each other, to be rid of most numbers at once."""


def _prime(draw: random.Random, bits: int) -> int:
    """A number that passes 20 rounds of Miller and Rabin."""
    while True:
        number = draw.getrandbits(bits) | (3 << (bits - 2)) | 1
        if gcd(number, _SMALL_PRIMES) == 1 and _looks_prime(number, draw):
            return number


def _looks_prime(number: int, draw: random.Random) -> bool:
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(20):
        power = pow(draw.randrange(2, number - 1), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def number(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8))


@cache
def _key(seed: int, bits: int, e: int) -> tuple[int, int]:
    """The modulus and the private exponent; the same for the same seed."""
    draw = random.Random(seed)
    while True:
        p, q = _prime(draw, bits // 2), _prime(draw, bits // 2)
        if p != q and gcd(e, (p - 1) * (q - 1)) == 1:
            return p * q, pow(e, -1, (p - 1) * (q - 1))


class Panel:
    """Its private key, the keys that it publishes, and tokens."""

    def __init__(self, seed: int = 1, bits: int = 2048, kid: str = KID, e: int = 65537) -> None:
        self.e, self.kid = e, kid
        self.n, self.d = _key(seed, bits, e)

    @property
    def published(self) -> str:
        key = {"kty": "RSA", "kid": self.kid, "alg": "RS256", "use": "sig", "key_ops": ["verify"]}
        return json.dumps({"keys": [{**key, "n": number(self.n), "e": number(self.e)}]})

    def token(self, head: dict[str, Any] | None = None, **changes: Any) -> str:
        """A token for Ann in her first session; `changes` of its claims, None to leave one out."""
        sent = {"PROLIFIC_PID": "ann000000000000000000000", "STUDY_ID": STUDY, "SESSION_ID": "session1"}
        claims = {"iss": ISSUER, "aud": "https://study.example", "exp": NOW + 3600, "sub": "session1"}
        claims |= {"prolific": {**sent, "workspace_id": "w", **changes.pop("sent", {})}, **changes}
        said = {name: value for name, value in claims.items() if value is not None}
        first = encoded(json.dumps({"alg": "RS256", "kid": self.kid, "typ": "JWT", **(head or {})}).encode())
        text = f"{first}.{encoded(json.dumps(said).encode())}"
        return f"{text}.{encoded(self.signature(text.encode()))}"

    def signature(self, message: bytes) -> bytes:
        size = (self.n.bit_length() + 7) // 8
        digest = DIGEST_IS_SHA256 + hashlib.sha256(message).digest()
        block = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
        return pow(int.from_bytes(block), self.d, self.n).to_bytes(size)
