"""Reports in the console: in both languages, and by links that can be revoked."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from tests.support.fits import done_job
from tests.support.operating import Operating, operating

from fairwise.archive.backup import tables_of_backup
from fairwise.store.fit_files import REPORTS, job_folder
from fairwise.store.jobs import end, take
from fairwise.store.schema import events, jobs, metadata, report_links
from fairwise.web.console import results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from httpx2 import Response

    from fairwise.study.folder import StudyFolder

GOOD = {f"known-as-{k}": round(k / 12, 3) for k in range(12)}


@pytest.fixture
def console(make_study: Callable[..., StudyFolder], new_database: Callable[[], Path | str]) -> Iterator[Operating]:
    study = make_study(languages=["en", "de"])
    with operating(study.path, new_database()) as opened:
        opened.set_up()
        done_job(opened.site.host.store, study.path, GOOD)
        german = job_folder(study.path, 1) / REPORTS["de"]
        german.write_text("<!DOCTYPE html><h1>Der Bericht</h1>", encoding="utf-8")
        yield opened


def new_link(console: Operating) -> str:
    """Make a link; returns its path."""
    once = re.search(r'name="once" value="([^"]+)"', console.get("/fits/1/links").text)
    assert once is not None
    page = console.post("/fits/1/links", once=once[1])
    found = re.search(r"https://study\.example(/report/[\w-]+)<", page.text)
    assert found is not None, page.text
    return found[1]


def read_by(console: Operating, path: str) -> Response:
    """As somebody without an account."""
    console.client.cookies.clear()
    return console.client.get(path)


def change(console: Operating, statement: sa.Update | sa.Delete) -> None:
    console.site.host.store.change_now(lambda connection: connection.execute(statement))


def test_a_report_is_read_in_the_language_asked_for(console: Operating) -> None:
    assert "The report" in console.get("/fits/1/report").text
    assert "Der Bericht" in console.get("/fits/1/report?lang=de").text
    assert "The report" in console.get("/fits/1/report?lang=xx").text
    (job_folder(console.site.host.path, 1) / REPORTS["de"]).unlink()  # as of a fit of an earlier version
    assert "The report" in console.get("/fits/1/report?lang=de").text


def test_a_link_leads_to_the_report_and_to_nothing_else(console: Operating) -> None:
    path = new_link(console)
    assert len(path.rpartition("/")[2]) >= 24
    page = read_by(console, path)
    assert "The report" in page.text
    assert "Der Bericht" in read_by(console, f"{path}?lang=de").text
    assert page.headers["x-robots-tag"] == "noindex, nofollow"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["content-security-policy"] == results.REPORT_POLICY
    assert "set-cookie" not in page.headers
    assert console.client.get("/admin/fits/1").url.path == "/admin/login"
    assert console.client.get(f"{path}x").status_code == 404
    assert console.client.get("/report/").status_code == 404


def test_only_a_hash_of_a_link_is_kept_and_who_made_it(console: Operating) -> None:
    token = new_link(console).rpartition("/")[2]

    def rows(connection: sa.Connection) -> str:
        return str([*connection.execute(sa.select(report_links)).all(), *connection.execute(sa.select(events)).all()])

    kept = console.site.host.store.read_now(rows)
    assert token not in kept
    assert "report link made" in kept
    assert token not in console.get("/fits/1/links").text


def test_a_revoked_link_ends_at_once(console: Operating) -> None:
    path, other = new_link(console), new_link(console)
    assert "nobody can read the report by it any more" in console.post("/fits/1/links/1/revoke").text
    gone = read_by(console, path)
    assert gone.status_code == 404
    assert "<h1>There is no report here</h1>" in gone.text
    german = read_by(console, f"{path}?lang=de")
    assert '<html lang="de">' in german.text
    assert "Hier ist kein Bericht" in german.text
    assert gone.text == read_by(console, "/report/none-that-ever-was").text  # nobody learns which links there were
    assert read_by(console, other).status_code == 200
    console.log_in("Ada")
    assert console.post("/fits/1/links/7/revoke").status_code == 404
    assert console.get("/fits/1/links").text.count("revoked") >= 1


def test_a_form_sent_twice_makes_one_link(console: Operating) -> None:
    pages = [console.post("/fits/1/links", once="the same form") for _ in range(2)]
    links = {re.findall(r"/report/[\w-]+", page.text)[0] for page in pages}
    assert len(links) == 1
    assert console.get("/fits/1/links").text.count("Revoke<") == 1


def test_viewers_make_no_links(console: Operating) -> None:
    console.add("Vic", "viewer")
    console.log_in("Vic")
    assert console.get("/fits/1/report").status_code == 200
    assert console.get("/fits/1/links").status_code == 403
    assert console.post("/fits/1/links", once="x").status_code == 403
    assert "Show it to others" not in console.get("/fits/1").text


def test_after_a_withdrawal_a_link_shows_nothing_until_the_report_is_new(console: Operating) -> None:
    """Even if the old file were still there."""
    path, store = new_link(console), console.site.host.store
    change(console, sa.update(jobs).values(state="waiting", restarts=1))
    assert read_by(console, path).status_code == 404
    now = datetime.now(UTC)
    job = store.change_now(lambda connection: take(connection, now, timedelta(1)))
    assert job is not None
    assert read_by(console, path).status_code == 404
    assert store.change_now(lambda connection: end(connection, job, "done", "", now))
    (job_folder(console.site.host.path, 1) / REPORTS["en"]).write_text("<h1>Without them</h1>", encoding="utf-8")
    assert "Without them" in read_by(console, path).text


@pytest.mark.parametrize("happens", ["withdrawal", "revoked"])
def test_nor_if_it_happens_while_the_report_is_read(
    console: Operating, monkeypatch: pytest.MonkeyPatch, happens: str
) -> None:
    path, read = new_link(console), results.read_report
    statement = {
        "withdrawal": sa.update(jobs).values(restarts=1),
        "revoked": sa.update(report_links).values(revoked_at=datetime.now(UTC)),
    }[happens]

    def interrupted(*arguments: object) -> str | None:
        html = read(*arguments)  # type: ignore[arg-type]
        change(console, statement)
        return html

    monkeypatch.setattr(results, "read_report", interrupted)
    assert read_by(console, path).status_code == 404


def test_a_link_goes_with_its_model_and_into_no_backup(console: Operating) -> None:
    path = new_link(console)
    change(console, sa.delete(jobs))
    assert read_by(console, path).status_code == 404
    assert report_links not in tables_of_backup(metadata)
