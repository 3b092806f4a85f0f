"""The study that reports are about."""

from tests.support.report_study import complete, found, nasty, study
from tests.support.sums import sums
from tests.support.three_decisions import tiers

__all__ = ["complete", "found", "nasty", "study", "sums", "tiers"]
