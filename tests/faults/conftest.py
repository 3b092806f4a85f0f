"""A study of the faults' own, small and quickly read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from faults.study import make_study
from tests.support.visits import visiting

from fairwise.archive.backup import take_backup
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    return StudyFolder.open(make_study(tmp_path, pairs=3, design={}))


@pytest.fixture
def new_database(new_empty_database: Callable[[], str | Path]) -> Callable[[], str | Path]:
    """Without tables: restoring and upgrading begin there."""
    return new_empty_database


@pytest.fixture
def backup(study: StudyFolder, tmp_path: Path) -> Path:
    """Of the study with one answer, taken while it is served."""
    file, database = tmp_path / "backup.zip", study.path / "study.sqlite"
    with visiting(study, database) as visit:
        mine = visit.begin()
        visit.answer(mine, 1, "same")
        take_backup(file, study, database, with_secret=False)
    return file
