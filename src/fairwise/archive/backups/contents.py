"""What a backup holds, and nothing else: the same names when it is taken and when it is restored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.archive.bundles.contents import study_files
from fairwise.store.job_files import FRONTIER, MODEL, PRICES, REPORT, SCORES, SUMMARY
from fairwise.store.tables import database_identity, sessions
from fairwise.study.folder import OUTCOME, SECRET

if TYPE_CHECKING:
    import sqlalchemy as sa

    from fairwise.study.settings import StudySettings

JOB_FILES = (FRONTIER, MODEL, PRICES, REPORT, SCORES, SUMMARY)
"""What a fit leaves behind."""

# Whoever was logged in logs in again: a copy of the database should open no door. What is restored is another database
# than the one that was backed up. Alembic's table is the version.
_LEFT_OUT = (sessions.name, database_identity.name, "alembic_version")


def backed_up_files(settings: StudySettings, *, with_secret: bool) -> set[str]:
    """Names of files in a study's folder."""
    return study_files(settings.languages) | {OUTCOME} | ({SECRET} if with_secret else set())


def tables_of_backup(metadata: sa.MetaData) -> list[sa.Table]:
    """Of the tables of a version, those that its backups hold, all of them; what is referred to comes first."""
    return [table for table in metadata.sorted_tables if table.name not in _LEFT_OUT]
