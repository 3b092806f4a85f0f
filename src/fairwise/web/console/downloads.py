"""Files to take away: made when they are asked for, from one moment of the study, and kept nowhere."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from fairwise.archive.bundle import write_bundle
from fairwise.store import export
from fairwise.store.roster import Entry, roster
from fairwise.store.store import snapshot
from fairwise.store.votes import cast_ballots, last_vote
from fairwise.study.folder import StudyFolder
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.shared.vote_views import letter_of

_CSV, _PARQUET, _ZIP = "text/csv; charset=utf-8", "application/vnd.apache.parquet", "application/zip"


@dataclass(frozen=True)
class FileWriter:
    """What files are made from: a study at one moment, and of which participants."""

    study: StudyFolder
    connection: Connection
    who: Mapping[str, bool]
    """Whether only those who finished, and whether those who were excluded too."""

    def judgments(self, path: Path) -> None:
        """As CSV or Parquet, whichever the name says."""
        export.judgments(self.connection, **self.who).write(path)

    def judges(self, path: Path) -> None:
        _write(export.judges_to_write(export.judges(self.connection, self.study.settings, **self.who)), path)

    def texts(self, path: Path) -> None:
        texts = export.texts(self.connection, **self.who)
        texts.map(export.defused).to_csv(path, index=False, quoting=csv.QUOTE_ALL)

    def ballots(self, path: Path) -> None:
        """Of the last vote, once it has ended: what each judge approved of, or in which place they put each option.

        Of a vote whose tally is not shown, as it has too few ballots, there are none.
        """
        vote = last_vote(self.connection)
        is_shown = vote is not None and vote.tally is not None and vote.tally.everyone is not None
        rows = [
            (export.judge_name(one.number), letter_of(option), place if vote and vote.rule.ranks else "approved")
            for one in (cast_ballots(self.connection, vote.id) if vote and is_shown else ())
            for place, option in enumerate(one.ballot, start=1)
        ]
        _write(pd.DataFrame(rows, columns=["judge", "option", "place"]), path)

    def participants(self, path: Path) -> None:
        """Everyone, whatever was chosen: this is the list of who was invited, came, left or withdrew."""
        names = list(Entry.__dataclass_fields__)
        table = pd.DataFrame([asdict(entry) for entry in roster(self.connection)], columns=names)
        table["number"] = table["number"].astype("Int64")
        typed = {name: table[name].map(export.defused) for name in ("name", "panel_id", "session", "room", "relation")}
        _write(table.assign(**typed), path)

    def bundle(self, path: Path) -> None:
        write_bundle(path, self.study, self.connection)


FILES: dict[str, tuple[Callable[[FileWriter, Path], None], str]] = {
    "judgments.csv": (FileWriter.judgments, _CSV),
    "judgments.parquet": (FileWriter.judgments, _PARQUET),
    "judges.csv": (FileWriter.judges, _CSV),
    "texts.csv": (FileWriter.texts, _CSV),
    "ballots.csv": (FileWriter.ballots, _CSV),
    "participants.csv": (FileWriter.participants, _CSV),
    "bundle.zip": (FileWriter.bundle, _ZIP),
}


class DownloadPages(ConsolePages):
    """For owners alone."""

    async def downloads(self, request: Request) -> Response:
        if self._host.study is None:
            return self._to("")
        return self._page(request, "downloads", people=await self._read(export.participant_counts))

    async def download(self, request: Request) -> Response:
        study, name = self._host.study, str(request.path_params["file"])
        if study is None or name not in FILES:
            raise HTTPException(404)
        write, media_type = FILES[name]
        who = {option: option in request.query_params for option in ("finished_only", "with_excluded")}
        folder = TemporaryDirectory(prefix="fairwise-")
        path = Path(folder.name) / name

        def write_file() -> None:
            with snapshot(self._host.database) as connection:
                write(FileWriter(study, connection, who), path)

        await self._noted(request, "downloaded", name, lambda _: None)
        try:
            await self._beside(write_file)
        except BaseException:
            folder.cleanup()
            raise
        return _TemporaryFile(folder, path, media_type=media_type, filename=_file_name(study, name))

    routes = (
        ConsoleRoute("GET", "/admin/downloads", downloads, "owner"),
        ConsoleRoute("GET", "/admin/downloads/{file}", download, "owner"),
    )


class _TemporaryFile(FileResponse):
    """A file whose folder goes when it was sent, also if whoever asked for it hung up before the first byte."""

    def __init__(self, folder: TemporaryDirectory[str], path: Path, *, media_type: str, filename: str) -> None:
        super().__init__(path, media_type=media_type, filename=filename, stat_result=path.stat())
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._folder:
            await super().__call__(scope, receive, send)


def _file_name(study: StudyFolder, name: str) -> str:
    """With the study's title and the day, as far as every system takes them."""
    title = re.sub(r"[^a-z0-9]+", "-", study.settings.title.lower()).strip("-")[:40].strip("-") or "study"
    stem, _, ending = name.partition(".")
    return f"{title}-{stem}-{datetime.now(UTC):%Y-%m-%d}.{ending}"


def _write(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False, lineterminator="\n")
