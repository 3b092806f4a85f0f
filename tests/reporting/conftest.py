"""The study that reports are about."""

from tests.support.report_study import complete, found, nasty, study

__all__ = ["complete", "found", "nasty", "study"]
