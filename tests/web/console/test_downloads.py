"""Files to take away: as on the command line, whole, and gone from the server when they were sent."""

from __future__ import annotations

import io
import tempfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.operating import Operating, operating
from tests.support.watching import take_part

from fairwise.archive.verify import verify_bundle
from fairwise.store import recruitment
from fairwise.study.recruitment import Keys
from fairwise.web.console.participants import FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FORMULA = "=HYPERLINK(1)"


@pytest.fixture
def console(
    make_study: Any, new_database: Callable[[], str | Path], tmp_path: Path, monkeypatch: Any
) -> Iterator[Operating]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    token = Keys.new()
    with operating(make_study(ask_why=True, practice=False, title="Wer darf? =1").path, new_database()) as opened:
        opened.set_up()
        invited = [(Keys.hashed(token), FORMULA)]
        opened.site.host.store.change_now(lambda c: recruitment.invite(c, invited, datetime.now(UTC)))
        take_part(opened, 4, link=f"/p/{token}", why=FORMULA, closing=FORMULA)
        take_part(opened, 2)
        opened.post("/participants/2/exclude", reason="too fast")
        yield opened


def table(console: Operating, file: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(console.get(f"/downloads/{file}").text), keep_default_na=False)


def test_every_file_is_named_by_study_and_day_and_leaves_nothing_behind(console: Operating, tmp_path: Path) -> None:
    page = console.get("/downloads").text
    for file in FILES:
        assert f'formaction="/admin/downloads/{file}"' in page
        found = console.get(f"/downloads/{file}")
        assert found.status_code == 200
        stem, _, ending = file.partition(".")
        name = f"wer-darf-1-{stem}-{datetime.now(UTC):%Y-%m-%d}.{ending}"
        assert found.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert int(found.headers["content-length"]) == len(found.content) > 0
        assert found.headers["cache-control"] == "no-store"
    assert list(tmp_path.glob("fairwise-*")) == []
    for file in ("secret.key", "outcome.parquet", "..%2Fsecret.key"):
        assert console.get(f"/downloads/{file}").status_code == 404


def test_judgments_leave_out_who_is_excluded_unless_wanted(console: Operating) -> None:
    assert set(table(console, "judgments.csv")["judge"]) == {"p00001"}
    both = table(console, "judgments.csv?with_excluded=1")
    assert both.groupby("judge")["excluded"].unique().map(list).to_dict() == {"p00001": ["no"], "p00002": ["yes"]}
    assert set(table(console, "judgments.csv?with_excluded=1&finished_only=1")["judge"]) == {"p00001"}
    parquet = pd.read_parquet(io.BytesIO(console.get("/downloads/judgments.parquet").content))
    assert list(parquet["answer"]) == list(table(console, "judgments.csv")["answer"])


def test_formulas_are_defused(console: Operating) -> None:
    assert set(table(console, "texts.csv")["text"]) == {f"'{FORMULA}"}
    assert table(console, "participants.csv")["name"].tolist() == [f"'{FORMULA}", ""]


def test_judges_and_bundle(console: Operating, tmp_path: Path) -> None:
    assert list(table(console, "judges.csv")["came_by"]) == ["personal"]
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(console.get("/downloads/bundle.zip").content)
    found = verify_bundle(bundle)
    assert (found.participants, found.excluded) == (2, 1)
