"""Simulated people leave what people leave who went through the pages: all of it hangs together."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from fairwise.archive.bundle import write_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.simulation import draw_panel
from fairwise.simulation.respondent import SIMULATED
from fairwise.store import simulated
from fairwise.store.export import judgments, texts
from fairwise.store.store import Store
from fairwise.study.new_study import make_sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from fairwise.study.folder import StudyFolder

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return make_sample(tmp_path_factory.mktemp("sample") / "study")


@pytest.fixture
def store(study: StudyFolder, new_database: Callable[[], str | Path]) -> Iterator[Store]:
    opened = Store.open(new_database(), study.fingerprint)
    yield opened
    opened.close()


def play(store: Store, study: StudyFolder) -> None:
    def change(connection: Connection) -> None:
        simulated.take_part(connection, study, draw_panel(4), at=NOW, seed=5)

    store.change_now(change)


def test_what_they_leave_is_a_whole_study(store: Store, study: StudyFolder, tmp_path: Path) -> None:
    play(store, study)
    store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    verified = verify_bundle(tmp_path / "bundle.zip")
    assert verified.participants == 4
    said = store.read_now(judgments)
    assert said.n_judges == 4
    assert len(said.frame) == 4 * study.settings.pairs
    assert said.frame["answered_at"].max() < NOW
    assert said.frame["seconds"].between(1, 120).all()
    written = store.read_now(texts)["text"]
    assert written.str.contains(SIMULATED, regex=False).all()
    assert not written.str.contains("priors_count", regex=False).any()  # words, not columns


def test_they_say_what_they_think(store: Store, study: StudyFolder) -> None:
    """But for the answers that they give at random."""
    play(store, study)
    frame, people = store.read_now(judgments).frame, study.people()
    for (_, own), respondent in zip(frame.groupby("judge"), draw_panel(4), strict=True):
        opinions = respondent.opinions(
            *(people.loc[own[side].astype(str).tolist()].reset_index(drop=True) for side in "ab")
        )
        assert (own["answer"].astype(str) == [str(one) for one in opinions]).mean() > 0.85
