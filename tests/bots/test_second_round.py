"""Simulated people who come back are moved by what the page shows them, and by nothing that it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest
from tests.support.served import listening
from tests.support.two_rounds import (
    ALONE,
    TALKED,
    open_second_round,
    play_first_round,
    play_second_round,
    two_armed_study,
)

from fairwise.bots.browser import Page, SeenOpinion
from fairwise.bots.participant import read_links, write_links
from fairwise.errors import InputError
from fairwise.judgments.answer import orient
from fairwise.simulation import SecondThoughts
from fairwise.store import export
from fairwise.store.store import snapshot
from fairwise.web.app import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairwise.bots.participant import BotReturn, BotRun
    from fairwise.study.folder import StudyFolder

PEOPLE = 8


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[StudyFolder, str, Path]]:
    study, database = two_armed_study(tmp_path), tmp_path / "study.sqlite"
    with listening(Site(study.path, database)) as address:
        yield study, address, database


def returned(home: tuple[StudyFolder, str, Path], run: BotRun, thoughts: SecondThoughts) -> BotReturn:
    study, address, _ = home
    return play_second_round(study, address, run, thoughts)


def both_rounds(database: Path) -> pd.DataFrame:
    """Answers of each round, oriented, and whether the judge's arm was shown others': by judge and pair."""
    with snapshot(database) as connection:
        frame, known = export.judgments(connection).frame, export.judges(connection).set_index("judge")
    rows = orient(frame)
    said = pd.DataFrame({"judge": frame["judge"], "pair": rows.pair, "answer": rows.answer, "round": frame["round"]})
    wide = said.pivot_table(index=["judge", "pair"], columns="round", values="answer").reset_index()
    return wide.assign(arm=wide["judge"].map(known["arm"]))


def test_reasons_persuade_only_those_who_are_shown_them(home: tuple[StudyFolder, str, Path]) -> None:
    study, address, database = home
    run = play_first_round(study, address, PEOPLE)
    with pytest.raises(InputError, match="nobody is asked again"):
        returned(home, run, SecondThoughts())
    open_second_round(database)
    result = returned(home, run, SecondThoughts(persuasion=1.0, wavering=0.0))
    said = both_rounds(database).dropna()
    assert result.n_returned == PEOPLE
    assert set(said["arm"]) == {TALKED, ALONE}
    changed = (said[1] != said[2]).groupby(said["arm"]).sum()
    assert changed[ALONE] == 0
    assert changed[TALKED] == result.changed > 0
    assert result.kept + result.changed == len(said)
    with pytest.raises(InputError, match="nobody is asked again"):  # they have answered everything
        returned(home, run, SecondThoughts())


def test_those_who_conform_say_what_most_others_said(home: tuple[StudyFolder, str, Path]) -> None:
    study, address, database = home
    run = play_first_round(study, address, PEOPLE)
    open_second_round(database)
    returned(home, run, SecondThoughts(conformity=1.0, wavering=0.0))
    said = both_rounds(database)
    asked = said.dropna()
    for _, row in asked[asked["arm"] == TALKED].iterrows():
        others = said[(said["pair"] == row["pair"]) & (said["judge"] != row["judge"])][1].value_counts()
        most = others.index[others == others.max()]
        assert row[2] == (most[0] if len(most) == 1 else row[1])
    alone = asked[asked["arm"] == ALONE]
    assert (alone[1] == alone[2]).all()


def test_the_stubborn_keep_what_they_said(home: tuple[StudyFolder, str, Path]) -> None:
    study, address, database = home
    run = play_first_round(study, address, PEOPLE)
    open_second_round(database)
    result = returned(home, run, SecondThoughts(1.0, 1.0, 1.0, 1.0))
    assert result.changed == 0 < result.kept


def test_what_is_seen_of_others() -> None:
    said = '<li data-answer="same" data-count="3"><ul class="reasons"><li>One</li><li>Two</li></ul></li>'
    page = Page.read(f'<ul>{said}<li data-answer="no_constraint" data-count="0"></li></ul><ul><li>Else</li></ul>')
    assert page.others == {"same": SeenOpinion(3, 2), "no_constraint": SeenOpinion(0)}


def test_links_are_kept_in_a_file(tmp_path: Path) -> None:
    links = {"simulated-01": "http://127.0.0.1:8000/p/x"}
    write_links(tmp_path / "links.json", links)
    assert read_links(tmp_path / "links.json") == links
    for wrong in ("", "[]", "{}", '{"simulated-01": 3}'):
        (tmp_path / "links.json").write_text(wrong)
        with pytest.raises(InputError, match=r"links\.json: .*--links"):
            read_links(tmp_path / "links.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_links(tmp_path / "nowhere.json")
