"""Every word of a report is in every catalogue of reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.catalogues import catalogue, check, said_in

import fairwise.reporting
from fairwise.reporting.words import languages

ROOM = Path(fairwise.reporting.__file__).parent


@pytest.mark.parametrize("code", [code for code in languages() if code != "en"])
def test_a_catalogue_is_complete_and_right_in_form(code: str) -> None:
    check(catalogue(ROOM / "locale", code), said_in([ROOM, ROOM.parent / "learning" / "model"], ROOM / "locale"))
