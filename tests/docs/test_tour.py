"""The tour through the code names files that are there, and functions that are in them."""

from __future__ import annotations

import re
from pathlib import Path

import fairwise

_SOURCE = Path(fairwise.__file__).parent
_PAGE = (Path(__file__).parents[2] / "docs" / "tour.md").read_text(encoding="utf-8")


def test_every_file_and_function_of_the_tour_is_there() -> None:
    files = [(path.relative_to(_SOURCE).as_posix(), path) for path in _SOURCE.rglob("*.py")]
    missing = []
    for name, what in re.findall(r"`([a-z_/]+\.py)(?:: (\w+))?`", _PAGE):
        found = [path for known, path in files if f"/{known}".endswith(f"/{name}")]
        if not any(
            not what or re.search(rf"\b(def|class) {what}\b", path.read_text(encoding="utf-8")) for path in found
        ):
            missing.append(f"{name}: {what}" if what else name)
    assert not missing
