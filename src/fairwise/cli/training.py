"""Options of people and of the model to learn from them, and the data and settings that they stand for."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from fairwise.cli.options import (
    GroupRuleOption,
    IdColumn,
    JudgmentsOptions,
    NaValues,
    NumericColumns,
    PeoplePath,
    eta_option,
    fraction,
    gamma_option,
    group_rule,
    names,
    people_option,
    thresholds,
)
from fairwise.cli.terminal import note
from fairwise.errors import InputError
from fairwise.learning.settings import bounded_error, parity
from fairwise.loading import require

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client

    from fairwise.judgments import Judgments
    from fairwise.judgments.files import Account
    from fairwise.learning.large.table import LargeTable
    from fairwise.learning.solvers.progress import FitProgress
    from fairwise.tables.files import PeopleFile


Estimator = Literal["linear", "linear-regression", "tree"]
OutcomeKind = Literal["yes-no", "tiers", "amount"]
Solver = Literal["column-generation", "no-regret"]
Weighting = Literal["answers", "panel"]

_OF_KIND = ("outcome_kind", "outcome_range", "better")
_PANEL = "What is asked for"
_goal_option = partial(Option, rich_help_panel=_PANEL)
_model_option = partial(Option, rich_help_panel="The model and its search")
_LABEL = "The good outcome, as written in the file; needed once an answer is ordered."
_VALUES = "How good each outcome is, 0 to 1, where there are more than two: a CSV file with label and value."
_KIND = "What is decided: yes-no (two labels), tiers (several, with --label-values) or an amount."
_RANGE = "With --outcome-kind amount: the least and the largest that may be; those of the outcomes if left out."
_BETTER = "With --outcome-kind amount: what is better for a person; needed once an answer is ordered."
_RATES = (
    "Rates of groups may differ from everyone's by so much: fpr:0.02:race (dp, tpr, fpr, eo, error). Of amounts: the "
    "mean error of no group may be above so much, error:1500:race."
)
_COUNTED = "How mean excess is counted when judges saw different pairs."
Gamma = Annotated[float, gamma_option(_PANEL)]
WeightingOption = Annotated[Weighting, _goal_option("--weighting", help=_COUNTED)]


_OF_MORE = "; of more, say how good each is, --label-values, or that they are amounts, --outcome-kind amount"


@dataclass(frozen=True)
class PeopleOptions:
    """Options for the table of people to learn from."""

    people: PeoplePath
    id: IdColumn
    outcome: Annotated[str, people_option(help="Column to predict: two values, those of --label-values, or amounts.")]
    drop: Annotated[str, people_option(help="Columns not to learn from: race,sex.", metavar="COLUMNS")] = ""
    numeric: NumericColumns = ""
    na_values: NaValues = ""


def note_doubts(file: PeopleFile, features: pd.DataFrame) -> None:
    """Say which columns of text are nearly all numbers or dates, and what was made missing."""
    for line in (*file.notes, *file.warnings(features)):
        note(f"Warning: {line}")


@dataclass(frozen=True)
class LearningOptions:
    """Options of a fit, under the names of its settings."""

    gamma: Gamma = 0.1
    eta: Annotated[float | None, eta_option(_PANEL)] = 0
    favorable_label: Annotated[str | None, _goal_option(help=_LABEL, metavar="LABEL")] = None
    label_values: Annotated[Path | None, _goal_option(help=_VALUES, metavar="FILE")] = None
    outcome_kind: Annotated[OutcomeKind | None, _goal_option(help=_KIND)] = None
    outcome_range: Annotated[tuple[float, float] | None, _goal_option(help=_RANGE, metavar="LEAST MOST")] = None
    better: Annotated[Literal["more", "less"] | None, _goal_option(help=_BETTER)] = None
    judge_budgets: Annotated[
        float | None,
        _goal_option(
            "--judge-budget",
            help="How much mean excess any single judge may suffer.",
            parser=fraction,
            metavar="NUMBER",
        ),
    ] = None
    group_constraints: Annotated[
        list[GroupRuleOption] | None,
        _goal_option("--group-constraint", help=_RATES, parser=group_rule, metavar="RATE:BOUND:COLUMN"),
    ] = None
    weighting: WeightingOption = "answers"
    features: Annotated[str, _model_option(help="Use these columns only: age,priors.", metavar="COLUMNS")] = ""
    estimator: Annotated[Estimator, _model_option(help="What is mixed; trees are proven.")] = "linear"
    max_depth: Annotated[int, _model_option(help="Of trees.", min=1, max=4)] = 2
    max_thresholds: Annotated[
        Any,  # int, None or "auto"
        _model_option(
            help="Per column of a tree; auto: all, or as many as take seconds.",
            parser=thresholds,
            metavar="NUMBER|auto|all",
        ),
    ] = "auto"
    solver: Annotated[Solver, _model_option(help="no-regret is the paper's game.")] = "column-generation"
    n_rounds: Annotated[int, _model_option("--rounds", help="Of the no-regret solver.", min=1)] = 1000
    tol: Annotated[float, _model_option(help="Gap at which column generation stops.")] = 1e-4
    max_iter: Annotated[
        int | None, _model_option(help="Iterations of column generation; enough if left out.", min=1)
    ] = None
    time_limit: Annotated[
        float | None, _model_option(help="Seconds of the search; the best found by then is kept.")
    ] = None
    max_classifiers: Annotated[
        int | None, _model_option(help="Mix at most so many; as few as possible if left out.", min=1)
    ] = None
    random_state: Annotated[int, _model_option("--seed", help="Of draws and splits.", min=0, max=2**31 - 1)] = 0

    def __post_init__(self) -> None:
        """Refuse several divisions into groups at once, as one fit has one, and options that contradict each other."""
        self._check_kind()
        if len({rule.columns for rule in self.group_constraints or ()}) > 1:
            raise typer.BadParameter(
                "--group-constraint: all rules of one fit must name the same columns; "
                "for groups of several columns write fpr:0.02:race+sex."
            )
        for rule in self.group_constraints or ():
            if self.of_amounts and rule.moment != "error":
                raise typer.BadParameter(
                    f"--group-constraint: {rule.moment} is a rate of labels. Of amounts, the mean error of each group "
                    "is bounded, in their own unit: error:1500:race."
                )
            if not self.of_amounts and rule.bound > 1:
                raise typer.BadParameter(f"--group-constraint: {rule.bound:g} is not a number from 0 to 1.")

    @property
    def of_amounts(self) -> bool:
        """Whether amounts are learned, and not labels."""
        return self.outcome_kind == "amount"

    def _check_kind(self) -> None:
        labels = {"--favorable-label": self.favorable_label, "--label-values": self.label_values}
        amounts = {"--outcome-range": self.outcome_range, "--better": self.better}
        for name in (name for name, value in (labels if self.of_amounts else amounts).items() if value is not None):
            raise typer.BadParameter(
                f"{name} {'is for labels, not' if self.of_amounts else 'goes with'} --outcome-kind amount."
            )
        if self.outcome_kind == "tiers" and self.label_values is None:
            raise typer.BadParameter("--outcome-kind tiers needs --label-values, how good each outcome is.")
        if self.outcome_kind == "yes-no" and self.label_values is not None:
            raise typer.BadParameter("--label-values goes with --outcome-kind tiers; of two, give --favorable-label.")
        if not self.of_amounts:
            return
        if self.estimator == "linear" or self.solver != "column-generation":
            raise typer.BadParameter(
                "--outcome-kind amount needs --estimator tree (proven) or linear-regression, and no --solver."
            )

    def amount_settings(self, outcome: pd.Series[Any]) -> dict[str, Any]:
        """Return keywords for PairwiseFairRegressor."""
        least, most = self.outcome_range or (float(outcome.min()), float(outcome.max()))
        shared = ("estimator", "gamma", "max_depth", "judge_budgets", "weighting", "tol", "max_iter", "time_limit")
        more = ("eta", "max_thresholds", "max_classifiers", "random_state", "outcome_range")
        return {name: getattr(self, name) for name in (*shared, *more)} | {
            "features": names(self.features) or None,
            "larger_is_better": None if self.better is None else self.better == "more",
            "group_constraints": [bounded_error(rule.bound, least, most) for rule in self.group_constraints or ()]
            or None,
        }

    def settings(self, favorable_label: object, labels: Iterable[object] = ()) -> dict[str, Any]:
        """Return keywords for PairwiseFairClassifier, checked before any long work; labels as in the table."""
        from fairwise.learning.estimator import PairwiseFairClassifier
        from fairwise.learning.settings import FitSettings

        own = {name: value for name, value in vars(self).items() if name not in _OF_KIND}
        settings = own | {
            "features": names(self.features) or None,
            "favorable_label": favorable_label,
            "label_values": None if self.label_values is None else read_label_values(self.label_values, labels),
            "group_constraints": [parity(rule.moment, rule.bound) for rule in self.group_constraints or ()] or None,
        }
        FitSettings.of(PairwiseFairClassifier(**settings).get_params(deep=False))
        return settings


def read_decisions(path: Path) -> list[dict[str, Any]]:
    """Read a CSV file with the columns label, value and perhaps words (otherwise empty), a decision a line."""
    rows: list[dict[str, Any]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), 2):
                label, value = row.get("label"), row.get("value")
                if label is None or value is None:
                    raise InputError(f"{path}, line {number}: the columns are label and value, one label a line.")
                if any(label == other["label"] for other in rows):
                    raise InputError(f"{path}, line {number}: {label!r} is there twice; say once how good it is.")
                try:
                    rows.append({"label": label, "value": float(value), "words": row.get("words") or ""})
                except ValueError:
                    raise InputError(f"{path}, line {number}: value {value!r} is no number from 0 to 1.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--label-values {path}: cannot be read ({error}).") from None
    if not rows:
        raise InputError(f"{path}: no label is there; the columns are label and value, one label a line.")
    return rows


def read_label_values(path: Path, labels: Iterable[object]) -> dict[object, float]:
    """Read how good each label is from a CSV file with the columns label and value, read like a table's cells."""
    import pandas as pd

    from fairwise.tables.files import typed

    rows, outcomes = read_decisions(path), list(labels)
    file_labels = pd.Series([row["label"] for row in rows])
    if not any(isinstance(label, str) for label in outcomes):
        file_labels = typed(file_labels)
    if not file_labels.is_unique:
        repeated = rows[int(file_labels.duplicated().argmax())]["label"]
        raise InputError(f"{path}: the label {repeated} is there twice; say once how good it is.")
    unnamed = set(outcomes) - set(file_labels)
    if unnamed:
        raise InputError(
            f"{path}: does not say how good the outcome {min(unnamed, key=str)!r} is; its labels are "
            f"{', '.join(row['label'] for row in rows)}. Name every outcome as it is written in the table."
        )
    return dict(zip(file_labels.tolist(), (row["value"] for row in rows), strict=True))


