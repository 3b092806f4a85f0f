"""``fairwise report``: one HTML file that says what was asked, what was learnt and what it cost."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairwise.cli.options import JudgmentsOptions, names
from fairwise.cli.terminal import (
    Json,
    check_folder,
    check_target,
    echo,
    note,
    print_import,
    print_json,
    spinner,
    write_output,
)
from fairwise.cli.training import LearningOptions, PeopleOptions, TrainingData
from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.auditing import Effects
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.results.certificate import HeldOutErrors

_PAGES = (".html", ".htm")
_second = partial(Option, rich_help_panel="A second round")
_CURVE = ("judge", "gamma", "eta", "error")


@dataclass(frozen=True)
class SecondRoundOptions:
    """Options for judges who were asked again."""

    second_round: Annotated[
        bool, _second("--second-round", help="Also tell what people changed after they talked, by arm of --judges.")
    ] = False
    control: Annotated[str | None, _second(help="The arm to compare with, if not called control.")] = None
    reasons: Annotated[Path | None, _second(help="Reasons shown: columns a, b and answer.", metavar="FILE")] = None

    def effects(self, task: TrainingData) -> "Effects | None":
        """Return what people changed, if that is asked for."""
        if not self.second_round:
            for name in ("control", "reasons"):
                if getattr(self, name) is not None:
                    raise InputError(f"--{name}: is about a second round; give --second-round, too")
            return None
        from fairwise.auditing import effects
        from fairwise.tables.files import read_table

        reasons = None if self.reasons is None else read_table(self.reasons)[0]
        return effects(task.judgments, control=self.control, reasons=reasons)


def report(
    people: PeopleOptions,
    judgments: JudgmentsOptions,
    learning: LearningOptions,
    second_round: SecondRoundOptions,
    out: Annotated[Path, Option(help="Where to write the report: report.html.")],
    model: Annotated[Path | None, Option(help="A model made before by fit, instead of fitting now.")] = None,
    prices: Annotated[Path | None, Option(help="What its judgments cost, made with it by fit: prices.parquet.")] = None,
    frontier: Annotated[Path | None, Option(help="Curves made before by frontier: frontier.csv.")] = None,
    figures: Annotated[Path | None, Option(help="Folder for the figures and their numbers as files, too.")] = None,
    held_out: Annotated[
        bool, Option("--held-out/--no-held-out", help="Measure on people left out, and compare with simpler models.")
    ] = True,
    groups: Annotated[
        str,
        Option(
            help="Columns whose groups to compare: race,sex. Default: those that look protected.",
            metavar="COLUMNS|none",
        ),
    ] = "",
    question: Annotated[
        str | None, Option(help="What the judges were asked: the text, or @file.", metavar="TEXT|@FILE")
    ] = None,
    design: Annotated[
        str | None, Option(help="How the pairs were chosen: the text, or @file.", metavar="TEXT|@FILE")
    ] = None,
    unit: Annotated[str, Option(help="With --outcome-kind amount: what it is counted in, such as €.")] = "",
    title: Annotated[str | None, Option(help="Of the report.")] = None,
    simulated: Annotated[bool, Option("--simulated", help="Say that no real people were asked.")] = False,
    language: Annotated[str, Option(help="Of the report: en or de.")] = "en",
    case_details: Annotated[
        bool, Option("--case-details", help="Name ids of people and participants, and show columns of free text.")
    ] = False,
    as_json: Json = False,
) -> None:
    r"""Write one self-contained HTML file with figures: what was asked, what was learnt, what it cost.

    Example:

    fairwise report --people people.csv --id id --outcome reoffended \
      --judgments judgments.csv --favorable-label 0 --groups race,sex \
      --question "Should these two be treated alike?" --out report.html
    """
    check_target(out, _PAGES, [people.people, judgments.judgments, model, prices, frontier])
    if prices is not None and model is None:
        raise InputError("--prices: are those of --model; give both, or neither to fit now")
    if figures is not None:
        check_folder(figures if figures.exists() else figures.parent)
    question_text, design_text = _own_words(question), _own_words(design)
    curves = None if frontier is None else _curves(frontier)
    task = TrainingData.read(people, judgments, learning, to_fit=model is None)
    print_import(task.account, as_json=as_json)
    from fairwise.reporting import findings, write_report
    from fairwise.reporting.words import languages

    if language not in languages():
        raise InputError(f"--language: no report in {language!r}; there are {', '.join(languages())}")
    changes = second_round.effects(task)  # refused before the fit, too
    compared = () if groups == "none" else names(groups)
    task.columns(compared)  # refused before the fit if they are not there
    kept = None if model is None else _kept_model(model, prices, task)
    if curves is not None:  # refused before the fit if they are of something else
        _check_origin(curves, kept or task.model(), task, str(frontier))
    if kept is None:
        from fairwise.learning.solvers.progress import raise_interrupts

        with spinner(f"Fitting {len(task.features)} people"), raise_interrupts():
            fitted = task.fitted()
    else:
        fitted = kept
    used = [str(name) for name in fitted.feature_names_in_]
    table = task.columns(tuple(dict.fromkeys((*used, *compared))))
    if changes is not None and len(changes.judges):
        changes = _with_learned(changes, fitted, task, used, compared)
    errors = _held_out(fitted, table[used], task) if held_out else None
    with spinner("Writing the report"):
        content = findings(
            fitted,
            table,
            task.judgments,
            outcome=task.outcome,
            frontier=curves,
            groups=compared if groups else None,
            protected=[] if task.sensitive is None else [str(name) for name in task.sensitive.columns],
            question=question_text,
            design=design_text,
            title=title,
            unit=unit,
            simulated=simulated,
            held_out=errors,
            effects=changes,
        )
        format_options: dict[str, Any] = {"figures": figures, "language": language, "case_details": case_details}
        write_output(out, lambda draft: write_report(content, draft, **format_options))
    if as_json:
        imported = None if task.account is None else task.account.as_json()
        print_json({"report": out, "figures": figures, "imported": imported})
        return
    echo(f"Report written to {out}" + (f", figures to {figures}" if figures else "") + ".")


def _with_learned(
    changes: "Effects", model: "PairwiseFairClassifier", task: TrainingData, used: list[str], compared: tuple[str, ...]
) -> "Effects":
    """Add the effect on the model; the gap is between groups of the one column to compare."""
    from fairwise.jobs.work import with_learned

    group = task.columns(compared)[compared[0]] if len(compared) == 1 else None
    with spinner("Learning from the answers before and after"):
        return with_learned(changes, model, task.columns(tuple(used)), task.outcome, task.judgments, group)


def _held_out(model: "PairwiseFairClassifier", people: "pd.DataFrame", task: TrainingData) -> "HeldOutErrors | None":
    """Return errors of refits on people left out; None, with a note, where they cannot be measured."""
    from fairwise.auditing import held_out_errors
    from fairwise.learning.solvers.progress import raise_interrupts

    settings: dict[str, Any] = {"deterministic": hasattr(model, "derandomization_")}
    if task.sensitive is not None:
        settings["fit_params"] = {"sensitive_features": task.sensitive}
    try:
        with spinner("Measuring on people left out"), raise_interrupts():
            return held_out_errors(model, people, task.outcome, task.judgments, **settings)
    except InputError as error:
        note(f"Nothing is measured on people left out: {error}")
        return None


def _own_words(text: str | None) -> str | None:
    """Return the text, or what the file after @ says."""
    if text is None or not text.startswith("@"):
        return text
    path = Path(text[1:])
    try:
        return path.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InputError(f"{path}: not text in UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _curves(path: Path) -> "pd.DataFrame":
    import pandas as pd

    from fairwise.tables.files import column_of, read_table, typed

    frame, source = read_table(path)
    for name in _CURVE:
        column_of(frame, name, source)
    curves = frame.apply(typed)
    for name in ("gamma", "eta", "error"):
        cells = curves[name]
        curves[name] = pd.to_numeric(cells, errors="coerce").astype(float)
        is_wrong = curves[name].isna() & (cells.notna() | (name != "eta"))  # without a budget there is no eta
        source.refuse(is_wrong.to_numpy(dtype=bool), name, cells.where(cells.notna(), None), "is not a number")
    return curves


def _check_origin(curves: "pd.DataFrame", model: "PairwiseFairClassifier", task: TrainingData, source: str) -> None:
    """Refuse curves of other people, judgments or settings than the model's, and those that do not say."""
    from fairwise.auditing.provenance import COLUMN, Provenance, refuse_other_origin

    if COLUMN not in curves or curves[COLUMN].isna().any():
        raise InputError(
            f"{source}: does not say in a column {COLUMN} which people, judgments and settings it was made from,"
            " so it may be about others. Trace it again with fairwise frontier"
        )
    columns = getattr(model, "feature_names_in_", task.features.columns)
    people = task.columns(tuple(map(str, columns)))
    origin = Provenance.of(people, task.outcome, task.judgments, model.get_params(deep=False))
    refuse_other_origin(curves, origin, source)


def _kept_model(path: Path, prices: Path | None, task: TrainingData) -> "PairwiseFairClassifier":
    """Return the model in the file, of which every column must be there."""
    kept: PairwiseFairClassifier = type(task.model()).load(path, prices=prices)
    try:
        has_prices = len(kept.prices_.columns) > 0
    except InputError:
        has_prices = False
    if not has_prices:
        raise InputError(
            f"{path}: a report needs what each judgment costs, which no model file holds. Make them with fairwise fit "
            "--out … --prices prices.parquet and give both here, or leave out --model to fit now"
        )
    task.columns(tuple(map(str, kept.feature_names_in_)))
    return kept
