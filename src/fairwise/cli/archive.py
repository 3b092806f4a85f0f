"""``fairwise export``, ``backup``, ``restore``, ``study verify`` and ``study reopen``: a study's answers in files."""

import csv
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fairwise.cli.options import DatabaseOption, NewDatabaseOption, StudyArgument
from fairwise.cli.terminal import (
    TABLES,
    Json,
    check_folder,
    check_target,
    echo,
    note,
    print_json,
    spinner,
    write_output,
    write_table,
)
from fairwise.errors import InputError
from fairwise.numbers import counted


def export(
    folder: StudyArgument,
    out: Annotated[Path, Option(help="Where to write the judgments: .csv or .parquet.")],
    database: DatabaseOption = None,
    finished_only: Annotated[
        bool, Option("--finished-only", help="Leave out those who have not come to the end.")
    ] = False,
    with_excluded: Annotated[
        bool, Option("--with-excluded", help="Keep those whom an operator excluded, marked as such.")
    ] = False,
    texts_out: Annotated[
        Path | None, Option("--texts", help="Where to write what people wrote: .csv.", metavar="FILE")
    ] = None,
    judges_out: Annotated[
        Path | None, Option("--judges", help="Where to write who answered: .csv or .parquet.", metavar="FILE")
    ] = None,
    bundle: Annotated[
        Path | None, Option(help="Where to write all of the study but outcomes: .zip.", metavar="FILE")
    ] = None,
    coarse: Annotated[
        bool, Option("--coarse", help="A bundle with days instead of times, whole seconds, and nothing people wrote.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write what people said as a table of judgments, also while the study is served.

    Example:

    fairwise export my-study --out judgments.csv
    """
    from fairwise.archive.bundle import write_bundle
    from fairwise.store.export import defused, judges, judges_to_write, judgments, participant_counts, texts
    from fairwise.store.places import database_of
    from fairwise.store.store import snapshot
    from fairwise.study.folder import OUTCOME, PEOPLE, StudyFolder

    study = StudyFolder.open(folder)
    address = database_of(folder, database)
    targets = {"--out": out, "--texts": texts_out, "--judges": judges_out, "--bundle": bundle}
    _check_targets(targets, [folder / PEOPLE, folder / OUTCOME], coarse=coarse)
    with snapshot(address, folder) as connection:
        people = participant_counts(connection)
        table = judgments(connection, finished_only=finished_only, with_excluded=with_excluded)
        written_texts = texts(connection, finished_only=finished_only, with_excluded=with_excluded)
        judge_table = judges(connection, study.settings, finished_only=finished_only, with_excluded=with_excluded)
        if bundle is not None:
            write_output(bundle, lambda draft: write_bundle(draft, study, connection, coarse=coarse), private=True)
    if people.fingerprint != study.fingerprint:
        note(f"Note: {folder} was changed since it was last served, or the answers are about another study.")
    table.write(out)
    if texts_out is not None:
        safe = written_texts.map(defused)
        write_output(texts_out, lambda draft: safe.to_csv(draft, index=False, quoting=csv.QUOTE_ALL), private=True)
    if judges_out is not None:
        write_table(judges_to_write(judge_table), judges_out)
    answers, n_judges = len(table.frame), table.n_judges
    unfinished = people.started - people.finished
    if as_json:
        print_json(
            {
                "out": out,
                "answers": answers,
                "judges": n_judges,
                "finished": people.finished,
                "unfinished": unfinished,
                "excluded": people.excluded,
                "texts": None if texts_out is None else len(written_texts),
                "bundle": bundle,
            }
        )
        return
    echo(f"Wrote {out}: {counted(answers, 'answer')} of {counted(n_judges, 'judge')}.")
    finished = "1 person has" if people.finished == 1 else f"{people.finished} people have"
    left_out = " (left out)" * bool(finished_only and unfinished)
    echo(f"{finished} finished, {unfinished} {'has' if unfinished == 1 else 'have'} not{left_out}.")
    if people.excluded:
        kept = "kept, and marked" if with_excluded else "left out; keep them with --with-excluded"
        echo(f"{counted(people.excluded, 'participant')} excluded by an operator: {kept}.")
    if bundle is not None:
        echo(f"Wrote {bundle}: check it with: fairwise study verify {bundle}")
    if judges_out is not None:
        echo(f"Wrote {judges_out}: {counted(len(judge_table), 'judge')}; give it to other commands as --judges.")
    if texts_out is not None:
        echo(f"Wrote {texts_out}: {counted(len(written_texts), 'text')}.")


def _check_targets(targets: dict[str, Path | None], inputs: list[Path], *, coarse: bool) -> None:
    """Refuse files that could not be written, and two options that name one file."""
    if coarse and targets["--bundle"] is None:
        raise InputError("--coarse: is about a bundle; give --bundle, too")
    endings = {"--texts": (".csv",), "--bundle": (".zip",)}
    files: set[Path] = set()
    for option, file in targets.items():
        if file is None:
            continue
        check_target(file, endings.get(option, TABLES), inputs)
        if file.resolve() in files:
            raise InputError(f"{option}: {file} is where something else goes; choose another name")
        files.add(file.resolve())


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

    def write(draft: Path) -> None:
        rows.update(take_backup(draft, study, database_of(folder, database), with_secret=with_secret))

    with spinner("Writing the backup"):
        write_output(out, write)
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
    from fairwise.archive.backup import restore_backup
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


_Bundle = Annotated[Path, Argument(metavar="BUNDLE", help="An archive made by: fairwise export --bundle.")]


def verify(bundle: _Bundle, as_json: Json = False) -> None:
    """Check a bundle: nothing changed or added, every pair as the seed asks for, every answer one that could be given.

    Example:

    fairwise study verify my-study.zip
    """
    from fairwise.archive.verify import verify_bundle

    with spinner("Checking the bundle"):
        contents = verify_bundle(bundle)
    if as_json:
        print_json({"bundle": bundle, **asdict(contents)})
        return
    echo(f"{bundle} is in order. It was made with Fairwise {contents.fairwise}.")
    echo(f"Participants  {contents.participants}, of whom {contents.finished} finished")
    echo(f"Pairs shown   {contents.pairs}, each as the seed asks for")
    if contents.excluded:
        echo(f"Excluded      {contents.excluded} of the participants, by an operator; their answers are in it")
    if contents.active:
        echo(f"Active pairs  {contents.active}, each chosen again with the same result")
    echo(f"Answers       {contents.answers}, and {contents.versions - contents.answers} earlier versions of them")
    if contents.arms:
        echo(f"Arms          {contents.arms} of the participants are in one, each drawn again with the same result")
    if contents.arms_kept:
        echo(f"Arms kept     {contents.arms_kept} began again under the same ID of the panel and stayed in their arm")
    if contents.ballots:
        echo(f"Ballots       {contents.ballots} in votes that have ended, each as the rule of its vote allows")
    if contents.without_text:
        echo(f"Consent       {contents.without_text} of the participants agreed to a consent text that is not in it")
    if contents.coarse:
        echo("Coarse        days in the place of times, whole seconds of thinking, and nothing that anyone wrote")
    echo("This proves that the bundle agrees with itself, not that nobody made it up.")
    if contents.active:
        echo("Nor that the models that chose active pairs follow from the answers: those who withdrew are missing.")
    echo("Not checked, as nothing else in it says so: when it was made, and by which version of Fairwise.")


def reopen(
    bundle: _Bundle,
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder to make; must not be there.")],
    database: NewDatabaseOption = None,
    as_json: Json = False,
) -> None:
    """Make a study of a bundle again, with all its answers; links, panels' ids and rooms are in no bundle.

    Example:

    fairwise study reopen my-study.zip my-study-again
    """
    from fairwise.archive.reopen import reopen_bundle
    from fairwise.store.places import database_of

    check_folder(folder.parent)
    with spinner("Opening the bundle"):
        reopened = reopen_bundle(bundle, folder, database_of(folder, database))
    if as_json:
        print_json(
            {"bundle": bundle, "study": folder, "participants": reopened.participants, "answers": reopened.answers}
        )
        return
    echo(f"{folder} is a study with {reopened.participants} participants and {reopened.answers} answers.")
