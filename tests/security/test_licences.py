"""All that is locked has a licence that lets people use it as they use Fairwise; and the bill names all of it."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0"),
    *("PSF-2.0", "PostgreSQL", "Zlib", "LLVM-exception", "LGPL-3.0-only", "LGPL-3.0-or-later"),
}
# These are only used beside Fairwise, by those who develop it.
ALLOWED_BESIDE = ALLOWED | {"GPL-3.0-only", "GPL-3.0-or-later", "Public Domain"}


@pytest.fixture(scope="module")
def materials() -> Any:
    path = ROOT / "scripts" / "bill_of_materials.py"
    spec = importlib.util.spec_from_file_location("bill_of_materials", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_licence_is_allowed(materials: Any) -> None:
    found = materials.packages()
    assert len(found) > 100
    for package in found:
        if package.licence == materials.ELSEWHERE:
            continue
        parts = set(re.split(r" (?:AND|OR|WITH) ", package.licence.replace("(", "").replace(")", "")))
        assert parts <= (ALLOWED if package.runs else ALLOWED_BESIDE), (package.name, package.licence)


def test_the_bill_and_the_page_are_of_the_locked_versions(materials: Any) -> None:
    """`make sbom` makes both anew."""
    found = {(package.name, package.version) for package in materials.packages()}
    bill = json.loads((ROOT / "docs" / "sbom.json").read_text(encoding="utf-8"))
    assert {(one["name"], one["version"]) for one in bill["components"]} == found
    assert all(one["hashes"] for one in bill["components"])
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    assert (
        set(re.findall(r"^\| (\S+) \| ([^|]+?) \| [^|]+ \|$", page, flags=re.MULTILINE)) - {("package", "version")}
        == found
    )
