"""A study that people have answered: made once, and copied for each test, which may then change what it likes."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.engine import make_url
from tests.support.databases import empty_postgres
from tests.support.operating import operating

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.cookiejar import Cookie

    from tests.support.operating import Operating


@dataclass(frozen=True)
class Original:
    """What nobody serves any more."""

    folder: Path
    database: str | Path
    cookies: tuple[Cookie, ...]
    """Of the operator who made it."""

    @classmethod
    def of(cls, console: Operating, database: str | Path) -> Original:
        return cls(console.site.host.path, database, tuple(console.client.cookies.jar))

    def copy_database(self, into: Path) -> str | Path:
        if isinstance(self.database, Path):
            return Path(shutil.copy(self.database, into))
        address = make_url(self.database)
        server = address.set(database="postgres").render_as_string(hide_password=False)
        return empty_postgres(server, like=str(address.database))

    @contextmanager
    def operating_copy(self, into: Path, database: str | Path) -> Iterator[Operating]:
        """The same operator goes on with a copy of the folder and one of the database."""
        shutil.copytree(self.folder, into / "study")
        with operating(into / "study", database) as opened:
            for cookie in self.cookies:
                opened.client.cookies.jar.set_cookie(cookie)
            yield opened
