"""Options about a study that is there, and its database while a command works with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from typer import Argument, Option

from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.store.store import Store

HERE = "http://127.0.0.1:8000"
StudyArgument = Annotated[Path, Argument(metavar="DIR", help="The study.")]
DatabaseOption = Annotated[
    str | None, Option("--database", help="As given to serve; without it SQLite in DIR.", metavar="URL")
]
NewDatabaseOption = Annotated[
    str | None, Option("--database", help="postgresql://…; without it SQLite in DIR.", metavar="URL")
]
UrlOption = Annotated[str, Option("--url", help="Where participants reach the study: https://….", metavar="URL")]


@contextmanager
def study_store(
    folder: Path, database: str | None, *, none_means: str = "", before_study: bool = False
) -> "Iterator[Store]":
    """Open the database of a study, or with ``before_study`` of a folder in which the console will make one.

    A new one is made if there is none, unless ``none_means`` says what that means.
    """
    from fairwise.store.places import database_of
    from fairwise.store.store import Store
    from fairwise.study.folder import SETTINGS, StudyFolder

    is_made = not before_study or (folder / SETTINGS).exists()
    fingerprint, where = StudyFolder.open(folder).fingerprint if is_made else None, database_of(folder, database)
    if none_means and isinstance(where, Path) and not where.exists():
        raise InputError(f"{where}: there is no such file; {none_means}")
    store = Store.open(where, fingerprint, folder)
    try:
        yield store
    finally:
        store.close()


def base_address(url: str) -> str:
    """Return the address without a slash at its end."""
    base = url.strip().rstrip("/")
    try:
        parts = urlsplit(base)
        known = parts.scheme in ("http", "https") and parts.hostname and not parts.query and not parts.fragment
    except ValueError:
        known = False
    if not known:
        raise InputError(f"--url: {url!r} is not the address of a study; needed: https://…")
    return base
