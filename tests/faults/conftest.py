"""A study of the faults' own, small and quickly read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from faults.study import make_study

from fairwise.elicitation.folder import StudyFolder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    return StudyFolder.open(make_study(tmp_path, pairs=3, design={}))
