"""A bundle says how every active pair was chosen, and whoever changes any of it is found out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.support.changed_bundles import changed, in_table, put
from tests.support.visits import hidden, visiting
from tests.web.participant.test_answering import DESIGN, PAIRS, SAID, take_part, wait_until_learned
from typer.testing import CliRunner

from fairwise.archive.bundle import ANSWER_MODELS, ANSWERS, SCHEDULE, read_bundle, tables, write_bundle
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.cli.app import app
from fairwise.errors import InputError
from fairwise.store.store import Store
from fairwise.study.folder import StudyFolder
from fairwise.web.participant import answering

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def bundle(make_study: Callable[..., StudyFolder], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of five who took part: one withdrew, one jumped ahead and changed answers, one left in the middle."""
    home = tmp_path_factory.mktemp("active")
    study = make_study(pairs=PAIRS, design=DESIGN)
    with pytest.MonkeyPatch.context() as patch, visiting(study, home / "study.sqlite") as visit:
        patch.setattr(answering, "_SECONDS", 0.0)
        for turn in range(3):
            visit.client.cookies.clear()
            mine = take_part(visit, turn)
            visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="")
            wait_until_learned(visit)
        visit.post(f"{mine}/withdraw", **hidden(visit.get(f"{mine}/withdraw")))
        visit.client.cookies.clear()
        mine = visit.begin()
        for number in [place for place, pair in enumerate(study.places(4, 2), start=1) if pair][::-1]:
            visit.answer(mine, number, SAID[number % 4])
            wait_until_learned(visit)
        visit.answer(mine, 1, "no_constraint")
        while "/pair/" in (page := visit.get(mine)).url.path:
            visit.post(page.url.path, **hidden(page), answer="same")
        visit.client.cookies.clear()
        mine = visit.begin()
        for number in range(1, 6):
            visit.answer(mine, number)
        visit.store.read_now(lambda connection: write_bundle(home / "bundle.zip", study, connection))
    return home / "bundle.zip"


def active_rows(bundle: Path) -> pd.DataFrame:
    shown = read_bundle(bundle).table(SCHEDULE)
    return shown[shown["design"] == "active"]


def test_every_choice_is_made_again(bundle: Path) -> None:
    found = verify_bundle(bundle)
    rows = active_rows(bundle)
    assert (found.participants, found.finished) == (4, 2)
    assert found.active == len(rows) > 3 * DESIGN["active"]
    assert set(rows["answer_model"]) > {""}  # some knew nothing, some something
    assert set(rows["answer_model"]) - {""} <= set(read_bundle(bundle).table(ANSWER_MODELS)["number"])


def test_what_was_checked_is_said_and_what_was_not(bundle: Path) -> None:
    said = CliRunner().invoke(app, ["study", "verify", str(bundle)]).stdout
    assert f"Active pairs  {len(active_rows(bundle))}, each chosen again with the same result" in said
    assert "those who withdrew are missing" in " ".join(said.split())
    assert read_bundle(bundle).manifest["numpy"] == np.__version__


def test_tables_name_no_ids_and_have_no_gaps(bundle: Path) -> None:
    found = read_bundle(bundle)
    said = found.table(ANSWERS)
    assert sorted(map(int, said["sequence"])) == list(range(1, len(said) + 1))
    models = found.table(ANSWER_MODELS)
    assert models["number"].tolist() == [str(number) for number in range(1, len(models) + 1)]
    for name in (SCHEDULE, ANSWERS, ANSWER_MODELS):
        assert not {"id", "answer_model_id"} & set(found.table(name))


def in_active(column: str, value: Callable[[pd.Series[Any]], str], row: int = -1) -> Callable[[pd.DataFrame], Any]:
    """Change one cell of an active pair; the last is of the one who left."""

    def edit(table: pd.DataFrame) -> pd.DataFrame:
        at = table.index[table["design"] == "active"][row]
        table.loc[at, column] = value(table.loc[at])
        return table

    return edit


def other_answer(table: pd.DataFrame) -> pd.DataFrame:
    """The first answer of the last participant."""
    mine = table[table["number"] == table["number"].iloc[-1]]
    said = table.loc[mine.index[0], "answer"]
    table.loc[mine.index[0], "answer"] = "no_constraint" if said == "same" else "same"
    return table


def swapped_answers(table: pd.DataFrame) -> pd.DataFrame:
    """Let the last two answers come in the other order."""
    last, before = table.index[-1], table.index[-2]
    table.loc[[last, before], "sequence"] = table.loc[[before, last], "sequence"].to_numpy()
    return table


