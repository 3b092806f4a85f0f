"""``fairwise export``: what people said, as a table of judgments."""

import csv
from pathlib import Path
from typing import Annotated

from typer import Option

from fairwise.cli.options.study import DatabaseOption, StudyArgument
from fairwise.cli.terminal import TABLES, Json, check_target, echo, note, print_json, write_output, write_table
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

    _check_coarse(coarse, bundle)
    study = StudyFolder.open(folder)
    address = database_of(folder, database)
    _check_targets(
        {"--out": (out, TABLES), "--texts": (texts_out, (".csv",)), "--judges": (judges_out, TABLES)}
        | {"--bundle": (bundle, (".zip",))},
        [folder / PEOPLE, folder / OUTCOME],
    )
    with snapshot(address, folder) as connection:
        people = participant_counts(connection)
        table = judgments(connection, finished_only=finished_only, with_excluded=with_excluded)
        written = texts(connection, finished_only=finished_only, with_excluded=with_excluded)
        who = judges(connection, study.settings, finished_only=finished_only, with_excluded=with_excluded)
        if bundle is not None:
            write_output(bundle, lambda draft: write_bundle(draft, study, connection, coarse=coarse), private=True)
    if people.fingerprint != study.fingerprint:
        note(f"Note: {folder} was changed since it was last served, or the answers are about another study.")
    table.write(out)
    if texts_out is not None:
        safe = written.map(defused)
        write_output(texts_out, lambda draft: safe.to_csv(draft, index=False, quoting=csv.QUOTE_ALL), private=True)
    if judges_out is not None:
        write_table(judges_to_write(who), judges_out)
    answers, n_judges = len(table.frame), table.n_judges
    unfinished = people.started - people.finished
    if as_json:
        print_json(
            {
                "out": str(out),
                "answers": answers,
                "judges": n_judges,
                "finished": people.finished,
                "unfinished": unfinished,
                "excluded": people.excluded,
                "texts": None if texts_out is None else len(written),
                "bundle": None if bundle is None else str(bundle),
            }
        )
        return
    echo(f"Wrote {out}: {counted(answers, 'answer')} of {counted(n_judges, 'judge')}.")
    have = "person has" if people.finished == 1 else "people have"
    left_out = " (left out)" if finished_only and unfinished else ""
    echo(f"{people.finished} {have} finished, {unfinished} {'has' if unfinished == 1 else 'have'} not{left_out}.")
    if people.excluded:
        kept = "kept, and marked" if with_excluded else "left out; keep them with --with-excluded"
        echo(f"{counted(people.excluded, 'participant')} excluded by an operator: {kept}.")
    if bundle is not None:
        echo(f"Wrote {bundle}: check it with: fairwise study verify {bundle}")
    if judges_out is not None:
        echo(f"Wrote {judges_out}: {counted(len(who), 'judge')}; give it to other commands as --judges.")
    if texts_out is not None:
        echo(f"Wrote {texts_out}: {counted(len(written), 'text')}.")


def _check_coarse(coarse: bool, bundle: Path | None) -> None:
    if coarse and bundle is None:
        raise InputError("--coarse: is about a bundle; give --bundle, too")


def _check_targets(targets: dict[str, tuple[Path | None, tuple[str, ...]]], own_files: list[Path]) -> None:
    """Refuse files that could not be written, and two options that name one file."""
    taken: set[Path] = set()
    for option, (file, endings) in targets.items():
        if file is None:
            continue
        check_target(file, endings, own_files)
        if file.resolve() in taken:
            raise InputError(f"{option}: {file} is where something else goes; choose another name")
        taken.add(file.resolve())
