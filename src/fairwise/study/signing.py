"""Everything unguessable, from one secret of the study."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable

from itsdangerous import BadSignature, Signer

_TOKEN_BYTES = 18  # 144 bits
_RECEIPT_CHARACTERS = 16


class Keys:
    """Tokens of participants, signatures of forms and times; nothing here is kept but the secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._forms = Signer(secret, salt="form", digest_method=hashlib.sha256)
        self._times = Signer(secret, salt="time", digest_method=hashlib.sha256)

    @staticmethod
    def new() -> str:
        """A key of 144 random bits, of letters, digits, - and _."""
        return secrets.token_urlsafe(_TOKEN_BYTES)

    def token(self, start_key: str) -> str:
        """The participant's token. It follows from the form they agreed with: sent twice, it is one person."""
        digest = hmac.digest(self._secret, b"participant " + start_key.encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).decode()

    @staticmethod
    def hashed(token: str) -> bytes:
        """What is kept of a token. It has so many bits that a plain hash cannot be turned round."""
        return hashlib.sha256(token.encode()).digest()

    def form(self, subject: str) -> str:
        """A signature for the forms of one participant, or of one consent page."""
        return self._forms.get_signature(subject).decode()

    def is_form(self, subject: str, signature: str) -> bool:
        return self._forms.verify_signature(subject, signature)

    def time(self, key: str) -> str:
        """The time now in milliseconds, signed for one pair."""
        return self._times.sign(f"{_milliseconds()} {key}").decode()

    def seconds_since(self, key: str, stamp: str) -> float | None:
        """How long ago a stamp for this pair was made; None if it is not ours."""
        try:
            then, _, stamped = self._times.unsign(stamp).decode().partition(" ")
        except BadSignature:
            return None
        return max(0, _milliseconds() - int(then)) / 1000 if stamped == key else None

    def mark(self, panel: str, panel_id: str) -> bytes:
        """What is kept of someone from a panel who withdrew: known again, but only by whoever has the secret."""
        return hmac.digest(self._secret, f"withdrawn {panel} {panel_id}".encode(), "sha256")

    def group_mark(self, panel: str, panel_id: str) -> bytes:
        """Keyed hash of a panel's id, beside which only its experiment group is kept."""
        return hmac.digest(self._secret, f"group {panel} {panel_id}".encode(), "sha256")

    def reason_name(self, answer_id: int) -> str:
        """Name of a reason on pages, in addresses and in the audit log: the answer's id would tell who wrote it."""
        return self.receipt(["reason", answer_id])

    def receipt(self, parts: Iterable[object]) -> str:
        """A code that only this study could have made, for exactly these answers."""
        digest = hmac.digest(self._secret, "\n".join(map(str, parts)).encode(), "sha256")
        code = base64.b32encode(digest).decode()[:_RECEIPT_CHARACTERS]
        return "-".join(code[start : start + 4] for start in range(0, len(code), 4))


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
