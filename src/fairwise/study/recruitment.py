"""Recruitment: ways into a study, keys and signatures, and the table ``[recruitment]`` of ``study.toml``."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from datetime import timedelta
from typing import Annotated, Literal, Self, TypeGuard
from urllib.parse import quote, urlencode, urlsplit

from itsdangerous import BadSignature, Signer
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from fairwise.study.toml import Input, Line, SettingsTable

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
        """Return the stored hash of a token, which has too many bits for a plain hash to be reversed."""
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
        """Return the seconds since a stamp for this pair was made; None if it is not ours."""
        try:
            then, _, stamped = self._times.unsign(stamp).decode().partition(" ")
        except BadSignature:
            return None
        return max(0, _milliseconds() - int(then)) / 1000 if stamped == key else None

    def mark(self, panel: str, panel_id: str) -> bytes:
        """Return the keyed hash by which someone from a panel who withdrew is recognised."""
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


# How someone came to the study: by the open link, by a personal one, by a room's code, or from a panel.

OPEN, PERSONAL, ROOM = "open", "personal", "room"
SIMULATED_AGENT, FORCED_AGENT = "fairwise-bots (simulated)", "fairwise-bots (simulated, forced)"
"""User agents of simulated people, and of those who may come among real people."""

PANELS = {"prolific": "Prolific", "sona": "Sona", "mturk": "Mechanical Turk"}
"""Panels that send people, with the names people know them by."""

# Under which names each panel tells who comes, and in which of their sessions. A session's name is as good as a key.
_PARAMETERS = {
    "prolific": ("PROLIFIC_PID", "SESSION_ID"),
    "sona": ("survey_code", None),
    "mturk": ("workerId", "assignmentId"),
}
_NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"  # someone on Mechanical Turk who only looks
_NAME = re.compile(r"[A-Za-z0-9_.~-]{1,100}")


def is_panel_id(text: str) -> bool:
    """Whether a panel could have such an id."""
    return _NAME.fullmatch(text) is not None


class Incomplete(Exception):  # noqa: N818 - says what is the case
    """A panel's link without what the panel should have filled in."""


@dataclass(frozen=True)
class Arrival:
    """Travels through the consent page as text; the form's signature covers it."""

    came_by: str
    who: str = ""
    """The panel's id of them, the room's code, or the token of the personal link."""

    session: str = ""
    nonce: str = ""
    """Makes one arrival differ from another where nothing else does."""

    @classmethod
    def by_open_link(cls) -> Self:
        return cls(OPEN, nonce=Keys.new())

    @classmethod
    def into_room(cls, code: str) -> Self:
        return cls(ROOM, code, nonce=Keys.new())

    @classmethod
    def by_personal_link(cls, token: str) -> Self:
        return cls(PERSONAL, token)

    @classmethod
    def from_panel(cls, panel: str, query: Mapping[str, str]) -> Self | None:
        """Return who the panel says this is; None if it says nothing at all.

        With a session's name the same link leads the same person to where they were, on any device. Without one, ids
        may be as short as five digits, which others could guess: then only the device or the own link does.
        """
        who_name, session_name = _PARAMETERS[panel]
        if who_name not in query and (session_name is None or session_name not in query):
            return None
        who = query.get(who_name, "")
        session = query.get(session_name, "") if session_name else ""
        if (
            not _NAME.fullmatch(who)
            or session == _NOT_ACCEPTED
            or not (session_name is None or _NAME.fullmatch(session))
        ):
            raise Incomplete
        return cls(panel, who, session, "" if session else Keys.new())

    @property
    def start_key(self) -> str:
        return "|".join(astuple(self))

    @classmethod
    def parsed(cls, start_key: str) -> Self:
        """Return what :attr:`start_key` was made from; only after its signature was checked."""
        return cls(*start_key.split("|"))

    @property
    def address(self) -> str:
        """Address at which the same person comes in again."""
        if self.came_by in PANELS:
            values = zip(_PARAMETERS[self.came_by], (self.who, self.session), strict=True)
            return f"/?{urlencode({name: value for name, value in values if name is not None})}"
        return {ROOM: f"/room/{self.who}", PERSONAL: f"/p/{self.who}"}.get(self.came_by, "/")

    def token(self, keys: Keys) -> str:
        """The participant's token: the personal link's own, or what follows from the arrival."""
        return self.who if self.came_by == PERSONAL else keys.token(self.start_key)

    @property
    def is_lasting(self) -> bool:
        """Whether the same link makes the same arrival again."""
        return not self.nonce


