"""A bundle with something of everything in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.bundled_study import PAIRS, come
from tests.support.visits import Visit, hidden, visiting

from fairwise.archive.bundle import write_bundle
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RELATIONS = [{"name": "affected", "words": "It was about me"}, {"name": "neither", "words": "None of it"}]


@pytest.fixture(scope="module")
def study(make_study: Callable[..., StudyFolder]) -> StudyFolder:
    found = make_study(
        pairs=PAIRS, design={"repeats": 1}, second_look=True, relations=RELATIONS, languages=["en", "de"]
    )
    for name in ("links.parquet", "participants.parquet", "notes.md", "other.toml", "consent.fr.md", "study.sqlite"):
        (found.path / name).write_text("nobody-elses-business")
    (found.path / "consent.md").write_bytes(b'\xef\xbb\xbf# What you agree to\r\n\rto be "asked", =1+1\n')
    (found.path / "consent.de.md").write_text("# Worum es geht\n", encoding="utf-8")
    return StudyFolder.open(found.path)


def answer_all(visit: Visit, mine: str, said: str) -> None:
    visit.post(f"{mine}/practice", **hidden(visit.get(f"{mine}/practice")), done="yes")
    for number in range(1, PAIRS + 1):
        visit.answer(mine, number, said)


def finish(visit: Visit, mine: str) -> None:
    assert visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="").url.path.endswith("/thanks")


@pytest.fixture(scope="module")
def bundle(study: StudyFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of four: one finished, one is at the second look, one at the practice pair in German, and the last withdrew."""
    home = tmp_path_factory.mktemp("bundle")
    with visiting(study, home / "study.sqlite") as visit:
        mine = come(visit)
        answer_all(visit, mine, "same")
        finish(visit, mine)
        mine = come(visit)
        answer_all(visit, mine, "a_at_least_b")  # also of the repeat, whose sides are swapped
        page = visit.post(f"{mine}/second-look", csrf=hidden(visit.get(f"{mine}/task"))["csrf"])
        assert page.url.path == f"{mine}/second-look"
        come(visit, "de")
        mine = come(visit)
        visit.post(f"{mine}/withdraw", **hidden(visit.get(f"{mine}/withdraw")))
        visit.store.read_now(lambda connection: write_bundle(home / "bundle.zip", study, connection))
    return home / "bundle.zip"
