"""Who comes from a panel, and whether the panel vouched for it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from fairwise.study.recruitment import PANELS, PARAMETER, Arrival, Keys, NotSigned, PanelKeys, Recruitment

_log = logging.getLogger("fairwise")
_CHECKED = "checked"
_LONGEST_SIGNATURE = 200


class Visitor(NamedTuple):
    """Whoever asks for the consent page, or sends it."""

    arrival: Arrival
    signed: bool = False
    """Whether a panel vouched for who they are."""

    contests: bool = False
    """Whether they say that whoever came under their id before was somebody else."""


class PanelDoor:
    """Believes what the panel signed, if it signs; else what the address says."""

    def __init__(self, recruitment: Recruitment, keys: Keys) -> None:
        self._panel, self._studies, self._keys = recruitment.panel, recruitment.panel_studies, keys
        self._panel_keys = PanelKeys.read(recruitment.panel_keys) if recruitment.panel_keys else None
        self._warned = False

    def visitor(self, query: Mapping[str, str]) -> Visitor | None:
        """Whoever the panel sent, by the address; None if it says nothing of one. Raises Incomplete or NotSigned."""
        if not self._panel:
            return None
        signed = self._panel_keys is not None and PARAMETER in query
        if self._panel_keys is not None and signed:
            query = self._claims(self._panel_keys, query[PARAMETER])
        arrival = Arrival.from_panel(self._panel, query)
        if arrival is None:
            return None
        if self._panel_keys is not None and not signed:
            if not self._keys.is_form(_checked(arrival), query.get(_CHECKED, "")[:_LONGEST_SIGNATURE]):
                raise NotSigned
            signed = True
        return Visitor(arrival, signed)

    def _claims(self, panel_keys: PanelKeys, token: str) -> Mapping[str, str]:
        try:
            return panel_keys.claims(token, self._studies, datetime.now(UTC).timestamp())
        except NotSigned:
            if not self._warned:  # once: anyone can make up tokens, and fill a log
                self._warned = True
                _log.warning("A link from the panel is not signed by panel_keys; if real people see that, renew them")
            raise

    def address(self, visitor: Visitor) -> str:
        """Where the same page is; our own signature stands for the panel's, which does not last."""
        if not visitor.signed:
            return visitor.arrival.address
        return f"{visitor.arrival.address}&{_CHECKED}={self._keys.form(_checked(visitor.arrival))}"

    def returned(self, start_key: str, *, contests: bool = False) -> Visitor | None:
        """Whose form this says it is; only its signature tells whether that is so: see form_subject."""
        try:
            arrival = Arrival.parsed(start_key)
        except TypeError:
            return None
        signed = self._panel_keys is not None and arrival.came_by in PANELS
        return Visitor(arrival, signed, contests and not signed)


def _checked(arrival: Arrival) -> str:
    return f"sent by panel {arrival.start_key}"


def form_subject(purpose: str, visitor: Visitor) -> str:
    """What a form for a visitor is signed for: its purpose, who came, and whether a panel vouched for it.

    So forms that were opened before the study had the panel's keys are worth nothing afterwards.
    """
    return f"{purpose} {visitor.arrival.start_key}{' vouched for' if visitor.signed else ''}"


def consent_subject(version: str, visitor: Visitor) -> str:
    """What a consent form is signed for: also a version of the text."""
    return form_subject(f"consent {version}", visitor)
