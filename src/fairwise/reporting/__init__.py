"""Figures and the report: pictures and prose of what `auditing` found, no numbers of their own.

Names are loaded when they are first used: a command that only counts in words needs no pictures.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from fairwise.extras import require

if TYPE_CHECKING:
    from fairwise.auditing.findings import Findings, findings
    from fairwise.reporting.page import write_report

__all__ = ["Findings", "findings", "write_report"]

_HOME = {
    "Findings": "fairwise.auditing.findings",
    "findings": "fairwise.auditing.findings",
    "write_report": "fairwise.reporting.page",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "write_report":
        require("report", "A report")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
