"""``fairwise study``: making a study, checking and reopening its archive, deleting what is kept for a time only."""

from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from fairwise.cli.error_handling import debuggable
from fairwise.cli.operators import operator
from fairwise.cli.options.decisions import AmountBetter, AmountRange, AmountUnit, KindOption, LabelValues, decided
from fairwise.cli.options.parsing import mixture, names, parse_option
from fairwise.cli.options.people import IdColumn, NaValues, NumericColumns, PeoplePath, note_doubts
from fairwise.cli.options.study import DatabaseOption, NewDatabaseOption, StudyArgument, study_store
from fairwise.cli.recruitment import ids, links, participants, room
from fairwise.cli.terminal import Json, check_folder, echo, note, print_json, spinner
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.study.folder import GivenScores, StudyFolder


_text_option = partial(Option, rich_help_panel="What participants read")

study = typer.Typer(
    name="study",
    help="Make a study in which participants compare pairs of people.\n\n"
    "Example: fairwise study new my-study --people people.csv --id id --show sex,age",
)


def new(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder to make; it must not exist, or be empty.")],
    people: PeoplePath,
    id_column: IdColumn,
    show: Annotated[
        str, Option("--show", help="Columns that participants see, in this order: sex,age.", metavar="COLUMNS")
    ],
    outcome: Annotated[
        str | None, Option("--outcome", help="Column to predict later; kept in a file of its own, never shown.")
    ] = None,
    outcome_kind: KindOption = None,
    label_values: LabelValues = None,
    amount_range: AmountRange = None,
    amount_unit: AmountUnit = "",
    amount_better: AmountBetter = "more",
    pairs: Annotated[
        int | None,
        Option(
            "--pairs",
            help="Pairs for each participant; 50, or the sum if the design names uniform ones.",
            min=1,
            max=1000,
        ),
    ] = None,
    design: Annotated[
        str | None,
        Option("--design", help='Kinds of pairs: "28 uniform, 6 anchors, 5 repeats, 10 active".', metavar="KINDS"),
    ] = None,
    strata: Annotated[
        str | None,
        Option("--strata", help="Columns by which stratified pairs are balanced: sex,race.", metavar="COLUMNS"),
    ] = None,
    scores: Annotated[
        Path | None,
        Option(
            "--scores",
            help="For active pairs: scores of a current model, with columns id and score (.csv or .parquet); pairs "
            "about which it would break the likely answer are then asked more often.",
        ),
    ] = None,
    favorable_label: Annotated[
        Literal["0", "1"] | None,
        Option("--favorable-label", help="Whether label 1 or 0 is good; needed with --scores, if there are two."),
    ] = None,
    pictures: Annotated[
        str | None,
        Option(
            "--pictures",
            help="A column of --show that names picture files in the folder images beside the people, and the column "
            "that says in words what each shows: photo=photo_text.",
            metavar="COLUMN=WORDS",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        Option("--seed", help="Decides who is shown which pairs and comes to which arm; drawn if left out.", min=0),
    ] = None,
    answers: Annotated[
        Literal["four", "two"], Option("--answers", help="All four answers, or only same and no_constraint.")
    ] = "four",
    languages: Annotated[
        str, _text_option("--languages", help="Languages to choose from, the study's own first: en,de.")
    ] = "en",
    title: Annotated[str | None, _text_option("--title", help="Name of the study.")] = None,
    treated_well: Annotated[
        str | None, _text_option("--treated-well", help="The favourable outcome in words: being released.")
    ] = None,
    question: Annotated[str | None, _text_option("--question", help="What is asked about every pair.")] = None,
    contact: Annotated[str, _text_option("--contact", help="Whom participants may write to.")] = "",
    numeric: NumericColumns = "",
    na_values: NaValues = "",
    as_json: Json = False,
) -> None:
    r"""Make a study from a table of people: settings, consent and task texts to edit.

    Example:

    fairwise study new my-study --people people.csv --id id \
      --outcome two_year_recid --show sex,age,priors_count \
      --treated-well "being released until the trial"
    """
    from fairwise.study.new_study import new_study
    from fairwise.tables.files import PeopleFile

    kinds: dict[str, object] = {} if design is None else dict(parse_option("--design", mixture, design))
    if strata is not None:
        if not kinds.get("stratified"):
            raise InputError('--strata: there are no stratified pairs; add them to --design, such as "10 stratified"')
        kinds["strata"] = names(strata)
    columns = names(show)
    shown, _, words = (pictures or "").partition("=")
    if pictures is not None and (shown not in columns or not words):
        raise InputError(f"--pictures {pictures}: needed: a column of --show and the column with its words, photo=text")
    needed = [*columns, *(name for name in (outcome, words) if name)]
    file = PeopleFile.read(
        people,
        id_column,
        *(name for name in needed if name != id_column),
        numeric=names(numeric),
        na_values=names(na_values),
    )
    note_doubts(file, file.features(only=[name for name in columns if name != id_column]))
    texts = {"title": title, "treated_well": treated_well, "question": question, "pairs": pairs}
    codes = names(languages)
    choices: dict[str, object] = {"answers": answers, "contact": contact, "design": kinds, "languages": codes}
    choices |= {"pictures": {shown: words}} if words else {}
    choices |= {} if seed is None else {"seed": seed}
    about = decided(outcome_kind, label_values, amount_range, amount_unit, amount_better)
    choices |= about
    choices |= {name: value for name, value in texts.items() if value is not None}
    made = new_study(
        folder, file, columns, choices, outcome=outcome, scores=_read_scores(scores, favorable_label, two=not about)
    )
    if as_json:
        print_json(_account(made, outcome))
    else:
        _print_summary(made)
    if treated_well is None and not about:
        note(f'What "treated well" means is written in general words; say what it is here in {folder / "study.toml"}.')


def _read_scores(path: Path | None, favorable_label: str | None, *, two: bool) -> "GivenScores | None":
    """Probabilities of label 1 where there are two labels; otherwise how well each person is treated."""
    if two and (path is None) != (favorable_label is None):
        raise typer.BadParameter(
            "--scores (probabilities of label 1) and --favorable-label (which label is good) need each other."
        )
    if not two and favorable_label is not None:
        raise InputError(
            "--favorable-label: is for two labels; here scores say how well each person is treated, 0 to 1"
        )
    if path is None:
        return None
    from fairwise.study.folder import SCORE, GivenScores
    from fairwise.tables.files import PeopleFile

    return GivenScores(
        PeopleFile.read(path, "id", SCORE), SCORE, None if favorable_label is None else int(favorable_label)
    )


def _account(made: "StudyFolder", outcome: str | None) -> dict[str, object]:
    return {
        "folder": str(made.path),
        "people": len(made.cards),
        "columns": [column.name for column in made.settings.columns],
        "pairs": made.settings.pairs,
        "design": made.settings.mixture,
        "differing_pairs": len(made.pairs),
        "outcome": outcome,
        "outcome_kind": made.settings.outcome_kind,
        "to_fill_in": made.unfinished,
        "fingerprint": made.fingerprint,
    }


def _print_summary(made: "StudyFolder") -> None:
    columns, people = ", ".join(column.label for column in made.settings.columns), len(made.cards)
    pairs = f"{made.settings.pairs} pair{'s' * (made.settings.pairs > 1)}"
    echo(f"Made {made.path}: {pairs} for each participant, from {people} people ({columns}).")
    if made.settings.tiers:
        echo(f"What is decided, from best to worst: {'; '.join(' / '.join(tier) for tier in made.settings.tiers)}.")
    kinds = made.settings.mixture
    if len(kinds) > 1:
        echo(f"The pairs are {', '.join(f'{number} {kind}' for kind, number in kinds.items())}.")
    echo("")
    echo("Next:")
    echo(f"1. Fill in what is marked [FILL IN: …] in {made.path / 'consent.md'} and {made.path / 'task.md'}.")
    echo(f"2. Look through the settings in {made.path / 'study.toml'}: labels, units, the words of the answers.")
    echo(f"3. fairwise serve {made.path}")
    for code in made.settings.languages[1:]:
        echo(f"The same in another language: study.{code}.toml, consent.{code}.md and task.{code}.md, to be completed.")


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
    from fairwise.archive.restore import reopen_bundle
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


def forget(
    folder: StudyArgument,
    database: DatabaseOption = None,
    clock_is_right: Annotated[
        bool, Option("--clock-is-right", help="Believe the clock, though it is weeks off from when it was last seen.")
    ] = False,
    panel_id: Annotated[
        str | None,
        Option("--panel-id", help="Delete the experiment group kept for this ID of the panel.", metavar="ID"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Delete texts, names and panel's ids that are older than the study's retention_days, as its server does by itself.

    Files of the database that still hold what was deleted, now or earlier, are cleaned. If the clock is more than 14
    days ahead of when server or command last looked at it, nothing is deleted until you say that it is right, which
    is written down among what operators did. With --panel-id, for a request of somebody who has withdrawn already, the
    experiment group that is kept for their ID is deleted at once.

    Example:

    fairwise study forget my-study
    """
    from fairwise.store.erasure import forget_in_time, in_words
    from fairwise.store.housekeeping import tidy_fits
    from fairwise.store.places import database_of
    from fairwise.store.recruitment import forget_arm
    from fairwise.study.folder import StudyFolder
    from fairwise.study.recruitment import Keys

    opened, where = StudyFolder.open(folder), database_of(folder, database)
    settings, days, arm_forgotten = opened.settings, opened.settings.retention_days, False
    with study_store(folder, database, none_means="nobody has answered yet") as store:
        tidy_fits(folder, store)
        if panel_id is not None:
            mark = Keys(opened.secret).group_mark(settings.recruitment.panel, panel_id)
            arm_forgotten = store.change_now(partial(forget_arm, mark=mark))
        done = forget_in_time(settings, store, where, clock_is_right=clock_is_right)
    if not days and done.cleaned is None and panel_id is None:
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
        numbers = {"rows": done.rows, "cleaned": done.cleaned, "days_off": done.days_off}
        numbers |= {"arm_forgotten": arm_forgotten}
        print_json({"study": str(folder), "retention_days": days, **numbers})
        return
    if panel_id is not None:
        echo("The group kept for this ID is deleted." if arm_forgotten else "No group is kept for this ID.")
    if days and done.days_off <= 0:
        echo(f"Older than {days} days: texts or names in {done.rows} rows were deleted.")
    if done.cleaned:
        echo("What was deleted is out of the files of the database as well.")


for command in (new, links, room, ids, participants, forget, verify, reopen):
    study.command()(debuggable(command))
study.add_typer(operator)
