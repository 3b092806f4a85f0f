"""Erasing someone: gone from the database, from its files, and from the next bundle; everyone else's answers stay."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from threading import Event, Timer
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.changed_bundles import contents
from tests.support.copies import Original
from tests.support.databases import new_postgres
from tests.support.fits import MODEL_FILE
from tests.support.fitting import ASKED
from tests.support.operating import Operating, operating
from tests.support.visits import hidden, visiting
from tests.support.watching import take_part

from fairwise.archive.bundle import PARTICIPANTS, read_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.store import erasure, recruitment
from fairwise.store.erasure import clean_files, forget_in_time, needs_cleaning, note_deletion
from fairwise.store.fit_files import FRONTIER, MODEL, PRICES, REPORT, job_folder
from fairwise.store.housekeeping import Housekeeper
from fairwise.store.jobs import all_jobs, end, note_participants, submit, take
from fairwise.store.schema import answers, appearances, events, metadata, participants
from fairwise.store.store import Store, snapshot
from fairwise.study.recruitment import Keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
WORDS, NAME, REASON = "zebra crossing at seven", "Annabel of flat nine", "Quokka, said the neighbour"
OTHERS = "what somebody else wrote"
only_sqlite = pytest.mark.parametrize("answered", ["sqlite"], indirect=True)  # PostgreSQL's files are not ours


def answer(console: Operating) -> None:
    """Somebody to be erased between two who stay, all with long texts, so that pages of the file fill and split."""
    token = Keys.new()
    console.set_up()
    invited = [(Keys.hashed(token), NAME)]
    console.site.host.store.change_now(lambda c: recruitment.invite(c, invited, NOON))
    take_part(console, 4, why=OTHERS * 20, closing=OTHERS)
    take_part(console, 4, link=f"/p/{token}", why=WORDS * 20, closing=WORDS)
    take_part(console, 3, why=OTHERS * 20)
    console.post("/participants/2/exclude", reason=REASON)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def answered(request: pytest.FixtureRequest, make_study: Any, tmp_path_factory: pytest.TempPathFactory) -> Original:
    database: str | Path = tmp_path_factory.mktemp("answered") / "study.sqlite"
    if request.param == "postgresql":
        database = new_postgres(request.getfixturevalue("postgres"))
    with operating(make_study(ask_why=True).path, database) as opened:
        answer(opened)
        return Original.of(opened, database)


@pytest.fixture
def database(answered: Original, tmp_path: Path) -> str | Path:
    return answered.copy_database(tmp_path)


@pytest.fixture
def console(
    answered: Original, database: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Operating]:
    """When the server has done what it does when it starts, which is to clean up too."""
    done, work = Event(), Housekeeper._work

    def worked(housekeeper: Housekeeper) -> None:
        try:
            work(housekeeper)
        finally:
            done.set()

    monkeypatch.setattr(Housekeeper, "_work", worked)
    with answered.operating_copy(tmp_path, database) as opened:
        assert done.wait(300)
        yield opened


def everything(console: Operating) -> str:
    """Every cell of every table."""

    def dump(connection: sa.Connection) -> str:
        return repr([connection.execute(sa.select(table)).all() for table in metadata.sorted_tables])

    return console.site.host.store.read_now(dump)


def traces(console: Operating) -> list[str]:
    """What tells that someone answered: their words, and the keys of their pairs and forms."""
    keys = (
        sa.select(appearances.c.key, answers.c.nonce).join(answers).join(participants).where(participants.c.number == 2)
    )
    found = console.site.host.store.read_now(lambda c: c.execute(keys).all())
    assert len(found) == 4
    return [WORDS, NAME, REASON, *(text for row in found for text in row)]


def test_nothing_of_someone_erased_remains(
    make_study: Any, new_database: Callable[[], str | Path], tmp_path: Path
) -> None:
    database = new_database()
    with operating(make_study(ask_why=True).path, database) as console:
        answer(console)  # a moment ago, so that the journal holds it too
        erase_one(console, database, tmp_path)


def erase_one(console: Operating, database: str | Path, tmp_path: Path) -> None:
    left = traces(console)
    for trace in left:
        assert trace in everything(console)
    before = console.get("/downloads/judgments.csv").text
    done = console.post("/participants/2/erase", number="2")
    assert "The participant was erased" in done.text
    for trace in left:
        assert trace not in everything(console), trace
    assert not console.site.host.store.read_now(needs_cleaning)
    if not isinstance(database, str):
        files = {file.name: file.read_bytes() for file in database.parent.glob("study.sqlite*")}
        assert {"study.sqlite", "study.sqlite-wal", "study.sqlite-shm"} <= files.keys()
        for trace in left:
            for name, content in files.items():
                assert trace.encode() not in content, (name, trace)
    after = console.get("/downloads/judgments.csv").text
    assert [line for line in before.splitlines() if "p00002" not in line] == after.splitlines()

    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(console.get("/downloads/bundle.zip").content)
    assert verify_bundle(bundle).participants == 2
    for trace in left:
        assert all(trace.encode() not in content for content in contents(read_bundle(bundle)).values())
    assert list(read_bundle(bundle).table(PARTICIPANTS)["number"]) == ["1", "3"]
    for page in ("", "/participants", "/coming", "/downloads/participants.csv", "/downloads/texts.csv"):
        text = console.get(page).text
        assert WORDS not in text
        assert NAME not in text
    assert console.get("/participants/2").status_code == 404


def test_what_is_noted_says_only_that_somebody_was_erased(console: Operating) -> None:
    console.post("/participants/2/erase", number="2")
    done = console.site.host.store.read_now(
        lambda c: c.execute(sa.select(events.c.operator, events.c.action, events.c.about).order_by(events.c.id)).all()
    )
    assert [tuple(row) for row in done][1:] == [("Ada", "excluded", ""), ("Ada", "erased a participant", "")]


def fitted(console: Operating, *numbers: int) -> Path:
    """The folder of a fit that is done, with the answers of these participants."""
    store = console.site.host.store
    job_id = store.change_now(lambda c: submit(c, ASKED, "Ada", NOON))
    job = store.change_now(lambda c: take(c, NOON, timedelta(hours=1)))
    assert job is not None
    assert job.id == job_id
    who = sa.select(participants.c.id, participants.c.number).where(participants.c.number.in_(numbers))
    assert sorted(store.change_now(lambda c: note_participants(c, job, who))) == sorted(numbers)
    store.change_now(lambda c: end(c, job, "done", "", NOON))
    folder = job_folder(console.site.host.path, job_id)
    folder.mkdir(parents=True)
    for name in (REPORT, FRONTIER, PRICES):
        (folder / name).write_text("p00002 said: same")
    (folder / MODEL).write_bytes(MODEL_FILE)
    return folder


def leave(console: Operating, by: str, link: str) -> None:
    """Be erased by an operator, or withdraw."""
    if by == "operator":
        console.post("/participants/4/erase", number="4")
    else:
        console.client.post(f"{link}/withdraw", data=hidden(console.client.get(f"{link}/withdraw")))


@pytest.mark.parametrize("by", ["operator", "participant"])
def test_only_fits_with_their_answers_are_made_again(console: Operating, by: str) -> None:
    mine = take_part(console, 1)
    theirs, others = fitted(console, 2, 4), fitted(console, 1, 2, 3)
    before = {file.name: file.stat().st_mtime_ns for file in others.iterdir()}
    leave(console, by, mine)
    assert [file.name for file in theirs.iterdir()] == [MODEL]
    assert {file.name: file.stat().st_mtime_ns for file in others.iterdir()} == before
    kept, again = console.site.host.store.read_now(all_jobs)
    assert (kept.state, kept.restarts) == ("done", 0)
    assert (again.state, again.restarts, again.cancel_wanted) == ("waiting", 1, False)
    assert "learned again without them" in console.get("/fits/1").text
    assert "waits to be learned again after a withdrawal" in " ".join(console.get("/fits").text.split())


@pytest.mark.parametrize("by", ["operator", "participant"])
def test_who_said_nothing_stops_no_fit(console: Operating, by: str) -> None:
    """Whoever comes by the open link could otherwise delete every report and end every fit, as often as they like."""
    done, store = fitted(console, 1, 2), console.site.host.store
    running = store.change_now(lambda c: submit(c, ASKED, "Ada", NOON))
    store.change_now(lambda c: take(c, NOON, timedelta(hours=1)))
    waiting = store.change_now(lambda c: submit(c, ASKED, "Ada", NOON))
    before = store.read_now(all_jobs)
    leave(console, by, take_part(console, 0))
    assert store.read_now(all_jobs) == before
    assert {job.id: job.state for job in before} == {1: "done", running: "running", waiting: "waiting"}
    assert len(list(done.iterdir())) == 4


def test_events_name_nobody_who_withdrew(console: Operating) -> None:
    mine = take_part(console, 1)
    console.post("/participants/4/exclude", reason="too fast")
    console.post("/participants/4/include")
    assert "participant 4" in everything(console)
    leave(console, "participant", mine)
    assert "participant 4" not in everything(console)
    assert "participant 2" in everything(console)  # excluded, and still there


def test_strangers_who_come_and_go_do_not_each_have_the_database_written_anew(
    console: Operating, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned: list[str | Path] = []

    def clean(address: str | Path) -> bool:
        cleaned.append(address)
        return False

    monkeypatch.setattr("fairwise.store.erasure.clean_files", clean)
    monkeypatch.setattr("fairwise.store.housekeeping.LEAST_SECONDS", 600.0)
    for _ in range(8):
        leave(console, "participant", take_part(console, 0))
    store = console.site.host.store
    assert len(cleaned) <= 2  # before and after the pause was made longer
    assert store.read_now(needs_cleaning)  # which is noted, and not forgotten


def test_it_is_asked_twice(console: Operating, database: str | Path) -> None:
    page = console.get("/participants/2/erase")
    assert "cannot be undone" in page.text
    assert ("write-ahead log" in page.text) == isinstance(database, str)
    for typed in ("", "3", "two", "2 2"):
        again = console.post("/participants/2/erase", number=typed)
        assert (again.status_code, "type their number" in again.text) == (422, True)
    assert console.get("/participants/2").status_code == 200
    assert WORDS in everything(console)


def test_the_link_of_someone_erased_leads_nowhere(console: Operating) -> None:
    token = Keys.new()
    console.site.host.store.change_now(lambda c: recruitment.invite(c, [(Keys.hashed(token), "Bea")], NOON))
    take_part(console, 1, link=f"/p/{token}")
    assert console.client.get(f"/p/{token}").status_code == 200
    console.post("/participants/4/erase", number="4")
    assert console.client.get(f"/p/{token}").status_code == 404


@only_sqlite
def test_a_reader_who_is_in_the_way_is_told_of(console: Operating, database: Path, monkeypatch: Any) -> None:
    """Somebody is just making a bundle: the rows are gone, the old pages of the file not yet."""
    monkeypatch.setattr(erasure, "_BUSY_MILLISECONDS", 50)
    with snapshot(database) as connection:
        connection.execute(sa.select(participants)).all()
        assert "tries again within the hour" in console.post("/participants/2/erase", number="2").text
    assert WORDS not in everything(console)


def held(database: Path, words: str) -> list[str]:
    """Files of the database that hold these words."""
    return [file.name for file in database.parent.glob("study.sqlite*") if words.encode() in file.read_bytes()]


@only_sqlite
@pytest.mark.parametrize("by", ["operator", "participant", "time"])
def test_what_could_not_be_cleaned_is_cleaned_later(
    console: Operating, database: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, words = console.site.host, "only they would write it"
    assert host.study is not None
    mine = take_part(console, 1, why=words)
    for column in ("consented_at", "finished_at"):
        aged = sa.update(participants).values({column: datetime.now(UTC) - timedelta(days=3)})
        host.store.change_now(lambda c, aged=aged: c.execute(aged))  # type: ignore[misc]
    monkeypatch.setattr(erasure, "_BUSY_MILLISECONDS", 50)
    for_days = host.study.settings.model_copy(update={"retention_days": 2})
    with snapshot(database) as connection:
        connection.execute(sa.select(participants)).all()
        if by == "operator":
            console.post("/participants/4/erase", number="4")
        elif by == "participant":
            console.client.post(f"{mine}/withdraw", data=hidden(console.client.get(f"{mine}/withdraw")))
        else:
            assert forget_in_time(for_days, host.store, database).cleaned is False
        assert forget_in_time(host.study.settings, host.store, database)[:2] == (0, False)  # still being read
    assert words not in everything(console)
    assert held(database, words)  # otherwise this shows nothing
    assert forget_in_time(host.study.settings, host.store, database)[:2] == (0, True)
    assert not held(database, words)
    assert forget_in_time(host.study.settings, host.store, database)[:2] == (0, None)


def test_what_is_deleted_while_files_are_cleaned_is_cleaned_by_the_next(
    console: Operating, database: str | Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, clean = console.site.host.store, erasure._cleaned
    store.change_now(note_deletion)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(erasure, "_cleaned", lambda *given: (store.change_now(note_deletion), clean(*given))[1])
        assert clean_files(database)
    assert store.read_now(needs_cleaning)
    assert clean_files(database)
    assert not store.read_now(needs_cleaning)


def test_copies_that_sqlite_leaves_in_its_pages_are_cleaned_up(tmp_path: Path) -> None:
    """Overwriting deleted rows is not enough: a page that was rearranged may hold an old copy in its free space."""
    left_by_deleting = 0
    for seed in range(30):
        chance, file = random.Random(seed), tmp_path / f"{seed}.sqlite"
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for pragma in ("journal_mode = WAL", "secure_delete = ON", "synchronous = OFF"):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL)")
            connection.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, who INTEGER, why TEXT)")
            rows = [(who, f"<person{who:03d}>" * chance.randint(1, 60)) for _ in range(8) for who in range(40)]
            connection.executemany("INSERT INTO said (who, why) VALUES (?, ?)", rows)
            for who in chance.sample(range(40), 30):
                connection.execute("DELETE FROM said WHERE who = ?", (who,))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            gone = {f"<person{who:03d}>".encode() for who in range(40)} - {
                f"<person{who:03d}>".encode() for (who,) in connection.execute("SELECT DISTINCT who FROM said")
            }
            left_by_deleting += sum(words in file.read_bytes() for words in gone)
            assert clean_files(file)
            for part in tmp_path.glob(f"{seed}.sqlite*"):
                assert not [words for words in gone if words in part.read_bytes()]
    assert left_by_deleting  # otherwise this shows nothing


def test_a_server_that_ends_waits_for_what_it_has_begun(make_study: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """To close the database under a thread that reads it ends the whole process."""
    begun, go_on = Event(), Event()
    ended: list[Any] = []

    def slow(_study: Path, store: Store) -> None:
        begun.set()
        go_on.wait(300)
        ended.append(store.read_now(needs_cleaning))

    def closed(store: Store, close: Callable[[Store], None] = Store.close) -> None:
        ended.append("closed")
        close(store)

    monkeypatch.setattr("fairwise.store.housekeeping.tidy_fits", slow)
    monkeypatch.setattr(Store, "close", closed)
    with visiting(make_study(), tmp_path / "study.sqlite"):
        assert begun.wait(300)
        Timer(0.2, go_on.set).start()
    assert ended == [False, "closed"]


def test_the_housekeeper_goes_on_after_whatever_went_wrong(make_study: Any, tmp_path: Path, monkeypatch: Any) -> None:
    tried = Event()

    def odd(_study: Path, _store: Store) -> None:
        if not calls:
            calls.append(1)
            raise PermissionError("a file that cannot be deleted")
        tried.set()

    calls: list[int] = []
    monkeypatch.setattr("fairwise.store.housekeeping.tidy_fits", odd)
    monkeypatch.setattr("fairwise.store.housekeeping.LEAST_SECONDS", 0.01)
    monkeypatch.setattr("fairwise.store.housekeeping.LARGEST_SHARE", 1.0)  # it rests no longer than it worked
    with visiting(make_study(), tmp_path / "study.sqlite") as visit:
        assert visit.client.portal is not None
        while not tried.wait(0.05):
            visit.client.portal.call(visit.site.services.housekeeper.wake)
