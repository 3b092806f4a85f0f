"""A study with a second look, and a visit to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.support.looking_again import PAIRS
from tests.support.visits import Visit, visiting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder


@pytest.fixture
def study(make_study: Any) -> StudyFolder:
    """Of six pairs, the last is the repeat of another."""
    found: StudyFolder = make_study(pairs=PAIRS, second_look=True, design={"repeats": 1})
    return found


@pytest.fixture
def visit(study: StudyFolder, tmp_path: Path) -> Iterator[Visit]:
    with visiting(study, tmp_path / "study.sqlite") as opened:
        yield opened
