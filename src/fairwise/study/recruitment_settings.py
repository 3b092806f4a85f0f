"""Who may take part, and where they are sent afterwards: the table ``[recruitment]`` of ``study.toml``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from fairwise.study.arrivals import PANELS, PanelKeys
from fairwise.study.toml import Input, Line, SettingsTable

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
_FILLED = ("id", "session", "code")
_GAPS = "https://… {id}, {session} and {code} are filled in."
_ON_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


def _way_back(address: str) -> str:
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


WayBack = Annotated[str, StringConstraints(strip_whitespace=True, max_length=1000), AfterValidator(_way_back)]


class Recruitment(SettingsTable):
    """How people come to the study, how many of them, and where they go afterwards."""

    open: Annotated[bool, Field(title="Whoever has the address of the study may take part")] = True
    """Whether whoever has the address may take part; otherwise only by personal link, in a room or from the panel."""

    panel: Annotated[
        Literal["", "prolific", "sona", "mturk"], Field(title="Panel"), Input(options={"": "none", **PANELS})
    ] = ""
    """The panel that sends people: prolific, sona, mturk, or none."""

    completion_url: Annotated[WayBack, Field(title="Where they go when they have finished"), Input(_GAPS)] = ""
    """Where those from the panel are sent back to when all is saved; {id}, {session} and {code} are filled in."""

    completion_code: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=100),
        Field(title="Code that they are shown at the end"),
        Input("If empty, everyone is shown one of their own."),
    ] = ""
    """The code that those from the panel are shown at the end; if empty, everyone is shown one of their own."""

    screened_out_url: Annotated[WayBack, Field(title="Where those go who cannot take part"), Input(_GAPS)] = ""
    """Where those from the panel are sent back to who cannot take part; filled in likewise."""

    most: Annotated[
        int, Field(ge=0, title="At most so many people"), Input("Those who left are not counted. 0: any number.")
    ] = 0
    """How many may take part at most, those who left not counted; 0 for any number."""

    hold_minutes: Annotated[
        int,
        Field(ge=1, le=60 * 24 * 365, title="Minutes for which a place is held until the first answer"),
        Input("Then others may take it. Whoever comes back goes on if there is room."),
    ] = 30
    """For how many minutes a place is held for someone who agreed and has not answered yet."""

    most_from_address: Annotated[
        int,
        Field(ge=0, title="At most so many begin from one internet address in a quarter of an hour"),
        Input("0: any number. The address is not kept."),
    ] = 30
    """How many may begin from one internet address within a quarter of an hour; 0 for any number."""

    most_from_address_in_rooms: Annotated[
        int,
        Field(ge=0, title="The same for those who come by a room's code"),
        Input("The phones of a class often have one address together."),
    ] = 300
    """The same for those who come by a room's code, as the phones of a class often have one address together."""

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
        """For how long a place is held until the first answer."""
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
    """How many such people may take part at most; 0 to screen them out; left out: any number."""


def filled(address: str, *, panel_id: str, session: str, code: str) -> str:
    """Return an address with its gaps filled.

    >>> filled("https://example.org/done?p={id}", panel_id="a b", session="", code="")
    'https://example.org/done?p=a%20b'
    """
    values = {"id": panel_id, "session": session, "code": code}
    return re.sub(r"{(\w+)}", lambda gap: quote(values[gap[1]], safe=""), address)