BY_OPEN_LINK = Arrival(OPEN)


# Who a panel sent, as it signed it: JSON Web Tokens with RS256, checked with keys that the operator gave.

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
    """A token that the panel did not sign for this study, or that is no longer valid."""


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
            keys = {str(key["kid"]): PublicKey(_number(key["n"]), _number(key["e"])) for key in listed if _is_rsa(key)}
        except (ValueError, TypeError, KeyError, RecursionError, NotSigned):
            raise ValueError('not a list of keys; needed: the panel\'s own, which begins with {"keys": [') from None
        if not keys:
            raise ValueError("no key in it with which RS256 can be checked")
        for name, key in keys.items():
            if key.n.bit_length() not in _BITS or not 2 < key.e < _LARGEST_EXPONENT or not key.n & key.e & 1:
                raise ValueError(f"the key {name[:40]!r} is not an RSA key of 2048 to 8192 bits")
        return cls(keys)

    def claims(self, token: str, studies: str, now: float) -> Mapping[str, str]:
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
        payload = _content(parts[2])
        sent, until, begins = payload.get("prolific"), payload.get("exp"), payload.get("nbf", 0)
        if payload.get("iss") != _ISSUER or not isinstance(sent, dict) or sent.get("STUDY_ID") not in studies.split():
            raise NotSigned
        if not _is_time(until) or not _is_time(begins) or not begins - _LEEWAY_SECONDS <= now < until + _LEEWAY_SECONDS:
            raise NotSigned
        return {name: value for name, value in sent.items() if isinstance(value, str)}


def _is_rsa(key: Mapping[str, object]) -> bool:
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


def _content(text: str) -> dict[str, object]:
    try:
        content = json.loads(_bytes(text))
    except (ValueError, RecursionError):
        raise NotSigned from None
    if not isinstance(content, dict):
        raise NotSigned
    return content


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
_FILLED = ("id", "session", "code")
_GAPS = "https://… {id}, {session} and {code} are filled in."
_ON_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


def _check_address(address: str) -> str:
    """Refuse an address that a browser would not be sent to safely, or with gaps that nothing fills."""
    if not address:
        return address
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        host = None
    plain = address.isascii() and address.isprintable() and not re.search(r"[\s\\\\]", address)
    if not host or parts.scheme not in ("https", "http") or not plain:
        raise ValueError("not an address; needed: https://…")
    if parts.scheme == "http" and host not in _ON_THIS_MACHINE:
        raise ValueError("needed: an address that begins with https://")
    if "{" in parts.netloc:
        raise ValueError("only what comes after the host may have gaps")
    for gap in re.findall(r"{[^}]*}?", address):
        if gap.strip("{}") not in _FILLED:
            raise ValueError(f"{gap} cannot be filled in; allowed: {', '.join(f'{{{name}}}' for name in _FILLED)}")
    return address


def _keys(text: str) -> str:
    if text:
        PanelKeys.read(text)
    return text


WayBack = Annotated[str, StringConstraints(strip_whitespace=True, max_length=1000), AfterValidator(_check_address)]


