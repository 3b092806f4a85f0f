"""``fairwise compare-arms``: what people changed in a second round, and what their arm has to do with it."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from fairwise.cli.options import with_option_groups
from fairwise.cli.options.judgments import JudgmentsOptions
from fairwise.cli.options.learning import BOUND_HELP, EXCESS_HELP
from fairwise.cli.options.parsing import BudgetOption, budget, fraction
from fairwise.cli.options.study import DatabaseOption
from fairwise.cli.terminal import (
    TABLES,
    Json,
    check_target,
    echo,
    heading,
    print_frame,
    print_json,
    progress_bar,
    write_table,
)
from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.auditing import Effects, LearnedEffects
    from fairwise.judgments import Judgments

_NO_EXCESS = BudgetOption(0.0)
_ARMS = {
    "arm": "arm",
    "judges": "people",
    "returned": "came back",
    "answers": "answers",
    "changed": "changed",
    "towards_majority": "to majority",
    "away": "away from it",
    "towards_reasons": "to reasons",
    "alpha_before": "alpha before",
    "alpha_after": "alpha after",
}
_LEARNED = {
    "arm": "arm",
    "error_before": "error before",
    "error_after": "error after",
    "price_before": "price before",
    "price_after": "price after",
    "group_gap_before": "gap before",
    "group_gap_after": "gap after",
    "treated_differently": "treated differently",
}
_TESTS = {
    "arm": "arm",
    "name": "hypothesis",
    "in_arm": "in arm",
    "in_control": "in control",
    "effect": "effect",
    "low": "low",
    "high": "high",
    "p_value": "p",
    "p_adjusted": "p (Holm)",
    "note": "",
}
_STILL_OPEN = (
    "The study is not closed. Whoever ends it when these numbers suit them has no valid p-values or intervals: decide "
    "before when it ends."
)
_file = partial(Option, rich_help_panel="Files instead of a study", metavar="FILE")
_learn = partial(Option, rich_help_panel="What is learned")


@dataclass(frozen=True)
class FileOptions:
    """What people said in files, where there is no study."""

    judgments: Annotated[Path | None, _file("--judgments", help="What people said in both rounds.")] = None
    judges: Annotated[
        Path | None, _file("--judges", help="The arm drawn for each: columns judge, arm, block, room.")
    ] = None
    reasons: Annotated[Path | None, _file("--reasons", help="Reasons shown: columns a, b and answer.")] = None
    people: Annotated[Path | None, _file("--people", help="Table of people, to learn from.")] = None
    id: Annotated[str, Option("--id", help="Its column with ids.", rich_help_panel="Files instead of a study")] = "id"
    outcome: Annotated[
        str | None, Option("--outcome", help="Its column to predict.", rich_help_panel="Files instead of a study")
    ] = None


@dataclass(frozen=True)
class ModelOptions:
    """What to learn before and after."""

    learn: Annotated[bool, _learn("--learn", help="Also compare what is learned; needs outcomes.")] = False
    gamma: Annotated[float, _learn("--gamma", help=BOUND_HELP, parser=fraction, metavar="NUMBER")] = 0.1
    eta: Annotated[BudgetOption, _learn("--eta", help=EXCESS_HELP, parser=budget, metavar="NUMBER|none")] = _NO_EXCESS
    favorable_label: Annotated[
        str | None, _learn("--favorable-label", help="The good outcome, as written in the file.", metavar="LABEL")
    ] = None
    groups: Annotated[
        str | None, _learn("--groups", help="Column whose groups' rates to compare.", metavar="COLUMN")
    ] = None
    resamples: Annotated[int, _learn("--resamples", help="Panels drawn for intervals.", min=10)] = 100
    learned_draws: Annotated[int, _learn("--learned-draws", help="Assignments drawn for its p-values.", min=19)] = 199


@dataclass(frozen=True, eq=False)
class _Given:
    """What is compared; people and outcomes only where something is to be learned."""

    judgments: "Judgments"
    reasons: "pd.DataFrame | None"
    control: str | None
    people: "pd.DataFrame | None" = None
    outcome: "pd.Series[Any] | None" = None
    group: "pd.Series[Any] | None" = None
    notes: tuple[str, ...] = ()


@with_option_groups
def compare_arms(
    files: FileOptions,
    model: ModelOptions,
    folder: Annotated[Path | None, Argument(metavar="[DIR]", help="The study.")] = None,
    database: DatabaseOption = None,
    control: Annotated[
        str | None, Option("--control", help="The arm to compare with; else the one that is shown no reasons.")
    ] = None,
    unit: Annotated[
        Literal["judge", "room"] | None,
        Option("--unit", help="What arms were drawn for; left out: what --judges says of rooms tells it."),
    ] = None,
    confidence: Annotated[
        float, Option("--confidence", help="Of intervals.", parser=fraction, metavar="NUMBER")
    ] = 0.95,
    draws: Annotated[int, Option("--draws", help="Other assignments to arms that are drawn.", min=99)] = 1999,
    seed: Annotated[int, Option("--seed", help="Of what is drawn.", min=0)] = 0,
    out: Annotated[Path | None, Option("--out", help="Where to write the tests: .csv or .parquet.")] = None,
    as_json: Json = False,
) -> None:
    """Tell what people changed in a second round, by arm, and whether that is more than chance.

    Example:

    fairwise compare-arms my-study --learn --favorable-label 0

    Without a study:

    fairwise compare-arms --judgments judgments.csv --judges judges.csv
    """
    from fairwise.auditing import effects

    if (folder is None) == (files.judgments is None):
        raise typer.BadParameter("Give the folder of a study, or files: --judgments and --judges.")
    if out is not None:
        check_target(out, TABLES, [files.judgments, files.judges, files.reasons, files.people])
    given = _of_files(files, model) if folder is None else _of_study(folder, database, model)
    asked: dict[str, Any] = {
        "control": control or given.control,
        "unit": unit,
        "confidence": confidence,
        "seed": seed,
    }
    found = effects(given.judgments, reasons=given.reasons, n_draws=draws, **asked)
    found = replace(found, notes=(*found.notes, *given.notes))
    if model.learn:
        found = replace(found, learned=_learned(given, model, asked))
    if out is not None:
        write_table(found.to_frame(), out)
    if as_json:
        print_json(_as_json(found, out))
    else:
        _show(found, out)


def _of_files(files: FileOptions, model: ModelOptions) -> _Given:
    from fairwise.tables.files import PeopleFile, read_table

    assert files.judgments is not None
    table = None if files.people is None else PeopleFile.read(files.people, files.id)
    outcome = None if table is None or files.outcome is None else table.outcome(files.outcome)
    if model.learn and outcome is None:
        raise InputError("--learn: what is learned needs people and outcomes; give --people, --id and --outcome")
    people = None if table is None else table.features(outcome=files.outcome)
    judgments, _ = JudgmentsOptions(files.judgments, judges=files.judges).read(people)
    reasons = None if files.reasons is None else read_table(files.reasons)[0]
    group = None if table is None or model.groups is None else table.column(model.groups)
    return _Given(judgments, reasons, None, people, outcome, group)


def _of_study(folder: Path, database: str | None, model: ModelOptions) -> _Given:
    from fairwise.auditing.effects import IN_ROOMS, ROOM
    from fairwise.judgments import Judgments
    from fairwise.store.arm_tables import shown_reasons, silent_arm
    from fairwise.store.export import judges, judgments
    from fairwise.store.places import database_of
    from fairwise.store.store import snapshot
    from fairwise.store.study_state import standing
    from fairwise.study.folder import OUTCOME, StudyFolder
    from fairwise.study.settings import StudyState
    from fairwise.tables.files import with_dates

    study = StudyFolder.open(folder)
    if model.learn and not (folder / OUTCOME).exists():
        raise InputError(f"--learn: {folder} was made without --outcome, so nothing can be learned")
    with snapshot(database_of(folder, database), folder) as connection:
        table = judgments(connection)
        known = judges(connection, study.settings).set_index("judge")
        reasons, closed = shown_reasons(connection), standing(connection).state == StudyState.CLOSED
    people = with_dates(study.people())
    # A study draws arms for participants; rooms are where some of them met.
    known = known.drop(columns=ROOM).reindex(table.judges)
    answers = Judgments(table.frame, people=people if model.learn else None, judge_attributes=known)
    outcome = study.outcome() if model.learn else None
    group = None if model.groups is None else _column(people, model.groups, folder)
    notes = [
        text for text, holds in ((_STILL_OPEN, not closed), (IN_ROOMS, study.settings.deliberation.rooms)) if holds
    ]
    return _Given(answers, reasons, silent_arm(study.settings.arms), people, outcome, group, tuple(notes))


def _column(people: "pd.DataFrame", name: str, folder: Path) -> "pd.Series[Any]":
    if name not in people:
        raise InputError(f"--groups: {folder} has no column {name!r}; there are {', '.join(map(str, people.columns))}")
    return people[name]


def _learned(given: _Given, model: ModelOptions, asked: dict[str, Any]) -> "LearnedEffects":
    from fairwise.auditing import learned_effects
    from fairwise.auditing.plan import PLANNING_MODEL
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.tables.files import label_written
    from fairwise.tables.rows import Source

    assert given.people is not None
    assert given.outcome is not None
    label = None
    if model.favorable_label is not None:
        label = label_written(model.favorable_label, given.outcome, Source("the outcomes"), str(given.outcome.name))
    elif given.judgments.has_ordered:
        labels = " or ".join(str(one) for one in sorted(given.outcome.unique().tolist(), key=str))
        raise InputError(
            "some answers are ordered ('A at least as well as B'), so it must be known which outcome is the good one: "
            f"give --favorable-label {labels}"
        )
    learner = PairwiseFairClassifier(**PLANNING_MODEL, gamma=model.gamma, eta=model.eta.limit, favorable_label=label)
    draws: dict[str, Any] = {"n_resamples": model.resamples, "n_draws": model.learned_draws}
    with progress_bar("Models") as progress:
        return learned_effects(
            learner,
            given.people,
            given.outcome,
            given.judgments,
            groups=given.group,
            progress=progress,
            **asked,
            **draws,
        )


def _show(found: "Effects", out: Path | None) -> None:
    for sentence in found.notes:
        echo(sentence)
    heading("What people changed")
    print_frame(found.arms.reset_index(), _ARMS)
    if found.learned is not None:
        heading(f"What is learned, gamma {found.learned.gamma:g}, eta {found.learned.eta}")
        print_frame(found.learned.arms.reset_index(), _LEARNED)
    tests = found.to_frame()
    if len(tests):
        heading(f"Against {found.control}")
        for number, statement in enumerate(tests["statement"].unique(), start=1):
            echo(f"{number}. {statement}")
        echo()
        print_frame(tests.assign(name=[_name(row) for row in tests.to_dict("records")]), _TESTS)
        how = "all ways to reassign arms" if found.exact else f"{found.n_draws} random ways to reassign arms"
        echo(
            f"\np: how often chance alone makes such a difference, over {how}; (Holm): for all about answers, or "
            "about what is learned, at once. "
            f"low, high: {found.confidence:.0%} interval. A check is no effect: it should show none."
        )
    if out is not None:
        echo(f"\n{len(tests)} lines written to {out}.")


def _name(test: dict[Any, Any]) -> str:
    return f"{test['name'].replace('_', ' ')}{' (check)' if test['check'] else ''}"


def _as_json(found: "Effects", out: Path | None) -> dict[str, object]:
    learned = found.learned
    return {
        "control": found.control,
        "hypotheses": found.hypotheses,
        "arms": found.arms.reset_index(),
        "tests": found.to_frame(),
        "notes": list(found.notes),
        "confidence": found.confidence,
        "assignments": "all" if found.exact else found.n_draws,
        "permuted": None if found.permuted is None else asdict(found.permuted),
        "learned": None
        if learned is None
        else {
            "gamma": learned.gamma,
            "eta": learned.eta,
            "arms": learned.arms.reset_index(),
            "rates": learned.rates,
        },
        "out": out,
    }