def moved_model(table: pd.DataFrame) -> pd.DataFrame:
    for at in table.index:
        parameters = json.loads(str(table.loc[at, "parameters"]))
        parameters["same"]["mean"][1] += 0.01
        table.loc[at, "parameters"] = json.dumps(parameters)
    return table


def broken_model(table: pd.DataFrame) -> pd.DataFrame:
    parameters = json.loads(str(table.loc[0, "parameters"]))
    parameters["same"]["mean"].pop()
    table.loc[0, "parameters"] = json.dumps(parameters)
    return table


def a_little_more(row: pd.Series[Any]) -> str:
    return repr(float(row["selection_probability"]) * (1 + 2e-6))


def one_more(row: pd.Series[Any]) -> str:
    return str(int(row["answers_known"]) + 1)


def without_an_unanswered_one(table: pd.DataFrame) -> pd.DataFrame:
    """The sixth of the one who left after five."""
    gone = (table["number"] == "5") & (table["position"] == "6")
    assert table.loc[gone, "design"].tolist() == ["active"]
    return table[~gone]


NOT_SO = r"participant 5: the active pair \d+ "


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (in_table(SCHEDULE, in_active("a", lambda row: str(row["b"]))), f"{NOT_SO}is not what"),
        (in_table(SCHEDULE, in_active("selection_probability", a_little_more)), f"{NOT_SO}was drawn with probability"),
        (in_table(SCHEDULE, in_active("selection_probability", lambda _: "")), f"{NOT_SO}was drawn with probability"),
        (in_table(SCHEDULE, in_active("answers_known", one_more)), f"{NOT_SO}is said to be chosen after '"),
        (in_table(SCHEDULE, in_active("answers_known", lambda _: "")), f"{NOT_SO}is said to be chosen after ''"),
        (in_table(SCHEDULE, in_active("answer_model", lambda _: "99")), f"{NOT_SO}names model '99', which is not in"),
        (in_table(SCHEDULE, in_active("design", lambda _: "uniform")), "participant 5 was not shown what seed 0"),
        (in_table(SCHEDULE, without_an_unanswered_one), f"{NOT_SO}is missing"),
        (in_table(ANSWERS, other_answer), f"{NOT_SO}(is not what|was drawn with)"),
        (in_table(ANSWERS, swapped_answers), f"{NOT_SO}is said to be chosen after '"),
        (in_table(ANSWERS, put(0, "sequence", "999")), "which cannot be"),
        (in_table(ANSWERS, lambda table: table.drop(columns="sequence")), "has no column 'sequence'"),
        (in_table(ANSWER_MODELS, moved_model), r"the active pair \d+ (is not what|was drawn with)"),
        (in_table(ANSWER_MODELS, broken_model), "model 1 of answer_models.csv: its parameters are not"),
        (
            in_table(ANSWER_MODELS, put(0, "learned_from", "many")),
            "answer_models.csv, row 2, column learned_from: 'many'",
        ),
        (lambda files: files.pop(ANSWER_MODELS), "answer_models.csv is missing"),
    ],
)
def test_a_forger_who_knows_the_list_is_found_out(bundle: Path, change: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        verify_bundle(changed(bundle, change, forge=True))


def test_another_model_is_found_out(bundle: Path) -> None:
    rows = active_rows(bundle)
    named = rows.loc[rows["answer_model"] != ""].index[-1]
    with pytest.raises(InputError, match=r"the active pair \d+ (is not what|was drawn with)"):
        verify_bundle(changed(bundle, in_table(SCHEDULE, put(named, "answer_model", "")), forge=True))


def test_a_bundle_opens_as_a_study_again(bundle: Path, tmp_path: Path, new_empty_database: Callable[[], Any]) -> None:
    database = new_empty_database()
    reopen_bundle(bundle, tmp_path / "again", database)
    study = StudyFolder.open(tmp_path / "again")
    store = Store.open(database, study.fingerprint)
    try:
        for name, table in store.read_now(tables).items():
            pd.testing.assert_frame_equal(table.astype(object), read_bundle(bundle).table(name).astype(object))
        store.read_now(lambda connection: write_bundle(tmp_path / "second.zip", study, connection))
    finally:
        store.close()
    assert verify_bundle(tmp_path / "second.zip") == verify_bundle(bundle)
    with visiting(study, database) as visit:  # and others can go on with what was learned
        mine = take_part(visit)
        visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="")
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "third.zip", study, connection))
    assert verify_bundle(tmp_path / "third.zip").active == verify_bundle(bundle).active + DESIGN["active"]
