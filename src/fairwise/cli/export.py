"""``fairwise export``: what people said, as a table of judgments."""

import csv
from pathlib import Path
from typing import Annotated

import typer

from fairwise.cli.output import TABLES, check_target, print_json, write_whole
from fairwise.cli.screen import Json, note, say
from fairwise.errors import InputError


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study.")],
    out: Annotated[Path, typer.Option("--out", help="Where to write the judgments: .csv or .parquet.")],
    database: Annotated[
        str | None, typer.Option("--database", help="As given to serve; without it SQLite in DIR.", metavar="URL")
    ] = None,
    finished_only: Annotated[
        bool, typer.Option("--finished-only", help="Leave out those who have not come to the end.")
    ] = False,
    texts_out: Annotated[
        Path | None,
        typer.Option("--texts", help="Where to write what people wrote: .csv.", metavar="FILE"),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", help="Where to write all of the study but outcomes: .zip.", metavar="FILE"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write what people said as a table of judgments, also while the study is served.

    Example:

    fairwise export my-study --out judgments.csv
    """
    from fairwise.elicitation.bundles.archive import write_bundle
    from fairwise.elicitation.export import defused, judgments, taken, texts
    from fairwise.elicitation.folder import OUTCOME, PEOPLE, StudyFolder
    from fairwise.elicitation.store.snapshot import snapshot
    from fairwise.elicitation.web.server import database_of
    from fairwise.reporting.words import counted

    study = StudyFolder.open(folder)
    address = database_of(folder, database)
    own_files = [folder / PEOPLE, folder / OUTCOME]
    check_target(out, TABLES, own_files)
    if texts_out is not None:
        check_target(texts_out, (".csv",), own_files)
        if texts_out.resolve() == out.resolve():
            raise InputError(f"--texts: {texts_out} is where the judgments go; choose another name")
    if bundle is not None:
        check_target(bundle, (".zip",), own_files)
    with snapshot(address) as connection:
        people = taken(connection)
        said = judgments(connection, finished_only=finished_only)
        written = texts(connection, finished_only=finished_only)
        if bundle is not None:
            write_whole(bundle, lambda draft: write_bundle(draft, study, connection))
    if people.fingerprint != study.fingerprint:
        note(f"Note: {folder} was changed since it was last served, or the answers are about another study.")
    said.write(out)
    if texts_out is not None:
        safe = written.map(defused)
        write_whole(texts_out, lambda draft: safe.to_csv(draft, index=False, quoting=csv.QUOTE_ALL))
    answers, judges = len(said.frame), said.n_judges
    unfinished = people.started - people.finished
    if as_json:
        print_json(
            {
                "out": str(out),
                "answers": answers,
                "judges": judges,
                "finished": people.finished,
                "unfinished": unfinished,
                "texts": None if texts_out is None else len(written),
                "bundle": None if bundle is None else str(bundle),
            }
        )
        return
    say(f"Wrote {out}: {counted(answers, 'answer')} of {counted(judges, 'judge')}.")
    have = "person has" if people.finished == 1 else "people have"
    left_out = " (left out)" if finished_only and unfinished else ""
    say(f"{people.finished} {have} finished, {unfinished} {'has' if unfinished == 1 else 'have'} not{left_out}.")
    if bundle is not None:
        say(f"Wrote {bundle}: check it with: fairwise study verify {bundle}")
    if texts_out is not None:
        say(f"Wrote {texts_out}: {counted(len(written), 'text')}.")
