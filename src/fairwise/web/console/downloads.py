"""Files to take away: made when they are asked for, from one moment of the study, and kept nowhere."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from fairwise.archive.bundle import write_bundle
from fairwise.store import export
from fairwise.store.one_participant import Entry, roster
from fairwise.store.snapshot import snapshot
from fairwise.web.console.base import ConsolePages, ConsoleRoute

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from fairwise.study.folder import StudyFolder

_CHUNK = 1 << 16
_CSV, _PARQUET, _ZIP = "text/csv; charset=utf-8", "application/vnd.apache.parquet", "application/zip"


@dataclass(frozen=True)
class Making:
    """What a file is made from."""

    study: StudyFolder
    connection: Connection
    finished_only: bool
    with_excluded: bool

    def judgments(self, path: Path) -> None:
        """As CSV or Parquet, whichever the name says."""
        export.judgments(self.connection, finished_only=self.finished_only, with_excluded=self.with_excluded).write(
            path
        )

    def judges(self, path: Path) -> None:
        who = export.judges(self.connection, finished_only=self.finished_only, with_excluded=self.with_excluded)
        _write(who.assign(room=who["room"].map(export.defused, na_action="ignore")), path)

    def texts(self, path: Path) -> None:
        said = export.texts(self.connection, finished_only=self.finished_only, with_excluded=self.with_excluded)
        said.map(export.defused).to_csv(path, index=False, quoting=csv.QUOTE_ALL)

    def participants(self, path: Path) -> None:
        """Everyone, whatever was chosen: this is the list of who was invited, came, left or withdrew."""
        names = list(Entry.__dataclass_fields__)
        table = pd.DataFrame([asdict(entry) for entry in roster(self.connection)], columns=names)
        table["number"] = table["number"].astype("Int64")
        typed = {name: table[name].map(export.defused) for name in ("name", "panel_id", "room", "relation")}
        _write(table.assign(**typed), path)

    def bundle(self, path: Path) -> None:
        write_bundle(path, self.study, self.connection)


FILES: dict[str, tuple[Callable[[Making, Path], None], str]] = {
    "judgments.csv": (Making.judgments, _CSV),
    "judgments.parquet": (Making.judgments, _PARQUET),
    "judges.csv": (Making.judges, _CSV),
    "texts.csv": (Making.texts, _CSV),
    "participants.csv": (Making.participants, _CSV),
    "bundle.zip": (Making.bundle, _ZIP),
}


class DownloadPages(ConsolePages):
    """For owners alone."""

    async def downloads(self, request: Request) -> Response:
        if self._host.study is None:
            return self._to("")
        return self._page(request, "downloads", people=await self._read(export.taken))

    async def download(self, request: Request) -> Response:
        study, name = self._host.study, str(request.path_params["file"])
        if study is None or name not in FILES:
            raise HTTPException(404)
        make, media_type = FILES[name]
        chosen = request.query_params
        folder = TemporaryDirectory(prefix="fairwise-")

        def made() -> tuple[Path, int]:
            path = Path(folder.name) / name
            with snapshot(self._host.database) as connection:
                finished_only, with_excluded = "finished_only" in chosen, "with_excluded" in chosen
                make(Making(study, connection, finished_only, with_excluded), path)
            return path, path.stat().st_size

        try:
            path, size = await self._beside(made)
        except BaseException:
            folder.cleanup()
            raise
        headers = {
            "content-disposition": f'attachment; filename="{_file_name(study, name)}"',
            "content-length": str(size),
        }
        return _Taken(folder, _streamed(path), media_type=media_type, headers=headers)

    routes = (
        ConsoleRoute("GET", "/admin/downloads", downloads, "owner"),
        ConsoleRoute("GET", "/admin/downloads/{file}", download, "owner"),
    )


class _Taken(StreamingResponse):
    """A file whose folder goes when it was sent, also if whoever asked for it hung up before the first byte."""

    def __init__(self, folder: TemporaryDirectory[str], pieces: Iterator[bytes], **options: Any) -> None:
        super().__init__(pieces, **options)
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._folder:
            await super().__call__(scope, receive, send)


def _streamed(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _file_name(study: StudyFolder, name: str) -> str:
    """With the study's title and the day, as far as every system takes them."""
    title = re.sub(r"[^a-z0-9]+", "-", study.settings.title.lower()).strip("-")[:40].strip("-") or "study"
    stem, _, ending = name.partition(".")
    return f"{title}-{stem}-{datetime.now(UTC):%Y-%m-%d}.{ending}"


def _write(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False, lineterminator="\n")
