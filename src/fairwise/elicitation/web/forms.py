"""Forms as they arrive: text, cleaned and limited."""

from __future__ import annotations

import logging
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from fairwise.elicitation.web.security import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from fairwise.judgments import Answer

_MOST_FIELDS = 40
# That somebody sent a broken form is no news for the log, which anyone could fill like that.
logging.getLogger("python_multipart").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Form:
    """Fields by name, the last of several with one name."""

    fields: Mapping[str, str]

    def text(self, name: str, longest: int) -> str:
        """A field without what no database takes and no one types; cut where the page would not have allowed more."""
        value = self.fields.get(name, "")
        if value.isascii() and value.isprintable():  # keys and signatures, which are most of what arrives
            return value[:longest].strip()
        value = unicodedata.normalize("NFC", value).replace("\r\n", "\n")
        return "".join(c for c in value if c in "\n\t" or not unicodedata.category(c).startswith(("Cc", "Cs")))[
            :longest
        ].strip()

    def number(self, name: str, least: int, most: int) -> int | None:
        """A whole number, or None if there is none within the limits."""
        value = self.fields.get(name, "")
        return int(value) if re.fullmatch("[0-9]{1,9}", value) and least <= int(value) <= most else None

    def answer(self, allowed: tuple[Answer, ...]) -> Answer | None:
        """One of the answers that this study allows."""
        value = self.fields.get("answer", "")
        return next((answer for answer in allowed if answer == value), None)


async def read_form(request: Request, most_fields: int = _MOST_FIELDS) -> Form:
    """The fields of a request; files, and anything but a form, are refused."""
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise HTTPException(415)
    async with request.form(max_files=0, max_fields=most_fields, max_part_size=MOST_BYTES) as form:
        return Form({name: value for name, value in form.multi_items() if isinstance(value, str)})
