"""Section 5 of the paper, done again: with a simulated panel, or with real answers."""

from replication.pages import compare, write_markdown, write_study
from replication.study import Study, run_study

__all__ = ["Study", "compare", "run_study", "write_markdown", "write_study"]
