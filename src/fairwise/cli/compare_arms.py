"""``fairwise compare-arms``: what people changed in a second round, and what their arm has to do with it."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from fairwise.cli.options import DatabaseOption, JudgmentsOptions, eta_option, fraction, gamma_option
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
from fairwise.cli.training import missing_favorable_label
from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.auditing import Effects, LearnedEffects
    from fairwise.judgments import Judgments

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
_PANEL = "What is learned"
_learn = partial(Option, rich_help_panel=_PANEL)


@dataclass(frozen=True)
class FileOptions:
    """Options for files of judgments, where there is no study."""

    judgments: Annotated[Path | None, _file(help="What people said in both rounds.")] = None
    judges: Annotated[Path | None, _file(help="The arm drawn for each: columns judge, arm, block, room.")] = None
    reasons: Annotated[Path | None, _file(help="Reasons shown: columns a, b and answer.")] = None
    people: Annotated[Path | None, _file(help="Table of people, to learn from.")] = None
    id: Annotated[str, Option(help="Its column with ids.", rich_help_panel="Files instead of a study")] = "id"
    outcome: Annotated[
        str | None, Option(help="Its column to predict.", rich_help_panel="Files instead of a study")
    ] = None


@dataclass(frozen=True)
class ModelOptions:
    """Options of the models to learn before and after."""

    learn: Annotated[bool, _learn("--learn", help="Also compare what is learned; needs outcomes.")] = False
    gamma: Annotated[float, gamma_option(_PANEL)] = 0.1
    eta: Annotated[float | None, eta_option(_PANEL)] = 0
    favorable_label: Annotated[
        str | None, _learn(help="The good outcome, as written in the file.", metavar="LABEL")
    ] = None
    groups: Annotated[str | None, _learn(help="Column whose groups' rates to compare.", metavar="COLUMN")] = None
    resamples: Annotated[int, _learn(help="Panels drawn for intervals.", min=10)] = 100
    learned_draws: Annotated[int, _learn(help="Assignments drawn for its p-values.", min=19)] = 199


@dataclass(frozen=True, eq=False)
class _ArmData:
    """Data to compare; people and outcomes only where models are to be learned."""

    judgments: "Judgments"
    reasons: "pd.DataFrame | None"
    control: str | None
    people: "pd.DataFrame | None" = None
    outcome: "pd.Series[Any] | None" = None
    group: "pd.Series[Any] | None" = None
    notes: tuple[str, ...] = ()


def compare_arms(
    files: FileOptions,
    model: ModelOptions,
    folder: Annotated[Path | None, Argument(metavar="[DIR]", help="The study.")] = None,
    database: DatabaseOption = None,
    control: Annotated[
        str | None, Option(help="The arm to compare with; else the one that is shown no reasons.")
    ] = None,
    unit: Annotated[
        Literal["judge", "room"] | None,
        Option(help="What arms were drawn for; left out: what --judges says of rooms tells it."),
    ] = None,
    confidence: Annotated[float, Option(help="Of intervals.", parser=fraction, metavar="NUMBER")] = 0.95,
    draws: Annotated[int, Option(help="Other assignments to arms that are drawn.", min=99)] = 1999,
    seed: Annotated[int, Option(help="Of what is drawn.", min=0)] = 0,
    out: Annotated[Path | None, Option(help="Where to write the tests: .csv or .parquet.")] = None,
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
    data = _of_files(files, model) if folder is None else _of_study(folder, database, model)
    settings: dict[str, Any] = {
        "control": control or data.control,
        "unit": unit,
        "confidence": confidence,
        "seed": seed,
    }
    result = effects(data.judgments, reasons=data.reasons, n_draws=draws, **settings)
    result = replace(result, notes=(*result.notes, *data.notes))
    if model.learn:
        result = replace(result, learned=_learned(data, model, settings))
    if out is not None:
        write_table(result.to_frame(), out)
    if as_json:
        print_json(_as_json(result, out))
    else:
        _show(result, out)


def _of_files(files: FileOptions, model: ModelOptions) -> _ArmData:
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
    return _ArmData(judgments, reasons, None, people, outcome, group)


def _of_study(folder: Path, database: str | None, model: ModelOptions) -> _ArmData:
    from fairwise.auditing.effects import IN_ROOMS, ROOM
    from fairwise.judgments import Judgments
    from fairwise.store.export import judges, judgments, shown_reasons, silent_arm
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
        attributes = judges(connection, study.settings).set_index("judge")
        reasons, closed = shown_reasons(connection), standing(connection).state == StudyState.CLOSED
    people = with_dates(study.people())
    # A study draws arms for participants; rooms are where some of them met.
    attributes = attributes.drop(columns=ROOM).reindex(table.judges)
    answers = Judgments(table.frame, people=people if model.learn else None, judge_attributes=attributes)
    outcome = study.outcome() if model.learn else None
    if model.groups is not None and model.groups not in people:
        raise InputError(
            f"--groups: {folder} has no column {model.groups!r}; there are {', '.join(map(str, people.columns))}"
        )
    group = None if model.groups is None else people[model.groups]
    notes = [
        text for text, holds in ((_STILL_OPEN, not closed), (IN_ROOMS, study.settings.deliberation.rooms)) if holds
    ]
    return _ArmData(answers, reasons, silent_arm(study.settings.arms), people, outcome, group, tuple(notes))


def _learned(data: _ArmData, model: ModelOptions, settings: dict[str, Any]) -> "LearnedEffects":
    from fairwise.auditing import learned_effects
    from fairwise.auditing.plan import PLANNING_MODEL
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.tables.files import label_written
    from fairwise.tables.rows import Source

    assert data.people is not None
    assert data.outcome is not None
    label = None
    if model.favorable_label is not None:
        label = label_written(model.favorable_label, data.outcome, Source("the outcomes"), str(data.outcome.name))
    elif data.judgments.has_ordered:
        raise missing_favorable_label(data.outcome)
    learner = PairwiseFairClassifier(**PLANNING_MODEL, gamma=model.gamma, eta=model.eta, favorable_label=label)
    with progress_bar("Models") as progress:
        return learned_effects(
            learner,
            data.people,
            data.outcome,
            data.judgments,
            groups=data.group,
            progress=progress,
            **settings,
            n_resamples=model.resamples,
            n_draws=model.learned_draws,
        )


def _show(result: "Effects", out: Path | None) -> None:
    for sentence in result.notes:
        echo(sentence)
    heading("What people changed")
    print_frame(result.arms.reset_index(), _ARMS)
    if result.learned is not None:
        heading(f"What is learned, gamma {result.learned.gamma:g}, eta {result.learned.eta}")
        print_frame(result.learned.arms.reset_index(), _LEARNED)
    tests = result.to_frame()
    if len(tests):
        heading(f"Against {result.control}")
        for number, statement in enumerate(tests["statement"].unique(), start=1):
            echo(f"{number}. {statement}")
        echo()
        names = tests["name"].str.replace("_", " ") + tests["check"].map({True: " (check)", False: ""})
        print_frame(tests.assign(name=names), _TESTS)
        how = "all ways to reassign arms" if result.exact else f"{result.n_draws} random ways to reassign arms"
        echo(
            f"\np: how often chance alone makes such a difference, over {how}; (Holm): for all about answers, or "
            "about what is learned, at once. "
            f"low, high: {result.confidence:.0%} interval. A check is no effect: it should show none."
        )
    if out is not None:
        echo(f"\n{len(tests)} lines written to {out}.")


def _as_json(result: "Effects", out: Path | None) -> dict[str, object]:
    learned = result.learned
    return {
        "control": result.control,
        "hypotheses": result.hypotheses,
        "arms": result.arms.reset_index(),
        "tests": result.to_frame(),
        "notes": list(result.notes),
        "confidence": result.confidence,
        "assignments": "all" if result.exact else result.n_draws,
        "permuted": None if result.permuted is None else asdict(result.permuted),
        "learned": None
        if learned is None
        else {"gamma": learned.gamma, "eta": learned.eta, "arms": learned.arms.reset_index(), "rates": learned.rates},
        "out": out,
    }