class Recruitment(SettingsTable):
    """Settings for who takes part, how many, and where they go afterwards."""

    open: Annotated[bool, Field(title="Whoever has the address of the study may take part")] = True
    """Whether whoever has the address may take part; otherwise only by personal link, in a room or from the panel."""

    panel: Annotated[
        Literal["", "prolific", "sona", "mturk"], Field(title="Panel"), Input(options={"": "none", **PANELS})
    ] = ""
    """The panel that sends people: prolific, sona, mturk, or none."""

    completion_url: Annotated[WayBack, Field(title="Where they go when they have finished"), Input(_GAPS)] = ""
    """Address for those from the panel when all is saved; {id}, {session} and {code} are filled in."""

    completion_code: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=100),
        Field(title="Code that they are shown at the end"),
        Input("If empty, everyone is shown one of their own."),
    ] = ""
    """The code that those from the panel are shown at the end; if empty, everyone is shown one of their own."""

    screened_out_url: Annotated[WayBack, Field(title="Where those go who cannot take part"), Input(_GAPS)] = ""
    """Address for those from the panel who cannot take part; filled in likewise."""

    most: Annotated[
        int, Field(ge=0, title="At most so many people"), Input("Those who left are not counted. 0: any number.")
    ] = 0
    """Largest number of participants, those who left not counted; 0 for any number."""

    hold_minutes: Annotated[
        int,
        Field(ge=1, le=60 * 24 * 365, title="Minutes for which a place is held until the first answer"),
        Input("Then others may take it. Whoever comes back goes on if there is room."),
    ] = 30
    """Minutes for which a place is held for someone who agreed and has not answered yet."""

    most_from_address: Annotated[
        int,
        Field(ge=0, title="At most so many begin from one internet address in a quarter of an hour"),
        Input("0: any number. The address is not kept."),
    ] = 30
    """Largest number who may begin from one internet address within a quarter of an hour; 0 for any number."""

    most_from_address_in_rooms: Annotated[
        int,
        Field(ge=0, title="The same for those who come by a room's code"),
        Input("The phones of a class often have one address together."),
    ] = 300
    """Limit for those who come by a room's code, as the phones of a class often have one address together."""

    panel_keys: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=20_000),
        AfterValidator(_keys),
        Field(title="Keys by which Prolific signs its links"),
        Input(
            "The text at https://api.prolific.com/.well-known/study/jwks.json. If given, only signed links are let in."
        ),
    ] = ""
    """The public keys by which Prolific signs who it sends, as JSON; if given, nobody else comes from it."""

    panel_studies: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=1000, pattern=r"^([A-Za-z0-9_-]+( +|$))*$"),
        Field(title="Ids of the study at Prolific"),
        Input("Needed with the keys; several with spaces between them."),
    ] = ""
    """The ids that the study has at Prolific, with spaces between them; what is signed must be about one of them."""

    @property
    def hold(self) -> timedelta:
        """Time for which a place is held until the first answer."""
        return timedelta(minutes=self.hold_minutes)

    @model_validator(mode="after")
    def _signatures_of_prolific(self) -> Self:
        if self.panel_keys and self.panel != "prolific":
            raise ValueError("panel_keys: of the panels only prolific signs its links; upload the ids that may come")
        if bool(self.panel_keys) != bool(self.panel_studies):
            raise ValueError("panel_keys and panel_studies are needed together, or neither of them")
        return self

    @model_validator(mode="after")
    def _panel_named(self) -> Self:
        for name in ("completion_url", "completion_code", "screened_out_url"):
            if getattr(self, name) and not self.panel:
                raise ValueError(f"{name} is for those whom a panel sends, but panel names none")
        return self


class Relation(SettingsTable):
    """Something that a participant may be to the decision."""

    name: Annotated[Name, Field(title="Short name")]
    """A short name under which it is kept with their answers, such as affected."""

    words: Annotated[Line, Field(title="What participants read")]
    """What participants read."""

    most: Annotated[Annotated[int, Field(ge=0)] | None, Field(title="At most")] = None
    """Largest number of such participants; 0 to screen them out; left out: any number."""

    affected: Annotated[
        bool | None,
        Field(title="Affected by such decisions"),
        Input(options={"": "not known", "yes": "yes", "no": "no"}),
    ] = None
    """Whether such decisions affect these people; left out: not known, and reports say so."""


def filled(address: str, *, panel_id: str, session: str, code: str) -> str:
    """Return an address with its gaps filled.

    >>> filled("https://example.org/done?p={id}", panel_id="a b", session="", code="")
    'https://example.org/done?p=a%20b'
    """
    values = {"id": panel_id, "session": session, "code": code}
    return re.sub(r"{(\w+)}", lambda gap: quote(values[gap[1]], safe=""), address)
