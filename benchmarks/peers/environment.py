"""Rivals that do not go together with our own packages live in a virtual environment of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).parent
_ENVIRONMENT = _HERE.parents[1] / ".venv-peers"
_REQUIREMENTS = _HERE / "requirements.txt"
_INSTALLED = _ENVIRONMENT / "installed.txt"


def run_peer(script: str, *arguments: Path) -> None:
    """Run a script of this folder there; the environment is made when it is first needed."""
    wanted = _REQUIREMENTS.read_text(encoding="utf-8")
    python = _ENVIRONMENT / "bin" / "python"
    if not _INSTALLED.exists() or _INSTALLED.read_text(encoding="utf-8") != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", _ENVIRONMENT], check=True)
        options: list[str | Path] = ["--quiet", "--disable-pip-version-check", "--requirement", _REQUIREMENTS]
        subprocess.run([python, "-m", "pip", "install", *options], check=True)
        _INSTALLED.write_text(wanted, encoding="utf-8")
    subprocess.run([python, _HERE / script, *arguments], check=True)
