"""``fairwise study forget``: what a study keeps for so many days only."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fairwise.cli.output import print_json
from fairwise.cli.screen import Json, note, say
from fairwise.errors import InputError


def forget(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study.")],
    database: Annotated[
        str | None, typer.Option("--database", help="As given to serve; without it SQLite in DIR.", metavar="URL")
    ] = None,
    clock_is_right: Annotated[
        bool,
        typer.Option("--clock-is-right", help="Believe the clock, though it is weeks off from when it was last seen."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Delete texts, names and panel's ids that are older than the study's retention_days, as its server does by itself.

    Files of the database that still hold what was deleted, now or earlier, are cleaned. If the clock is more than 14
    days ahead of when server or command last looked at it, nothing is deleted until you say that it is right, which
    is written down among what operators did.

    Example:

    fairwise study forget my-study
    """
    from fairwise.store.clock import in_words
    from fairwise.store.forgetting import forget_in_time
    from fairwise.store.housekeeping import tidy_fits
    from fairwise.store.store import Store
    from fairwise.study.folder import StudyFolder
    from fairwise.web.server import database_of

    study, where = StudyFolder.open(folder), database_of(folder, database)
    days = study.settings.retention_days
    if isinstance(where, Path) and not where.exists():
        raise InputError(f"{where}: there is no such file; nobody has answered yet")
    store = Store.open(where, study.fingerprint, folder)
    try:
        tidy_fits(folder, store)
        done = forget_in_time(study.settings, store, where, clock_is_right=clock_is_right)
    finally:
        store.close()
    if not days and done.cleaned is None:
        raise InputError(f"{folder / 'study.toml'}: retention_days is 0, so everything is kept")
    if done.cleaned is False:
        note(
            "Files of the database still hold what was deleted, as somebody reads it just now; "
            "the server tries again, and so does this command."
        )
    if done.days_off:
        note(
            f"{'Nothing was deleted by its age: the' if done.days_off > 0 else 'The'} clock says "
            f"{datetime.now(UTC):%Y-%m-%d}{in_words(done.days_off)}. If that is "
            f"today, say so: fairwise study forget {folder} --clock-is-right{' --database …' if database else ''}; if "
            "not, set the clock."
        )
    if as_json:
        told = {"retention_days": days, "rows": done.rows, "cleaned": done.cleaned, "days_off": done.days_off}
        print_json({"study": str(folder), **told})
        return
    if days and done.days_off <= 0:
        say(f"Older than {days} days: texts or names in {done.rows} rows were deleted.")
    if done.cleaned:
        say("What was deleted is out of the files of the database as well.")
