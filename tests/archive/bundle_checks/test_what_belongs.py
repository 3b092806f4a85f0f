"""What belongs in a bundle is in it, is taken back from it, and nothing else is: files, texts, numbers."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import sqlalchemy as sa
from tests.support.bundled_study import NOW, PAIRS, come
from tests.support.changed_bundles import changed, contents, in_table
from tests.support.visits import hidden, visiting

from fairwise.archive.bundle import CONSENTS, PARTICIPANTS, read_bundle, tables, write_bundle
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.store.erasure import counter
from fairwise.store.recruitment import invite
from fairwise.store.schema import consent_texts
from fairwise.store.store import Store
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_an_untouched_bundle_is_in_order(bundle: Path) -> None:
    found = verify_bundle(bundle)
    assert (found.participants, found.finished, found.answers, found.without_text) == (3, 1, 2 * PAIRS, 0)


# What belongs in it


def test_only_what_belongs_there_is_written(bundle: Path) -> None:
    found = read_bundle(bundle)
    texts = {f"{name}{code}.md" for name in ("consent", "task") for code in ("", ".de")}
    assert found.study_files().keys() == {"study.toml", "study.de.toml", *texts, "people.parquet"}
    assert b"nobody-elses-business" not in b"".join(contents(found).values())


STRANGE = ["study/study.sqlite", "study/.bashrc", "study/sub/x.md", "study/consent.fr.md", "study/secret.key"]


@pytest.mark.parametrize("name", [*STRANGE, "more.csv", "study.toml", "study"])
def test_what_does_not_belong_there_is_refused_and_not_written(bundle: Path, tmp_path: Path, name: str) -> None:
    strange = changed(bundle, lambda files: files.update({name: b"x"}), forge=True)
    for read in (verify_bundle, partial(reopen_bundle, folder=tmp_path / "again", database=tmp_path / "a.sqlite")):
        with pytest.raises(InputError, match=f"changed.zip: '{name}' does not belong in a bundle"):
            read(strange)
    assert not [*tmp_path.rglob("again*")]


def test_a_database_with_anything_in_it_is_refused(
    bundle: Path, study: StudyFolder, tmp_path: Path, new_empty_database: Callable[[], Any]
) -> None:
    database = new_empty_database()
    store = Store.open(database, study.fingerprint)
    store.change_now(partial(invite, people=[(Keys.hashed("planted"), "")], at=NOW))
    store.close()
    with pytest.raises(InputError, match="something in its table 'invitations' already"):
        reopen_bundle(bundle, tmp_path / "again", database)
    assert not (tmp_path / "again").exists()


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


def test_whoever_reads_a_text_that_is_changed_meanwhile_reads_it_again(
    make_study: Callable[..., StudyFolder], tmp_path: Path, new_empty_database: Callable[[], Any]
) -> None:
    study, database = make_study(languages=["en", "de"]), new_empty_database()
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
        assert visit.store.read_now(partial(counter, name="participants")) == 1
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
    assert verify_bundle(changed(path, in_table(CONSENTS, lambda table: table[:0]), forge=True)).without_text == 1


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
    bundle: Path, tmp_path: Path, new_empty_database: Callable[[], Any]
) -> None:
    assert read_bundle(bundle).manifest["last_number"] == 4
    database = new_empty_database()
    reopen_bundle(bundle, tmp_path / "again", database)
    with visiting(StudyFolder.open(tmp_path / "again"), database) as visit:
        come(visit)
        assert visit.store.read_now(tables)[PARTICIPANTS]["number"].tolist() == ["1", "2", "3", "5"]
