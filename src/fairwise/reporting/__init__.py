"""Figures and the report: pictures and prose, no numbers of their own."""

from fairwise.reporting.files import write_report
from fairwise.reporting.findings import Findings, findings

__all__ = ["Findings", "findings", "write_report"]