DaskAddress = Annotated[
    str | None,
    Option("--dask", help="Scheduler of a dask cluster whose workers do the work: tls://host:8786.", metavar="ADDRESS"),
]
_PATIENCE = 10  # seconds


def warn_without_tls(address: str) -> None:
    """Say who else can use such a cluster, and read what is sent to it."""
    if not address.startswith("tls://"):
        note(
            f"--dask {address}: without TLS everyone who can reach that scheduler can run code on it, and read what is "
            "sent to it. docs/howto/dask.md says how to use tls://…"
        )


@contextmanager
def dask_client(address: str | None) -> Iterator[Client | None]:
    """Yield a client of the cluster, or None where no address is given."""
    if address is None:
        yield None
        return
    require("scale", "--dask")
    from distributed import Client

    warn_without_tls(address)
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        raise InputError(f"--dask {address}: no dask scheduler answers there ({error})") from None
    with client:
        if not client.nthreads():
            raise InputError(f"--dask {address}: the scheduler has no workers; start some with dask worker {address}")
        yield client


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Everything a fit needs, read and checked; outcomes are labelled as in the file."""

    file: PeopleFile
    features: pd.DataFrame
    outcome: pd.Series[Any]
    judgments: Judgments
    account: Account | None
    settings: dict[str, Any]
    sensitive: pd.DataFrame | None
    of_amounts: bool

    @classmethod
    def read(
        cls, people: PeopleOptions, judgments: JudgmentsOptions, learning: LearningOptions, *, to_fit: bool = True
    ) -> TrainingData:
        """Read both files and check every setting, before any long work; the outcome is never among the features."""
        from fairwise.tables.files import PeopleFile, label_written

        used, drop, name = names(learning.features), names(people.drop), people.outcome
        numeric, na_values = names(people.numeric), names(people.na_values)
        file = PeopleFile.read(people.people, people.id, name, *drop, *used, numeric=numeric, na_values=na_values)
        if learning.of_amounts:
            outcome = read_numbers(file, name, "is no amount; allowed: numbers").rename(name)
        else:
            outcome = file.outcome(name, several=learning.label_values is not None, of_more=_OF_MORE)
        unnamed = [column for column in file.table.columns if used and not column.strip()]  # row numbers, most often
        features = file.features(outcome=name, drop=(*drop, *unnamed))
        note_doubts(file, features)
        if learning.of_amounts:
            settings = learning.amount_settings(outcome)
        else:
            text = learning.favorable_label
            label = None if text is None else label_written(text, outcome, file.source, name)
            settings = learning.settings(label, outcome.unique().tolist())
        answers, account = judgments.read(features)
        if answers.has_ordered and learning.of_amounts and learning.better is None:
            raise InputError(BETTER_IS_NEEDED)
        unordered = learning.of_amounts or learning.favorable_label is not None or learning.label_values is not None
        if answers.has_ordered and to_fit and not unordered:
            raise missing_favorable_label(outcome)
        task = cls(file, features, outcome, answers, account, settings, None, learning.of_amounts)
        if not learning.group_constraints:
            return task
        groups = task.columns(learning.group_constraints[0].columns)
        for column, cells in groups.items():
            missing = cells.isna().to_numpy(dtype=bool)
            file.source.refuse(
                missing, str(column), cells.where(~missing, None), "where --group-constraint needs a group"
            )
        return replace(task, sensitive=groups)

    def columns(self, names: Sequence[str]) -> pd.DataFrame:
        """Return columns of the file, also of those that are not learnt from."""
        for name in names:
            self.file.column(name)
        return self.file.table[list(names)]

    def model(self) -> Any:
        """Return a model with these settings, not fitted yet: a classifier, or of amounts a regressor."""
        from fairwise.learning.estimator import PairwiseFairClassifier
        from fairwise.learning.regressor import PairwiseFairRegressor

        return (PairwiseFairRegressor if self.of_amounts else PairwiseFairClassifier)(**self.settings)

    def fitted(
        self,
        client: Client | None = None,
        callback: Callable[[FitProgress], object] | None = None,
        *,
        deterministic: bool = False,
    ) -> Any:
        """Return the model, fitted; by a dask cluster where there is a client of one; perhaps without chance."""
        more: dict[str, Any] = {} if self.of_amounts else {"client": client}
        model = self.model().fit(
            self.features,
            self.outcome,
            judgments=self.judgments,
            sensitive_features=self.sensitive,
            callback=callback,
            **more,
        )
        return model.derandomize() if deterministic else model


BETTER_IS_NEEDED = (
    "some answers are ordered ('A at least as well as B'), so it must be known whether a larger amount is "
    "better for a person: give --better more or --better less"
)


def missing_favorable_label(outcome: pd.Series[Any]) -> InputError:
    """Return the error for ordered answers without a favourable label."""
    labels = " or ".join(str(label) for label in sorted(outcome.unique().tolist(), key=str))
    return InputError(
        "some answers are ordered ('A at least as well as B'), so it must be known which outcome is the good "
        f"one: give --favorable-label {labels}"
    )


def read_numbers(
    file: PeopleFile, name: str, rule: str, low: float = -math.inf, high: float = math.inf
) -> pd.Series[float]:
    """Return a column of finite numbers within limits; anything else is refused with its line and the rule."""
    import numpy as np
    import pandas as pd

    cells = file.column(name)
    numbers = pd.to_numeric(cells, errors="coerce").astype(float)
    is_allowed = numbers.between(low, high) & np.isfinite(numbers)
    file.source.refuse(~is_allowed.to_numpy(dtype=bool), name, cells.where(cells.notna(), None), rule)
    return numbers


MANY_ROWS = 1_000_000
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def people_in_blocks(
    people: PeopleOptions, learning: LearningOptions, *, shared: bool, in_memory: bool = False
) -> LargeTable | None:
    """Return the people as a table read in blocks, if they are many or the work is shared, and the model allows it."""
    has_two_passes = learning.estimator == "linear-regression" and learning.solver == "no-regret"
    is_plain = not (learning.group_constraints or learning.label_values or learning.of_amounts)
    if in_memory or not has_two_passes or not is_plain or not _is_large(people.people, shared=shared):
        return None
    from fairwise.learning.large.table import LargeTable

    return LargeTable(
        people.people,
        outcome=people.outcome,
        id=people.id,
        drop=names(people.drop),
        numeric=names(people.numeric),
        na_values=names(people.na_values),
    )


def scores_in_blocks(path: Path, id_column: str, score_column: str, *, shared: bool) -> LargeTable | None:
    """Return scores as a table read in blocks, if they are many or the work is shared."""
    if not _is_large(path, shared=shared):
        return None
    from fairwise.learning.large.table import LargeTable

    return LargeTable(path, outcome=score_column, id=id_column, columns=())


def block_label(text: str | None, table: LargeTable) -> object:
    """Return the label that is written like this, in the type of the column; the fit checks that it occurs."""
    if text is None:
        return None
    kind = table.kind_of(table.outcome)
    if kind == "boolean":
        if text.lower() not in _BOOLEANS:
            raise InputError(f"{table.name}, column {table.outcome}: {text!r} is not one of the outcomes: true, false")
        return _BOOLEANS[text.lower()]
    try:
        return {"integer": int, "number": float}.get(kind, str)(text)
    except ValueError:
        raise InputError(f"{table.name}, column {table.outcome}: {text!r} is not one of the outcomes") from None


def _is_large(path: Path, *, shared: bool) -> bool:
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    if shared:
        return True
    import pyarrow.parquet as pq

    try:
        rows: int = pq.read_metadata(path).num_rows
    except (OSError, ValueError):
        return False  # the reader for tables in memory says what is wrong
    return rows > MANY_ROWS
