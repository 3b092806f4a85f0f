"""``fairwise study forget``: what a study keeps for so many days only."""

from pathlib import Path
from typing import Annotated

import typer

from fairwise.cli.output import print_json
from fairwise.cli.screen import Json, say
from fairwise.errors import InputError


def forget(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study.")],
    database: Annotated[
        str | None, typer.Option("--database", help="As given to serve; without it SQLite in DIR.", metavar="URL")
    ] = None,
    as_json: Json = False,
) -> None:
    """Delete texts, names and panel's ids that are older than the study's retention_days, as its server does daily.

    Example:

    fairwise study forget my-study
    """
    from fairwise.elicitation.folder import StudyFolder
    from fairwise.elicitation.forgetting import forget_in_time
    from fairwise.elicitation.store.store import Store
    from fairwise.elicitation.web.server import database_of

    study, where = StudyFolder.open(folder), database_of(folder, database)
    if not study.settings.retention_days:
        raise InputError(f"{folder / 'study.toml'}: retention_days is 0, so everything is kept")
    if isinstance(where, Path) and not where.exists():
        raise InputError(f"{where}: there is no such file; nobody has answered yet")
    store = Store.open(where, study.fingerprint)
    try:
        gone = forget_in_time(study.settings, store, where)
    finally:
        store.close()
    if as_json:
        print_json({"study": str(folder), "retention_days": study.settings.retention_days, "rows": gone})
        return
    say(f"Older than {study.settings.retention_days} days: texts or names in {gone} rows were deleted.")
