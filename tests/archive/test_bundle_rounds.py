"""A study with two rounds in a bundle: verified, reopened as it was, and refused where a second round cannot be so."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.changed_bundles import changed, contents, in_table, put
from tests.support.visits import hidden, visiting

from fairwise.archive.bundle import ANSWERS, REASONS, ROUND_PAIRS, read_bundle, write_bundle
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.store import deliberation, export
from fairwise.store.operators import Operator
from fairwise.store.schema import reasons as decided
from fairwise.store.store import snapshot
from fairwise.store.study_state import standing

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def bundle(make_study: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four people, one of whom came back; one pair is on the list, and its reasons are released."""
    home = tmp_path_factory.mktemp("rounds")
    study = make_study(ask_why=True, pairs=2, design={"fixed": 1}, deliberation={"on": True})
    now = datetime.now(UTC)
    with visiting(study, home / "study.sqlite") as visit:
        for said in ("same", "same", "no_constraint", "same"):
            visit.client.cookies.clear()
            mine = visit.begin()
            for number in (1, 2):
                page = visit.answer(mine, number, said)
                visit.post(f"{mine}/pair/{number}", **hidden(page), why="because")
            visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="")
        store = visit.store
        store.change_now(partial(deliberation.end_first_round, at=now))
        store.change_now(partial(deliberation.open_second_round, at=now, until=None, prices={}))
        pairs = [pair.two for pair in store.read_now(deliberation.round_list)]
        ids = [one.answer_id for one in store.read_now(partial(deliberation.reasons_about, pairs=pairs))]
        ada = Operator(1, "Ada", "owner")
        store.change_now(
            partial(
                deliberation.decide_reasons, names=dict.fromkeys(ids, "ABCD"), state="released", operator=ada, at=now
            )
        )
        visit.site.host.look_again()
        page = visit.get(f"{mine}/second-round")
        link = page.text.partition('class="button primary" href="')[2].partition('"')[0]
        page = visit.get(link)
        visit.post(page.url.path, **hidden(page), answer="no_constraint", why="I see")
        store.read_now(lambda connection: write_bundle(home / "study.zip", study, connection))
    return home / "study.zip"


def test_it_is_verified_and_reopened_as_it_was(bundle: Path, tmp_path: Path) -> None:
    assert verify_bundle(bundle).versions >= 9
    found = read_bundle(bundle)
    assert len(found.table(ROUND_PAIRS)) == 1
    assert set(found.table(REASONS)["state"]) == {"released"}
    assert "Ada" not in "".join(file.decode(errors="replace") for file in contents(found).values())
    database = tmp_path / "study.sqlite"
    reopen_bundle(bundle, tmp_path / "again", database)
    with snapshot(database) as connection:
        assert standing(connection).round == 2
        assert deliberation.returned(connection, 10) == (4, 1, 1, 0, 1)
        assert len(connection.execute(sa.select(decided)).all()) == 4
        frame = export.judgments(connection).frame
        assert list(frame[frame["round"] == 2]["answer"]) == ["no_constraint"]
        texts = export.texts(connection)
        assert list(texts[texts["round"] == "2"]["text"]) == ["I see"]


def test_a_second_round_about_other_pairs_is_refused(bundle: Path) -> None:
    other = in_table(ROUND_PAIRS, put(0, "a", "somebody else"))
    with pytest.raises(InputError, match="a second round that was not about that pair"):
        verify_bundle(changed(bundle, other, forge=True))


def test_a_reason_of_no_first_answer_is_refused(bundle: Path) -> None:
    with pytest.raises(InputError, match="none of the first round"):
        verify_bundle(changed(bundle, in_table(REASONS, put(0, "version", "40")), forge=True))


def test_an_answer_of_round_2_without_round_1_is_refused(bundle: Path) -> None:
    with pytest.raises(InputError, match="round 1 was expected"):
        verify_bundle(changed(bundle, in_table(ANSWERS, put(0, "round", "2")), forge=True))
