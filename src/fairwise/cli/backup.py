"""``fairwise backup`` and ``fairwise restore``: a study in one file, from which it can go on."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fairwise.cli.options.study import DatabaseOption
from fairwise.cli.terminal import Json, check_folder, check_target, echo, note, print_json, spinner, write_output
from fairwise.numbers import counted


def backup(
    folder: Annotated[Path, Argument(metavar="DIR", help="The study, served or not.")],
    out: Annotated[Path, Option(help="Where to write the backup: .zip.", metavar="FILE")],
    database: DatabaseOption = None,
    with_secret: Annotated[
        bool, Option("--with-secret", help="Put secret.key into it; whoever has the file can then answer for others.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a study and its database into one file with checksums, also while it is served.

    Example:

    fairwise backup my-study --out my-study-monday.zip
    """
    from fairwise.archive.backup import take_backup
    from fairwise.store.places import database_of
    from fairwise.study.folder import StudyFolder

    check_target(out, (".zip",), [])
    study = StudyFolder.open(folder)
    rows: dict[str, int] = {}
    with spinner("Writing the backup"):
        write_output(
            out,
            lambda draft: rows.update(
                take_backup(draft, study, database_of(folder, database), with_secret=with_secret)
            ),
        )
    if as_json:
        print_json({"out": out, "rows": rows, "with_secret": with_secret})
        return
    echo(f"Wrote {out}: {counted(rows['participants'], 'participant')}, {counted(rows['answers'], 'answer')}.")
    if not with_secret:
        echo(f"{folder / 'secret.key'} is not in it; keep a copy in a safe place of its own.")


def restore(
    file: Annotated[Path, Argument(metavar="FILE", help="A backup made by: fairwise backup.")],
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder to make; it must not exist, or be empty.")],
    database: Annotated[
        str | None, Option(help="postgresql://…, empty; without it SQLite in DIR.", metavar="URL")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a study of a backup again, with its answers, links, rooms and accounts, after checking all of it.

    Example:

    fairwise restore my-study-monday.zip my-study-again
    """
    from fairwise.archive.restore import restore_backup
    from fairwise.store.places import DATABASE_FILE

    check_folder(folder.resolve().parent)
    with spinner("Restoring the study"):
        restored = restore_backup(file, folder, database, DATABASE_FILE)
    if restored.days_ahead:
        note(
            f"This machine's clock says {datetime.now(UTC):%Y-%m-%d}, {restored.days_ahead} days after what is in the "
            "backup. Once it is served, what is older than the study's retention_days is deleted by that clock. If "
            "it is wrong, set it and restore the backup anew."
        )
    if as_json:
        print_json(
            {
                "backup": file,
                "study": folder,
                "rows": restored.rows,
                "secret": restored.has_secret,
                "days_ahead": restored.days_ahead,
            }
        )
        return
    people, answers = counted(restored.rows["participants"], "participant"), counted(restored.rows["answers"], "answer")
    echo(f"{folder} is the study as it was on {restored.made_at}: {people}, {answers}.")
    if not restored.has_secret:
        echo(f"It has a new secret. If you kept the old one, copy it to {folder / 'secret.key'} before serving.")
    if database is not None:
        echo(f"Its answers are in the database that you gave: serve {folder} with the same --database.")
