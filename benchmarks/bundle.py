"""A bundle of a large study: made, and checked by recomputing every schedule from the seed."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from benchmarks.row import Row, seconds
from benchmarks.served_study import make_study
from fairwise.archive.bundle import write_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.store import participants
from fairwise.store.schema import answers, appearances
from fairwise.store.store import Store, snapshot
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Keys
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PARTICIPANTS = 1_000
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def run() -> Row:
    with tempfile.TemporaryDirectory() as home:
        study = StudyFolder.open(make_study(Path(home)))
        database, bundle = Path(home) / "full.sqlite", Path(home) / "bundle.zip"
        store = Store.open(database, study.fingerprint)
        store.change_now(lambda connection: _fill(connection, study))
        store.close()
        with snapshot(database) as connection:
            made = seconds(lambda: write_bundle(bundle, study, connection))
        checked = seconds(lambda: verify_bundle(bundle))
        found, size = verify_bundle(bundle), bundle.stat().st_size
    return Row(
        what=f"bundle of {_PARTICIPANTS:,} participants with {found.answers // _PARTICIPANTS} answers each",
        bar="made and verified in ≤ 20 s",
        measured=f"{made:.1f} s + {checked:.1f} s",
        reached=made + checked <= 20,
        notes=f"{found.answers:,} answers about people of COMPAS, {size / 1e6:.1f} MB.",
        ratios={"bar / seconds": 20 / (made + checked)},
    )


def _fill(connection: Connection, study: StudyFolder) -> None:
    """Everyone has answered everything, with the same answer: the time does not depend on which."""
    for _ in range(_PARTICIPANTS):
        consent = participants.Consent(Keys.hashed(Keys.new()), "v1", _NOW, Stage.PAIRS, timedelta(days=1))
        participants.start(connection, consent, study.schedule, Keys.new)
    said = {"version": 1, "answer": "same", "why": "", "confidence": None, "seconds": 1.5, "answered_at": _NOW}
    everything = connection.execute(sa.select(appearances.c.id)).scalars().all()
    connection.execute(sa.insert(answers), [{"appearance_id": one, "nonce": Keys.new(), **said} for one in everything])
