"""Figures and the report: pictures and prose, no numbers of their own."""

from fairwise.extras import require

require("report", "A report")

from fairwise.reporting.findings import Findings, findings
from fairwise.reporting.page import write_report

__all__ = ["Findings", "findings", "write_report"]
