"""How someone came to the study: by the open link, by a personal one, by a room's code, or from a panel."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode

from fairwise.study.signing import Keys

if TYPE_CHECKING:
    from collections.abc import Mapping

OPEN, PERSONAL, ROOM = "open", "personal", "room"
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
        """Where the same person comes in again."""
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
