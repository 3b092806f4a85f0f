"""What does not belong in a bundle is neither written nor read; what cannot be is refused, and damage is named."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from tests.elicitation.test_bundles import changed, in_table, put
from typer.testing import CliRunner
from visits import Visit, hidden, visiting

from fairwise.cli.app import app
from fairwise.elicitation.bundles.archive import MANIFEST, read_bundle, write_bundle
from fairwise.elicitation.bundles.contents import (
    ANSWER_MODELS,
    ANSWERS,
    CLOSINGS,
    CONSENTS,
    EXCLUSIONS,
    PARTICIPANTS,
    SCHEDULE,
    tables,
)
from fairwise.elicitation.bundles.reopen import reopen_bundle
from fairwise.elicitation.bundles.verify import verify_bundle
from fairwise.elicitation.folder import StudyFolder
from fairwise.elicitation.signing import Keys
from fairwise.elicitation.store.invitations import invite
from fairwise.elicitation.store.store import Store
from fairwise.elicitation.store.tables import consent_texts, counters
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Change = Callable[[dict[str, bytes]], object]

RELATIONS = [{"name": "affected", "words": "It was about me"}, {"name": "neither", "words": "None of it"}]
PAIRS = 5
NOW = datetime(2026, 1, 2, tzinfo=UTC)


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


def come(visit: Visit, language: str = "en") -> str:
    """Take part, up to the practice pair."""
    visit.client.cookies.clear()
    page = visit.get(f"/?lang={language}")
    page = visit.post(f"/consent?lang={language}", **hidden(page), decision="agree")
    page = visit.post(page.url.path, **hidden(page), relation="affected")
    assert page.url.path.endswith("/task")
    return str(visit.post(page.url.path, **hidden(page)).url.path).removesuffix("/practice")


def answer_all(visit: Visit, mine: str, said: str) -> None:
    visit.post(f"{mine}/practice", **hidden(visit.get(f"{mine}/practice")), answer="same")
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


def test_an_untouched_bundle_is_in_order(bundle: Path) -> None:
    found = verify_bundle(bundle)
    assert (found.participants, found.finished, found.answers, found.without_text) == (3, 1, 2 * PAIRS, 0)


# What belongs in it


def test_only_what_belongs_there_is_written(bundle: Path) -> None:
    found = read_bundle(bundle)
    texts = {f"{name}{code}.md" for name in ("consent", "task") for code in ("", ".de")}
    assert found.study_files().keys() == {"study.toml", "study.de.toml", *texts, "people.parquet"}
    assert b"nobody-elses-business" not in b"".join(found.files.values())


STRANGE = ["study/study.sqlite", "study/.bashrc", "study/sub/x.md", "study/consent.fr.md", "study/secret.key"]


@pytest.mark.parametrize("name", [*STRANGE, "more.csv", "study.toml", "study"])
def test_what_does_not_belong_there_is_refused_and_not_written(bundle: Path, tmp_path: Path, name: str) -> None:
    strange = changed(bundle, lambda files: files.update({name: b"x"}), forge=True)
    for read in (verify_bundle, partial(reopen_bundle, folder=tmp_path / "again", database=tmp_path / "a.sqlite")):
        with pytest.raises(InputError, match=f"changed.zip: '{name}' does not belong in a bundle"):
            read(strange)
    assert not [*tmp_path.rglob("again*")]


def test_a_database_with_anything_in_it_is_refused(
    bundle: Path, study: StudyFolder, tmp_path: Path, new_database: Callable[[], Any]
) -> None:
    database = new_database()
    store = Store.open(database, study.fingerprint)
    store.change_now(partial(invite, people=[(Keys.hashed("planted"), "")], at=NOW))
    store.close()
    with pytest.raises(InputError, match="something in its table 'invitations' already"):
        reopen_bundle(bundle, tmp_path / "again", database)
    assert not (tmp_path / "again").exists()


# What cannot be


def twice(table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([table, table.iloc[[0]]], ignore_index=True)


def without(column: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.drop(columns=column)


def of_the_third(rows: pd.DataFrame) -> pd.DataFrame:
    """An answer of someone who has not come to the pairs."""
    row = rows.iloc[0].copy()
    row["number"], row["sequence"] = "3", str(len(rows) + 1)
    return pd.concat([rows, row.to_frame().T], ignore_index=True)


def manifest(**fields: Any) -> Change:
    def change(files: dict[str, bytes]) -> None:
        told = json.loads(files[MANIFEST]) | fields
        files[MANIFEST] = json.dumps({name: value for name, value in told.items() if value is not None}).encode()

    return change


def a_little_more(rows: pd.DataFrame) -> pd.DataFrame:
    said = str(rows["selection_probability"].iloc[0])
    rows.loc[0, "selection_probability"] = repr(float(said) * (1 + 1e-8))
    return rows


def of_a_repeat(rows: pd.DataFrame) -> pd.DataFrame:
    rows.loc[rows["design"] == "repeat", "selection_probability"] = "0.5"
    return rows


def both_answers_the_same(rows: pd.DataFrame) -> pd.DataFrame:
    """Of the one at the second look, who then had nothing to look at."""
    rows.loc[rows["number"] == "2", "answer"] = "same"
    return rows


def without_the_last(rows: pd.DataFrame) -> pd.DataFrame:
    """Of the answers of the one at the second look."""
    return rows.iloc[:-1]


def a_model(table: pd.DataFrame) -> pd.DataFrame:
    table.loc[0] = {"number": "1", "learned_from": "3", "made_at": NOW.isoformat(), "parameters": "{}"}
    return table


def cell(name: str, column: str, value: str, row: int = 0) -> Change:
    return in_table(name, put(row, column, value))


LONG_AGO = "1970-01-01T00:00:00+00:00"
IMPOSSIBLE: dict[str, tuple[Change, str]] = {
    "probability": (cell(SCHEDULE, "selection_probability", "0.9"), "participant 1 .*_probability '0.9', not 0"),
    "probability, a little": (in_table(SCHEDULE, a_little_more), r"participant 1 .* pair 1 with .*, not 0\."),
    "probability of a repeat": (in_table(SCHEDULE, of_a_repeat), "_probability '0.5', not nothing"),
    "no probability": (cell(SCHEDULE, "selection_probability", ""), "participant 1 .*_probability '', not 0"),
    "model of a uniform pair": (cell(SCHEDULE, "answer_model", "1"), "names a model or answers"),
    "models of no active study": (in_table(ANSWER_MODELS, a_model), "this study has no active pairs"),
    "seed": (manifest(seed=99), "bundle.json: 'seed' is 99, but its study has 0"),
    "consent version": (manifest(consent_version="x"), "bundle.json: 'consent_version' is 'x', but its study has"),
    "format": (manifest(format=2), "a bundle of format 2, but this version reads format 1"),
    "made_at": (manifest(made_at="yesterday"), "'made_at' is 'yesterday'; needed: a time"),
    "no version": (manifest(fairwise=None), "bundle.json has no 'fairwise'"),
    "kind of a field": (manifest(fairwise=1), "'fairwise' is 1; needed: a text"),
    "files": (manifest(files=3), "'files' is 3; needed: a list of files"),
    "last number": (manifest(last_number=2), "'last_number' is 2; needed: at least 3"),
    "too early": (in_table(ANSWERS, of_the_third), "participant 3 to pair 1 is of someone who had only come to 'prac"),
    "before consent": (cell(ANSWERS, "answered_at", LONG_AGO), "came at 1970.* before they agreed"),
    "finished before": (cell(PARTICIPANTS, "finished_at", LONG_AGO), "participant 1 finished at 1970.* before they"),
    "never finished": (cell(PARTICIPANTS, "finished_at", ""), "participant 1 is at 'finished', and finished at ''"),
    "nothing to look at": (in_table(ANSWERS, both_answers_the_same), "participant 2 came to a second look, but had"),
    "left open": (in_table(ANSWERS, without_the_last), "participant 2 came to the second look, but pair 5 has no"),
    "participant twice": (in_table(PARTICIPANTS, twice), "participants.csv, row 5: number '1' is there twice"),
    "closing twice": (in_table(CLOSINGS, twice), "closings.csv, row 3: number '1' is there twice"),
    "pair twice": (in_table(SCHEDULE, twice), "schedule.csv, row 17: number '1', position '1' is there twice"),
    "sequence twice": (cell(ANSWERS, "sequence", "2"), "answers.csv, row 3: sequence '2' is there twice"),
    "text": (cell(CONSENTS, "text", "You agree to everything."), "the text of version '.*' is another"),
    "text twice": (in_table(CONSENTS, twice), "consents.csv, row 4: version '.*' is there twice"),
    "excluded stranger": (
        lambda files: files.update({EXCLUSIONS: f"number,reason,excluded_at,included_at\n9,,{LONG_AGO},\n".encode()}),
        "exclusions.csv has participant 9, who is not in",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_cannot_be_is_refused(bundle: Path, what: str) -> None:
    change, named = IMPOSSIBLE[what]
    with pytest.raises(InputError, match=named):
        verify_bundle(changed(bundle, change, forge=what != "files"))


@pytest.mark.parametrize(
    ("name", "column", "value", "allowed"),
    [
        (PARTICIPANTS, "number", "x", "a whole number from 1"),
        (PARTICIPANTS, "number", "01", "a whole number from 1"),
        (PARTICIPANTS, "number", "99999999999", "a whole number from 1"),
        (PARTICIPANTS, "slot", "-1", "a whole number from 0"),
        (PARTICIPANTS, "stage", "nonsense", "relation, task, check, .*"),
        (PARTICIPANTS, "relation", "martian", "affected, neither, or nothing"),
        (PARTICIPANTS, "language", "xx", "en, de, or nothing"),
        (PARTICIPANTS, "came_by", "carrier pigeon", "open, personal, .*"),
        (PARTICIPANTS, "consented_at", "nonsense", "a time such as .*"),
        (PARTICIPANTS, "consented_at", "2026-01-01T00:00:00", "a time such as .*"),  # in which zone?
        (PARTICIPANTS, "consent_version", "", "1 to 16 characters"),
        (PARTICIPANTS, "check_tries", "many", "a whole number from 0"),
        (SCHEDULE, "position", "0", "a whole number from 1"),
        (SCHEDULE, "selection_probability", "nan", "a number from 0, or nothing"),
        (ANSWERS, "seconds", "-5", "a number from 0, or nothing"),
        (ANSWERS, "seconds", "abc", "a number from 0, or nothing"),
        (ANSWERS, "confidence", "77", "1, 2, 3, 4, 5, or nothing"),
        (ANSWERS, "confidence", "0", "1, 2, 3, 4, 5, or nothing"),
        (ANSWERS, "answered_at", "soon", "a time such as .*"),
        (ANSWERS, "why", "a\0b", "a text"),
        (CONSENTS, "language", "xx", "en, de"),
    ],
)
def test_every_cell_is_checked(bundle: Path, name: str, column: str, value: str, allowed: str) -> None:
    said = f"{name}, row 2, column {column}: {value!r}; allowed: {allowed}$".replace("\\x00", r"\\x00")
    with pytest.raises(InputError, match=said):
        verify_bundle(changed(bundle, cell(name, column, value), forge=True))


LATER = {"language", "came_by", "relation", "answers_known", "answer_model", "round", "sequence"}


@pytest.mark.parametrize("name", [PARTICIPANTS, SCHEDULE, ANSWERS, CLOSINGS, ANSWER_MODELS, EXCLUSIONS, CONSENTS])
def test_every_column_is_needed_and_no_other(bundle: Path, tmp_path: Path, name: str) -> None:
    for column in map(str, read_bundle(bundle).table(name)):
        less = changed(bundle, in_table(name, without(column)), forge=True)
        if column in LATER and name != CONSENTS:  # older bundles do not have it
            assert verify_bundle(less).participants == 3
            continue
        with pytest.raises(InputError, match=f"{name} has no column '{column}'"):
            verify_bundle(less)
    more = changed(bundle, in_table(name, lambda table: table.assign(token_hash="x")), forge=True)
    with pytest.raises(InputError, match=f"{name} has a column 'token_hash' that does not belong there"):
        reopen_bundle(more, tmp_path / "again", tmp_path / "again.sqlite")


# Damage


def file(name: str, data: bytes) -> Change:
    return lambda files: files.update({name: data})


def in_people(files: dict[str, bytes]) -> None:
    """An id that is no text."""
    people, damaged = pq.read_table(io.BytesIO(files["study/people.parquet"])), io.BytesIO()
    ids = [person.as_py().encode().replace(b"-7", b"\xe17") for person in people.column(0)]
    no_text = pa.array(ids, pa.binary()).view(pa.string())
    pq.write_table(people.set_column(0, people.column_names[0], no_text), damaged)
    files["study/people.parquet"] = damaged.getvalue()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (file(ANSWERS, b'a,b\n"unclosed\n1,2,3,4\n'), "answers.csv cannot be read as a table"),
        (file(ANSWERS, b"a,b\n1\n"), "answers.csv, row 2: 1 cells; needed: 2"),
        (file(ANSWERS, b""), "answers.csv is empty"),
        (file(ANSWERS, b"\xff\xfe,,,\n"), "answers.csv cannot be read as a table"),
        (file("study/people.parquet", b"PAR1"), "zip: study/people.parquet: cannot be read"),
        (in_people, "zip: study/people.parquet: cannot be read"),
        (file("study/study.toml", b"\xff"), "zip: study/study.toml: not text in UTF-8"),
        (file("study/consent.md", b"\xff"), "zip: study/consent.md: not text"),
        (lambda files: files.pop("study/study.toml"), "zip: study/study.toml: cannot be read: No such file"),
        (lambda files: files.pop("study/people.parquet"), "zip: study/people.parquet: there is no such file"),
        (lambda files: files.pop(ANSWERS), "answers.csv is missing"),
    ],
)
def test_a_damaged_file_is_named(bundle: Path, change: Change, said: str) -> None:
    with pytest.raises(InputError, match=said):
        verify_bundle(changed(bundle, change, forge=True))


def test_a_damaged_entry_is_named(bundle: Path, tmp_path: Path) -> None:
    data = bytearray(bundle.read_bytes())
    with zipfile.ZipFile(bundle) as archive:
        start = archive.getinfo(ANSWERS).header_offset + 30 + len(ANSWERS)
    data[start] ^= 0b110  # a kind of block that there is not
    (tmp_path / "damaged.zip").write_bytes(data)
    with pytest.raises(InputError, match=f"'{ANSWERS}' is damaged"):
        verify_bundle(tmp_path / "damaged.zip")


def flips(data: bytes) -> Iterator[bytes]:
    """Single bits, half of them where zip files say what is in them; and ends cut off."""
    chance, directory = random.Random(0), data.index(b"PK\x01\x02")
    for turn in range(600):
        flipped = bytearray(data)
        flipped[chance.randrange(directory if turn % 2 else 0, len(data))] ^= 1 << chance.randrange(8)
        yield bytes(flipped)
    for length in range(0, len(data), 199):
        yield data[:length]


def test_flipped_bits_and_missing_ends_are_refused_or_change_nothing(bundle: Path, tmp_path: Path) -> None:
    path, same = tmp_path / "flipped.zip", read_bundle(bundle)
    for data in flips(bundle.read_bytes()):
        path.write_bytes(data)
        with suppress(InputError):
            found = read_bundle(path)
            assert (found.files, found.manifest) == (same.files, same.manifest)


# Consent


def test_the_texts_that_people_agreed_to_are_kept(bundle: Path, study: StudyFolder, tmp_path: Path) -> None:
    kept = read_bundle(bundle).table(CONSENTS)
    files = {"en": "consent.md", "de": "consent.de.md"}
    for version, language, text in kept.itertuples(index=False):
        assert text.encode() == (study.path / files.pop(language)).read_bytes()
        assert hashlib.sha256(text.encode()).hexdigest().startswith(version)
    assert not files
    reopen_bundle(bundle, tmp_path / "again", tmp_path / "again.sqlite")
    store = Store.open(tmp_path / "again.sqlite", study.fingerprint)
    try:
        for name, table in store.read_now(tables).items():
            pd.testing.assert_frame_equal(table.astype(object), read_bundle(bundle).table(name).astype(object))
    finally:
        store.close()


def test_a_text_that_was_not_kept_is_said_to_be_missing(bundle: Path) -> None:
    old = changed(bundle, cell(PARTICIPANTS, "consent_version", "0123456789abcdef"), forge=True)
    assert verify_bundle(old).without_text == 1
    said = " ".join(CliRunner().invoke(app, ["study", "verify", str(old)]).stdout.split())
    assert "1 of the participants agreed to a consent text that is not in it" in said
    assert "Not checked, as nothing else in it says so: when it was made, and by which version" in said


def test_whoever_reads_a_text_that_is_changed_meanwhile_reads_it_again(
    make_study: Callable[..., StudyFolder], tmp_path: Path, new_database: Callable[[], Any]
) -> None:
    study, database = make_study(languages=["en", "de"]), new_database()
    with visiting(study, database) as visit:
        page = visit.get("/?lang=de")
        fields = hidden(page)
        visit.client.cookies.clear()
        visit.agree()
    (study.path / "consent.md").write_text("# Another text\n")
    (study.path / "consent.de.md").write_text("# Ein anderer Text\n")
    with visiting(StudyFolder.open(study.path), database) as visit:
        again = visit.post("/consent?lang=de", **fields, decision="agree")
        assert again.status_code == 422
        assert "Ein anderer Text" in again.text
        assert "Dieser Text wurde geändert" in again.text
        assert visit.store.read_now(lambda c: c.execute(sa.select(counters.c.value)).scalar_one()) == 1
        forged = hidden(again) | {"csrf": fields["csrf"].split(".")[0] + "." + hidden(again)["csrf"].split(".")[1]}
        assert visit.post("/consent?lang=de", **forged, decision="agree").status_code == 403
        assert visit.post("/consent?lang=de", **fields, decision="decline").url.path.endswith("/declined")
        for _ in range(2):  # sent twice, it is one person
            page = visit.post("/consent?lang=de", **hidden(again), decision="agree")
            assert page.url.path.endswith("/task")
        texts = visit.store.read_now(lambda c: c.execute(sa.select(consent_texts.c.text)).scalars().all())
        assert len(texts) == 2
        assert "# Ein anderer Text\n" in texts
        path = tmp_path / "bundle.zip"
        visit.store.read_now(lambda connection: write_bundle(path, StudyFolder.open(study.path), connection))
    assert verify_bundle(path).without_text == 0  # the first text is in no file any more, but kept
    assert verify_bundle(changed(path, lambda files: files.pop(CONSENTS), forge=True)).without_text == 1


def test_a_text_in_another_language_that_was_not_translated(
    make_study: Callable[..., StudyFolder], tmp_path: Path
) -> None:
    study = make_study(languages=["en", "de"])
    (study.path / "consent.de.md").unlink()
    (study.path / "consent.md").write_bytes(b"# Lines\rthat end as they once did")
    study = StudyFolder.open(study.path)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        visit.post("/consent?lang=de", **hidden(visit.get("/?lang=de")), decision="agree")
        kept = visit.store.read_now(lambda c: c.execute(sa.select(consent_texts.c.language)).scalars().all())
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    assert kept == ["en"]
    assert verify_bundle(tmp_path / "bundle.zip").without_text == 0


# Numbers


def test_numbers_of_those_who_withdrew_are_not_given_again(
    bundle: Path, tmp_path: Path, new_database: Callable[[], Any]
) -> None:
    assert read_bundle(bundle).manifest["last_number"] == 4
    database = new_database()
    reopen_bundle(bundle, tmp_path / "again", database)
    with visiting(StudyFolder.open(tmp_path / "again"), database) as visit:
        come(visit)
        assert visit.store.read_now(tables)[PARTICIPANTS]["number"].tolist() == ["1", "2", "3", "5"]
    old = changed(bundle, manifest(last_number=None), forge=True)  # which only knows who is there
    reopen_bundle(old, tmp_path / "old", tmp_path / "old.sqlite")
    with visiting(StudyFolder.open(tmp_path / "old"), tmp_path / "old.sqlite") as visit:
        come(visit)
        assert visit.store.read_now(tables)[PARTICIPANTS]["number"].tolist() == ["1", "2", "3", "4"]
