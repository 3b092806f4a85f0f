"""Figures and the report: pictures and prose of what `auditing` found, no numbers of their own."""

from fairwise.auditing.findings import Findings, findings
from fairwise.loading import require

require("report", "A report")

from fairwise.reporting.page import write_report

__all__ = ["Findings", "findings", "write_report"]
