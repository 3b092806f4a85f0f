"""A small study to test on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from small_study import study_maker

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.elicitation.folder import StudyFolder


@pytest.fixture(scope="session")
def make_study(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StudyFolder]:
    return study_maker(tmp_path_factory)
