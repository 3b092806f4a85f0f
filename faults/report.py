"""The written report, ``docs/faults.md``: two parts, each written by the command that measures it."""

from __future__ import annotations

import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[1] / "docs" / "faults.md"
FAULTS, LOAD = "## Faults", "## Load"
_OPENING = """# Faults and load

What was done to a study while it was answered, and what was found afterwards. `make faults` writes the first part,
`make load` the second; run them again to replace what is here. Participants are simulated. What an operator sees and
does when something breaks is in [operating.md](operating.md).
"""


def write_part(heading: str, text: str) -> None:
    """Replace one part and leave the other as it is."""
    parts = dict.fromkeys((FAULTS, LOAD), "Not run yet.")
    if DOCUMENT.exists():
        old = re.split(r"^(## .*)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        parts |= {name: body.strip() for name, body in zip(old[::2], old[1::2], strict=True)}
    parts[heading] = text.strip()
    whole = "\n\n".join([_OPENING.strip(), *(f"{name}\n\n{parts[name]}" for name in (FAULTS, LOAD))])
    DOCUMENT.write_text(whole + "\n", encoding="utf-8")
