"""A console without a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.operating import Operating, operating

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def unchanged_console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operating]:
    """For tests that change nothing."""
    home = tmp_path_factory.mktemp("console")
    with operating(home / "study", home / "study.sqlite") as opened:
        opened.set_up()
        yield opened


@pytest.fixture
def plain_console(tmp_path: Path) -> Iterator[Operating]:
    """Where the database makes no difference."""
    with operating(tmp_path / "study", tmp_path / "study.sqlite") as opened:
        opened.set_up()
        yield opened
