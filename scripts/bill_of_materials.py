"""What Fairwise is made of: a CycloneDX bill of materials of the locked packages, and a page of their licences.

``python scripts/bill_of_materials.py docs/sbom.json docs/licences.md``. Names, versions and hashes are those of the
lock files; licences are what the installed packages say of themselves. Packages that are locked for other systems
only are not installed here, and are named as such.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_PACKAGE = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?==([^\s;\\]+)(?:\s*;\s*(.*?))?\s*\\?$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
# What packages call their licences, and the licence that it is (SPDX).
_NAMES = {
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache-2": "Apache-2.0",
    "apache": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd-3": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "3-clause bsd": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd-2": "BSD-2-Clause",
    "mit license": "MIT",
    "the mit license": "MIT",
    "expat": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "mpl 2.0": "MPL-2.0",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0-only",
    "gnu lesser general public license v3 or later (lgplv3+)": "LGPL-3.0-or-later",
    "gnu general public license v3 or later (gplv3+)": "GPL-3.0-or-later",
    "gnu general public license v3 (gplv3)": "GPL-3.0-only",
    "isc license (iscl)": "ISC",
    "python software foundation license": "PSF-2.0",
    "psf": "PSF-2.0",
    "psf-2.0": "PSF-2.0",
    "gplv3": "GPL-3.0-only",
    "postgresql license": "PostgreSQL",
    "zlib": "Zlib",
}
_WORDS = {
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software": "MIT",
    "Neither the name of": "BSD-3-Clause",
}
ELSEWHERE = "only on other systems"
UNKNOWN = "not said"


@dataclass(frozen=True)
class Package:
    """A locked package."""

    name: str
    version: str
    hashes: tuple[str, ...]
    runs: bool
    """Whether Fairwise needs it to run; otherwise for developing."""

    @property
    def licence(self) -> str:
        """As SPDX where it is one of the usual names."""
        try:
            said = metadata(self.name)
        except PackageNotFoundError:
            return ELSEWHERE
        if said.get("License-Expression"):
            return str(said["License-Expression"])
        listed = [
            line.rsplit(" :: ", 1)[-1] for line in said.get_all("Classifier") or () if line.startswith("License ::")
        ]
        short = [text for text in (said.get("License") or "",) if text and len(text) < 60]
        named = [_NAMES.get(text.strip().lower(), text.strip()) for text in (*listed, *short) if text != "OSI Approved"]
        return named[0] if named else _by_its_text(self.name)


def _by_its_text(name: str) -> str:
    """Return the licence whose best known words are in a package's own file; some say it nowhere else."""
    for file in distribution(name).files or ():
        if file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING")):
            text = " ".join(file.read_text().split())
            return next((licence for words, licence in _WORDS.items() if words in text), UNKNOWN)
    return UNKNOWN


def locked(file: Path) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Names, versions and hashes in a lock file; of several versions for several systems, the last."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    name = version = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        begins = _PACKAGE.match(line)
        if begins:
            name, version = begins[1].lower().replace("_", "-"), begins[2]
            found[name] = (version, ())
        elif name:
            found[name] = (version, (*found[name][1], *_HASH.findall(line)))
    return found


def packages() -> list[Package]:
    """All that is locked, by name."""
    needed, all_of_them = locked(ROOT / "requirements.lock"), locked(ROOT / "requirements-dev.lock")
    return [
        Package(name, version, hashes, runs=name in needed)
        for name, (version, hashes) in sorted({**all_of_them, **needed}.items())
    ]


def bill(found: list[Package]) -> dict[str, Any]:
    """CycloneDX 1.5. Of the same lock files always the same bill."""
    content = "\n".join(f"{package.name}=={package.version}" for package in found)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "fairwise", "bom-ref": "fairwise"}},
        "components": [
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{package.name}@{package.version}",
                "purl": f"pkg:pypi/{package.name}@{package.version}",
                "name": package.name,
                "version": package.version,
                "scope": "required" if package.runs else "optional",
                "licenses": [{"license": {"name": package.licence}}],
                "hashes": [{"alg": "SHA-256", "content": one} for one in package.hashes],
            }
            for package in found
        ],
    }


def page(found: list[Package]) -> str:
    """The licences for reading."""
    lines = [
        "# Licences of what Fairwise uses",
        "",
        "Made by `make sbom` from the lock files and from what each package says of itself. Fairwise itself is under",
        "the MIT licence; none of these packages is part of it, they are installed beside it. To run it, nothing under",
        "the GPL is needed.",
    ]
    for heading, runs in (("To run it", True), ("To develop it, and with the extra bots", False)):
        lines += ["", f"## {heading}", "", "| package | version | licence |", "|---|---|---|"]
        lines += [f"| {one.name} | {one.version} | {one.licence} |" for one in found if one.runs is runs]
    return "\n".join([*lines, ""])


def main() -> None:
    target, licences = map(Path, sys.argv[1:])
    found = packages()
    target.write_text(json.dumps(bill(found), indent=1) + "\n", encoding="utf-8")
    licences.write_text(page(found), encoding="utf-8")
    print(f"{len(found)} packages, {sum(one.runs for one in found)} of them needed to run: {target}, {licences}")


if __name__ == "__main__":
    main()
