"""A study whose panel has answered, made once."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.support.fitting import answered, study_of

from fairwise.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder


@dataclass(frozen=True)
class Panel:
    study: StudyFolder
    store: Store
    database: Path

    @property
    def jobs(self) -> Path:
        return self.study.path / "jobs"


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Panel]:
    study = study_of(tmp_path_factory.mktemp("fits"))
    database = study.path / "study.sqlite"
    with closing(Store.open(database, study.fingerprint)) as store:
        answered(study, store, 6)
        answered(study, store, 2, finished=False)
        yield Panel(study, store, database)


@pytest.fixture(scope="module")
def larger_panel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Panel]:
    """On which a fit takes long enough to be in the middle of it."""
    study = study_of(tmp_path_factory.mktemp("larger"), n_people=600, pairs_each=40)
    database = study.path / "study.sqlite"
    with closing(Store.open(database, study.fingerprint)) as store:
        answered(study, store, 12)
        yield Panel(study, store, database)
