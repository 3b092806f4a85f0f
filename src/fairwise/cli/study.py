"""``fairwise study``: making a study, checking and reopening its archive, deleting what is kept for a time only."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from fairwise.cli.options import (
    DatabaseOption,
    IdColumn,
    NaValues,
    NumericColumns,
    PeoplePath,
    StudyArgument,
    mixture,
    names,
    parse_option,
    study_store,
)
from fairwise.cli.terminal import Json, echo, note, print_json
from fairwise.cli.training import OutcomeKind, note_doubts, read_decisions
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.study.folder import GivenScores, StudyFolder


_text_option = partial(Option, rich_help_panel="What participants read")


KindOption = Annotated[
    OutcomeKind | None,
    Option("--outcome-kind", help="What is decided; follows from --label-values and --amount-range if left out."),
]
LabelValues = Annotated[
    Path | None,
    Option(
        "--label-values",
        help="What may be decided, where it is more than two things: a CSV file with label, value (how good it is, "
        "0 to 1) and words (what participants read).",
        metavar="FILE",
    ),
]
AmountRange = Annotated[
    str | None,
    Option("--amount-range", help="An amount is decided, from the least to the largest: 0,20000.", metavar="FROM,TO"),
]
AmountUnit = Annotated[str, Option("--amount-unit", help="What participants read behind an amount: euros.")]
AmountBetter = Annotated[Literal["more", "less"], Option("--amount-better", help="What is better for the person.")]


def new(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder to make; it must not exist, or be empty.")],
    people: PeoplePath,
    id_column: IdColumn,
    show: Annotated[str, Option(help="Columns that participants see, in this order: sex,age.", metavar="COLUMNS")],
    outcome: Annotated[
        str | None, Option(help="Column to predict later; kept in a file of its own, never shown.")
    ] = None,
    outcome_kind: KindOption = None,
    label_values: LabelValues = None,
    amount_range: AmountRange = None,
    amount_unit: AmountUnit = "",
    amount_better: AmountBetter = "more",
    pairs: Annotated[
        int | None,
        Option(help="Pairs for each participant; 50, or the sum if the design names uniform ones.", min=1, max=1000),
    ] = None,
    design: Annotated[
        str | None, Option(help='Kinds of pairs: "28 uniform, 6 anchors, 5 repeats, 10 active".', metavar="KINDS")
    ] = None,
    strata: Annotated[
        str | None, Option(help="Columns by which stratified pairs are balanced: sex,race.", metavar="COLUMNS")
    ] = None,
    scores: Annotated[
        Path | None,
        Option(
            help="For active pairs: scores of a current model, with columns id and score (.csv or .parquet); pairs "
            "about which it would break the likely answer are then asked more often."
        ),
    ] = None,
    favorable_label: Annotated[
        Literal["0", "1"] | None, Option(help="Whether label 1 or 0 is good; needed with --scores, if there are two.")
    ] = None,
    pictures: Annotated[
        str | None,
        Option(
            help="A column of --show that names picture files in the folder images beside the people, and the column "
            "that says in words what each shows: photo=photo_text.",
            metavar="COLUMN=WORDS",
        ),
    ] = None,
    seed: Annotated[
        int | None, Option(help="Decides who is shown which pairs and comes to which arm; drawn if left out.", min=0)
    ] = None,
    answers: Annotated[
        Literal["four", "two"], Option(help="All four answers, or only same and no_constraint.")
    ] = "four",
    languages: Annotated[str, _text_option(help="Languages to choose from, the study's own first: en,de.")] = "en",
    title: Annotated[str | None, _text_option(help="Name of the study.")] = None,
    treated_well: Annotated[str | None, _text_option(help="The favourable outcome in words: being released.")] = None,
    question: Annotated[str | None, _text_option(help="What is asked about every pair.")] = None,
    contact: Annotated[str, _text_option(help="Whom participants may write to.")] = "",
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
    picture, _, words = (pictures or "").partition("=")
    if pictures is not None and (picture not in columns or not words):
        raise InputError(f"--pictures {pictures}: needed: a column of --show and the column with its words, photo=text")
    needed = [name for name in (*columns, outcome, words) if name and name != id_column]
    file = PeopleFile.read(people, id_column, *needed, numeric=names(numeric), na_values=names(na_values))
    note_doubts(file, file.features(only=[name for name in columns if name != id_column]))
    decisions = _decision_settings(outcome_kind, label_values, amount_range, amount_unit, amount_better)
    optional = {"seed": seed, "title": title, "treated_well": treated_well, "question": question, "pairs": pairs}
    choices = {
        "answers": answers,
        "contact": contact,
        "design": kinds,
        "languages": names(languages),
        **({"pictures": {picture: words}} if words else {}),
        **decisions,
        **{name: value for name, value in optional.items() if value is not None},
    }
    scores_file = _read_scores(scores, favorable_label, two=not decisions)
    study = new_study(folder, file, columns, choices, outcome=outcome, scores=scores_file)
    if as_json:
        print_json(_study_json(study, outcome))
    else:
        _print_summary(study)
    if treated_well is None and not decisions:
        note(f'What "treated well" means is written in general words; say what it is here in {folder / "study.toml"}.')


def _decision_settings(
    kind: OutcomeKind | None, label_values: Path | None, amount_range: str | None, unit: str, better: str
) -> dict[str, Any]:
    """Return the settings of a study that say what is decided; none for the usual two things."""
    options: dict[OutcomeKind, str] = {"tiers": "--label-values", "amount": "--amount-range"}
    values: dict[OutcomeKind, object] = {"tiers": label_values, "amount": amount_range}
    kinds = [name for name, value in values.items() if value is not None]
    if len(kinds) > 1:
        raise InputError("--label-values and --amount-range: what is decided is one of a few things, or an amount")
    if kind is not None and kind in options and kind not in kinds:
        raise InputError(f"--outcome-kind {kind}: needs {options[kind]}")
    if kind == "yes-no" and kinds:
        raise InputError(f"--outcome-kind yes-no: {options[kinds[0]]} is for other decisions; leave one of the two out")
    if (unit or better != "more") and amount_range is None:
        raise InputError("--amount-unit and --amount-better: are about amounts; give --amount-range, too")
    if label_values is not None:
        rows = read_decisions(label_values)
        return {"decisions": [{**row, "words": row["words"] or row["label"]} for row in rows]}
    if amount_range is not None:
        try:
            least, most = (float(end) for end in amount_range.split(","))
        except ValueError:
            raise InputError(
                f"--amount-range {amount_range}: needed: the least and the largest amount, such as 0,20000"
            ) from None
        return {"amount": {"unit": unit, "least": least, "most": most, "better": better}}
    return {}


def _read_scores(path: Path | None, favorable_label: str | None, *, two: bool) -> "GivenScores | None":
    """Read probabilities of label 1 where there are two labels; otherwise how well each person is treated."""
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


def _study_json(study: "StudyFolder", outcome: str | None) -> dict[str, object]:
    return {
        "folder": str(study.path),
        "people": len(study.cards),
        "columns": [column.name for column in study.settings.columns],
        "pairs": study.settings.pairs,
        "design": study.settings.mixture,
        "differing_pairs": len(study.pairs),
        "outcome": outcome,
        "outcome_kind": study.settings.outcome_kind,
        "to_fill_in": study.unfinished,
        "fingerprint": study.fingerprint,
    }


def _print_summary(study: "StudyFolder") -> None:
    columns, people = ", ".join(column.label for column in study.settings.columns), len(study.cards)
    pairs = f"{study.settings.pairs} pair{'s' * (study.settings.pairs > 1)}"
    echo(f"Made {study.path}: {pairs} for each participant, from {people} people ({columns}).")
    if study.settings.tiers:
        echo(f"What is decided, from best to worst: {'; '.join(' / '.join(tier) for tier in study.settings.tiers)}.")
    kinds = study.settings.mixture
    if len(kinds) > 1:
        echo(f"The pairs are {', '.join(f'{number} {kind}' for kind, number in kinds.items())}.")
    echo("")
    echo("Next:")
    echo(f"1. Fill in what is marked [FILL IN: …] in {study.path / 'consent.md'} and {study.path / 'task.md'}.")
    echo(f"2. Look through the settings in {study.path / 'study.toml'}: labels, units, the words of the answers.")
    echo(f"3. fairwise serve {study.path}")
    for code in study.settings.languages[1:]:
        echo(f"The same in another language: study.{code}.toml, consent.{code}.md and task.{code}.md, to be completed.")


def forget(
    folder: StudyArgument,
    database: DatabaseOption = None,
    clock_is_right: Annotated[
        bool, Option("--clock-is-right", help="Believe the clock, though it is weeks off from when it was last seen.")
    ] = False,
    panel_id: Annotated[
        str | None, Option(help="Delete the experiment group kept for this ID of the panel.", metavar="ID")
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

    study, address = StudyFolder.open(folder), database_of(folder, database)
    settings, days, is_arm_forgotten = study.settings, study.settings.retention_days, False
    with study_store(folder, database, none_means="nobody has answered yet") as store:
        tidy_fits(folder, store)
        if panel_id is not None:
            mark = Keys(study.secret).group_mark(settings.recruitment.panel, panel_id)
            is_arm_forgotten = store.change_now(partial(forget_arm, mark=mark))
        done = forget_in_time(settings, store, address, clock_is_right=clock_is_right)
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
        print_json({"study": folder, "retention_days": days, **numbers, "arm_forgotten": is_arm_forgotten})
        return
    if panel_id is not None:
        echo("The group kept for this ID is deleted." if is_arm_forgotten else "No group is kept for this ID.")
    if days and done.days_off <= 0:
        echo(f"Older than {days} days: texts or names in {done.rows} rows were deleted.")
    if done.cleaned:
        echo("What was deleted is out of the files of the database as well.")
