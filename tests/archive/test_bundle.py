"""A bundle can be checked by anyone, and whatever was changed in it is named."""

from __future__ import annotations

import csv
import io
import tracemalloc
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import sqlalchemy as sa
from tests.support.changed_bundles import changed, contents, in_table, put
from tests.support.small_study import OUTCOME
from tests.support.visits import hidden, visiting

from fairwise.archive import bundle as bundles
from fairwise.archive.bundle import (
    ANSWERS,
    CLOSINGS,
    EXCLUSIONS,
    MANIFEST,
    PARTICIPANTS,
    SCHEDULE,
    read_bundle,
    tables,
    write_bundle,
)
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.store import export
from fairwise.store.quotas import exclude
from fairwise.store.schema import answers
from fairwise.store.store import Store
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def study(make_study: Any) -> StudyFolder:
    found: StudyFolder = make_study(ask_why=True)
    return found


@pytest.fixture(scope="module")
def bundle(study: StudyFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of three participants: one finished after changing an answer, one left in the middle, one withdrew."""
    tmp_path = tmp_path_factory.mktemp("bundle")
    with visiting(study, tmp_path / "study.sqlite") as visit:
        for answered in (4, 2, 1):
            visit.client.cookies.clear()
            mine = visit.begin()
            for number in range(1, answered + 1):
                visit.answer(mine, number, why='a "reason",\nwith =1+1')
            if answered == 4:
                visit.answer(mine, 2, "no_constraint")
                visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="rules")
            if answered == 1:
                visit.post(f"{mine}/withdraw", **hidden(visit.get(f"{mine}/withdraw")))
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    return tmp_path / "bundle.zip"


def finished(people: pd.DataFrame) -> pd.DataFrame:
    """The one who left in the middle."""
    people.loc[1, ["stage", "finished_at"]] = ["finished", "2100-01-01T00:00:00+00:00"]
    return people


def test_an_untouched_bundle_is_in_order(bundle: Path) -> None:
    found = verify_bundle(bundle)
    assert (found.participants, found.finished, found.pairs, found.answers, found.versions) == (2, 1, 8, 6, 7)


def test_no_outcome_no_secret_and_no_link_is_in_it(bundle: Path, study: StudyFolder) -> None:
    files = contents(read_bundle(bundle))
    everything = b"".join(files.values())
    assert OUTCOME.encode() not in everything
    assert b"never" not in everything
    assert study.secret not in everything
    assert not {"token_hash", "key", "nonce"} & {
        column for name in (PARTICIPANTS, SCHEDULE, ANSWERS, CLOSINGS) for column in read_bundle(bundle).table(name)
    }


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (in_table(ANSWERS, put(0, "answer", "no_constraint")), "answers.csv was changed"),
        (lambda files: files.update({"study/study.toml": files["study/study.toml"] + b"\n"}), "study.toml was changed"),
        (lambda files: files.pop(CLOSINGS), "closings.csv was taken away"),
        (lambda files: files.update({"study/scores.parquet": b""}), "scores.parquet was added"),
        (lambda files: files.pop(MANIFEST), "not a bundle"),
        (lambda files: files.update({MANIFEST: b"[]"}), "not a bundle"),
    ],
)
def test_tampering_is_refused_and_named(bundle: Path, change: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        verify_bundle(changed(bundle, change))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (in_table(SCHEDULE, put(1, "a", "nobody")), r"participant 1 was not shown what seed 0 asks for, .* pair 2"),
        (in_table(SCHEDULE, lambda table: table.drop(index=7)), r"participant 2 .* beginning with pair 4"),
        (in_table(ANSWERS, put(0, "position", "9")), "to pair 9 is to a pair that was not shown"),
        (in_table(ANSWERS, put(0, "answer", "perhaps")), "answers.csv, row 2, column answer: 'perhaps'; allowed"),
        (in_table(ANSWERS, lambda table: table.drop(index=1)), "has version 2 where 1 was expected"),
        (in_table(ANSWERS, lambda table: table.drop(index=0)), "participant 1 finished, but pair 1 has no answer"),
        (in_table(PARTICIPANTS, finished), "participant 2 finished, but pair 3 has no answer"),
        (in_table(PARTICIPANTS, lambda table: table.drop(index=1)), "pairs of participant 2, who is not in"),
        (in_table(CLOSINGS, lambda table: table.drop(index=0)), "participant 1 finished without closing"),
        (lambda files: files.update({"study/study.toml": files["study/study.toml"].replace(b"seed = 0", b"seed = 1")}),
         "not those that its answers are about"),
    ],
)  # fmt: skip
def test_a_forger_who_knows_the_list_is_found_out(bundle: Path, change: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        verify_bundle(changed(bundle, change, forge=True))


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "study/../../evil", "a\\b", "study//x"])
def test_names_that_lead_elsewhere_are_refused(bundle: Path, name: str) -> None:
    with pytest.raises(InputError, match="not the name of a file in a bundle"):
        verify_bundle(changed(bundle, lambda files: files.update({name: b""}), forge=True))


def test_a_bundle_that_nobody_could_read_is_not_written(
    study: StudyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "BUNDLE", replace(bundles.BUNDLE, most_bytes=1000))
    with (
        visiting(study, tmp_path / "study.sqlite") as visit,
        pytest.raises(InputError, match="more than a bundle can hold"),
    ):
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))


def test_long_cells_are_read_and_the_limit_of_others_stays(bundle: Path) -> None:
    limit = csv.field_size_limit()
    long = changed(bundle, in_table(ANSWERS, put(0, "why", "x" * (limit + 1))), forge=True)
    assert len(read_bundle(long).table(ANSWERS)["why"][0]) == limit + 1
    assert csv.field_size_limit() == limit


def test_a_bomb_is_refused_before_it_is_unpacked(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "BUNDLE", replace(bundles.BUNDLE, most_bytes=1000))
    with pytest.raises(InputError, match="when unpacked") as caught:
        verify_bundle(bundle)
    assert str(caught.value).count("not a bundle") == str(caught.value).count(str(bundle)) == 1


@pytest.mark.parametrize("way", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_what_is_packed_without_a_bound_is_refused(bundle: Path, tmp_path: Path, way: int) -> None:
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(bundle) as source, zipfile.ZipFile(other, "w", way) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    with pytest.raises(InputError, match="packed in another way than by deflate; not a bundle"):
        verify_bundle(other)


def test_a_list_is_unpacked_no_further_than_it_says(bundle: Path, tmp_path: Path) -> None:
    """An entry that says it is small and swells: what comes after its stated size is never read."""
    swelling = tmp_path / "swelling.zip"
    with zipfile.ZipFile(bundle) as source, zipfile.ZipFile(swelling, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            padding = b" " * (64 << 20) if name == bundles.BUNDLE.manifest else b""
            target.writestr(name, source.read(name) + padding)
        target.getinfo(bundles.BUNDLE.manifest).file_size = 1000  # in the directory at the end, which is what is read
    tracemalloc.start()
    with pytest.raises(InputError, match=r"checksums|damaged|readable"):
        verify_bundle(swelling)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 48 << 20


def test_other_files_are_no_bundles(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("no zip")
    for path, said in ((tmp_path / "text.zip", "not a bundle"), (tmp_path / "nowhere.zip", "no such file")):
        with pytest.raises(InputError, match=said):
            verify_bundle(path)


FORMULAS = ("=1+1", "'quoted'", "x;=1", "plain", "-", "\t@x")


def test_formulas_in_bundles_are_defused_and_come_back(study: StudyFolder, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.zip"
    with visiting(study, tmp_path / "study.sqlite") as visit:
        mine = visit.begin()
        for number, words in enumerate(FORMULAS[:4], start=1):
            visit.answer(mine, number, why=words)
        visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="=2+2", comments="@x")
        said = visit.store.read_now(
            lambda c: c.execute(sa.select(answers.c.why).order_by(answers.c.id)).scalars().all()
        )
        visit.store.change_now(partial(exclude, number=1, reason="=3+3", by="Ada", at=datetime.now(UTC)))
        visit.store.read_now(lambda connection: write_bundle(bundle, study, connection))
    with zipfile.ZipFile(bundle) as opened:
        raw = {
            name: list(csv.reader(io.StringIO(opened.read(name).decode()))) for name in (ANSWERS, CLOSINGS, EXCLUSIONS)
        }
    for rows in raw.values():
        cells = [part for row in rows for cell in row for part in cell.split(";")]
        assert not [cell for cell in cells if cell.lstrip()[:1] in ("=", "+", "@")]
    found = read_bundle(bundle)
    assert list(found.table(ANSWERS)["why"]) == said
    assert "=1+1" in said
    assert (found.table(CLOSINGS)["rules"][0], found.table(CLOSINGS)["comments"][0]) == ("=2+2", "@x")
    assert found.table(EXCLUSIONS)["reason"][0] == "=3+3"
    assert verify_bundle(bundle).answers == 4


@pytest.mark.parametrize("cell", ["=1+1", "'plain", "x;=1", "x;'plain"])
def test_a_newer_bundle_holds_no_formula(bundle: Path, cell: str) -> None:
    with pytest.raises(InputError, match=r"answers.csv, row 2, column why: needed: a ' before what"):
        verify_bundle(changed(bundle, in_table(ANSWERS, put(0, "why", cell)), forge=True))


def test_a_bundle_opens_as_a_study_again(bundle: Path, tmp_path: Path, new_empty_database: Callable[[], Any]) -> None:
    database = new_empty_database()
    reopen_bundle(bundle, tmp_path / "again", database)
    study = StudyFolder.open(tmp_path / "again")
    store = Store.open(database, study.fingerprint)
    try:
        for name, table in store.read_now(tables).items():
            pd.testing.assert_frame_equal(table.astype(object), read_bundle(bundle).table(name).astype(object))
        assert len(store.read_now(export.judgments).frame) == 6
        store.read_now(lambda connection: write_bundle(tmp_path / "second.zip", study, connection))
    finally:
        store.close()
    assert verify_bundle(tmp_path / "second.zip") == verify_bundle(bundle)
    with visiting(study, database) as visit:  # and goes on with the next number; the third withdrew
        visit.begin()
        assert visit.store.read_now(tables)[PARTICIPANTS]["number"].tolist() == ["1", "2", "4"]
    with pytest.raises(InputError, match="there already"):
        reopen_bundle(bundle, tmp_path / "again", new_empty_database())
    with pytest.raises(InputError, match="something in its table 'participants' already"):
        reopen_bundle(bundle, tmp_path / "third", database)
    assert not (tmp_path / "third").exists()


def test_a_coarse_bundle_has_neither_times_nor_words_and_can_be_checked(study: StudyFolder, tmp_path: Path) -> None:
    words, database, file = "only they would write this", tmp_path / "study.sqlite", tmp_path / "coarse.zip"
    with visiting(study, database) as visit:
        mine = visit.begin()
        for number in range(1, study.settings.pairs + 1):
            visit.answer(mine, number, why=words)
        visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules=words, comments=words)
        store = visit.store
        store.change_now(partial(exclude, number=1, reason=words, by="Ada", at=datetime.now(UTC)))
        for coarse in (False, True):
            store.read_now(partial(write_bundle, file, study, coarse=coarse))
            content = b"".join(contents(read_bundle(file)).values())
            assert (words.encode() in content) is not coarse
            assert verify_bundle(file).coarse is coarse
    bundle = read_bundle(file)
    assert bundle.manifest["coarse"] is True
    for name, column in ((PARTICIPANTS, "consented_at"), (PARTICIPANTS, "finished_at"), (ANSWERS, "answered_at")):
        assert all(at.endswith("T00:00:00+00:00") for at in bundle.table(name)[column])
    assert all(float(seconds).is_integer() for seconds in bundle.table(ANSWERS)["seconds"])
    assert verify_bundle(file).answers == study.settings.pairs
    again = reopen_bundle(file, tmp_path / "again", tmp_path / "again.sqlite")
    assert again.finished == 1
