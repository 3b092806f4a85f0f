"""A small study to test on, someone who visits it, and a store with nothing in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from small_study import study_maker
from visits import Visit, visiting

from fairwise.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder


@pytest.fixture(scope="session")
def make_study(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StudyFolder]:
    return study_maker(tmp_path_factory)


@pytest.fixture
def store(new_database: Callable[[], str | Path]) -> Any:
    opened = Store.open(new_database(), "study")
    yield opened
    opened.close()


@pytest.fixture
def visit(make_study: Any, tmp_path: Path) -> Iterator[Visit]:
    with visiting(make_study(), tmp_path / "study.sqlite") as opened:
        yield opened
