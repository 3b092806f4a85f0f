"""Options about the model to learn and where that is done, the settings they stand for, and all that a fit needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from fairwise.cli.options.decisions import read_decisions
from fairwise.cli.options.parsing import (
    BudgetOption,
    GroupRuleOption,
    ThresholdsOption,
    budget,
    fraction,
    group_rule,
    names,
    thresholds,
)
from fairwise.cli.terminal import note
from fairwise.errors import InputError
from fairwise.learning.settings import bounded_error, parity
from fairwise.loading import require

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client

    from fairwise.cli.options.judgments import JudgmentsOptions
    from fairwise.cli.options.people import PeopleOptions, TrainingPeople
    from fairwise.judgments import Judgments
    from fairwise.judgments.files import Account
    from fairwise.learning.solvers.progress import FitProgress


Estimator = Literal["linear", "linear-regression", "tree"]
OutcomeKind = Literal["yes-no", "tiers", "amount"]
Solver = Literal["column-generation", "no-regret"]
Weighting = Literal["answers", "panel"]

_OF_KIND = ("outcome_kind", "outcome_range", "better")
_NO_EXCESS = BudgetOption(0.0)
_AFFORDABLE = ThresholdsOption("auto")
_asked = partial(Option, rich_help_panel="What is asked for")
_model = partial(Option, rich_help_panel="The model and its search")
BOUND_HELP = "How far two people's chances may differ against a judgment, 0 to 1."
EXCESS_HELP = "How much mean excess over gamma the panel may suffer, 0 to 1; none for no limit."
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
Gamma = Annotated[float, _asked("--gamma", help=BOUND_HELP, parser=fraction, metavar="NUMBER")]
WeightingOption = Annotated[Weighting, _asked("--weighting", help=_COUNTED)]


@dataclass(frozen=True)
class LearningOptions:
    """Everything that a fit can be told, under the names of its settings."""

    gamma: Gamma = 0.1
    eta: Annotated[BudgetOption, _asked("--eta", help=EXCESS_HELP, parser=budget, metavar="NUMBER|none")] = _NO_EXCESS
    favorable_label: Annotated[str | None, _asked("--favorable-label", help=_LABEL, metavar="LABEL")] = None
    label_values: Annotated[Path | None, _asked("--label-values", help=_VALUES, metavar="FILE")] = None
    outcome_kind: Annotated[OutcomeKind | None, _asked("--outcome-kind", help=_KIND)] = None
    outcome_range: Annotated[
        tuple[float, float] | None, _asked("--outcome-range", help=_RANGE, metavar="LEAST MOST")
    ] = None
    better: Annotated[Literal["more", "less"] | None, _asked("--better", help=_BETTER)] = None
    judge_budgets: Annotated[
        float | None,
        _asked(
            "--judge-budget",
            help="How much mean excess any single judge may suffer.",
            parser=fraction,
            metavar="NUMBER",
        ),
    ] = None
    group_constraints: Annotated[
        list[GroupRuleOption] | None,
        _asked("--group-constraint", help=_RATES, parser=group_rule, metavar="RATE:BOUND:COLUMN"),
    ] = None
    weighting: WeightingOption = "answers"
    features: Annotated[str, _model("--features", help="Use these columns only: age,priors.", metavar="COLUMNS")] = ""
    estimator: Annotated[Estimator, _model("--estimator", help="What is mixed; trees are proven.")] = "linear"
    max_depth: Annotated[int, _model("--max-depth", help="Of trees.", min=1, max=4)] = 2
    max_thresholds: Annotated[
        ThresholdsOption,
        _model(
            "--max-thresholds",
            help="Per column of a tree; auto: all, or as many as take seconds.",
            parser=thresholds,
            metavar="NUMBER|auto|all",
        ),
    ] = _AFFORDABLE
    solver: Annotated[Solver, _model("--solver", help="no-regret is the paper's game.")] = "column-generation"
    n_rounds: Annotated[int, _model("--rounds", help="Of the no-regret solver.", min=1)] = 1000
    tol: Annotated[float, _model("--tol", help="Gap at which column generation stops.")] = 1e-4
    max_iter: Annotated[
        int | None, _model("--max-iter", help="Iterations of column generation; enough if left out.", min=1)
    ] = None
    time_limit: Annotated[
        float | None, _model("--time-limit", help="Seconds of the search; the best found by then is kept.")
    ] = None
    max_classifiers: Annotated[
        int | None, _model("--max-classifiers", help="Mix at most so many; as few as possible if left out.", min=1)
    ] = None
    random_state: Annotated[int, _model("--seed", help="Of draws and splits.", min=0, max=2**31 - 1)] = 0

    def __post_init__(self) -> None:
        """Refuse several divisions into groups at once, as one fit has one, and options that contradict each other."""
        self._check_kind()
        if len({rule.columns for rule in self.group_constraints or ()}) > 1:
            raise typer.BadParameter(
                "--group-constraint: all rules of one fit must name the same columns; "
                "for groups of several columns write fpr:0.02:race+sex."
            )
        for rule in self.group_constraints or ():
            self._check_rule(rule)

    def _check_rule(self, rule: GroupRuleOption) -> None:
        if self.of_amounts and rule.moment != "error":
            raise typer.BadParameter(
                f"--group-constraint: {rule.moment} is a rate of labels. Of amounts, the mean error of each group is "
                "bounded, in their own unit: error:1500:race."
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
        for name in (name for name, given in (labels if self.of_amounts else amounts).items() if given is not None):
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
        return {name: getattr(self, name) for name in (*shared, "max_classifiers", "random_state", "outcome_range")} | {
            "eta": self.eta.limit,
            "max_thresholds": self.max_thresholds.most,
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
            "eta": self.eta.limit,
            "max_thresholds": self.max_thresholds.most,
            "features": names(self.features) or None,
            "favorable_label": favorable_label,
            "label_values": None if self.label_values is None else read_label_values(self.label_values, labels),
            "group_constraints": [parity(rule.moment, rule.bound) for rule in self.group_constraints or ()] or None,
        }
        FitSettings.of(PairwiseFairClassifier(**settings).get_params(deep=False))
        return settings

    def sensitive_features(self, people: TrainingPeople) -> pd.DataFrame | None:
        """Return the groups that the rules are about; also of columns that are not learnt from."""
        if not self.group_constraints:
            return None
        groups = people.columns(self.group_constraints[0].columns)
        for name in groups.columns:
            missing = groups[name].isna().to_numpy(dtype=bool)
            people.file.source.refuse(
                missing, str(name), groups[name].where(~missing, None), "where --group-constraint needs a group"
            )
        return groups


def read_label_values(path: Path, labels: Iterable[object]) -> dict[object, float]:
    """Read how good each label is from a CSV file with the columns label and value, read like a table's cells."""
    import pandas as pd

    from fairwise.tables.files import typed

    rows, outcomes = read_decisions(path), list(labels)
    names = pd.Series([row["label"] for row in rows])
    if not any(isinstance(label, str) for label in outcomes):
        names = typed(names)
    if not names.is_unique:
        again = rows[int(names.duplicated().argmax())]["label"]
        raise InputError(f"{path}: the label {again} is there twice; say once how good it is.")
    unnamed = set(outcomes) - set(names)
    if unnamed:
        raise InputError(
            f"{path}: does not say how good the outcome {min(unnamed, key=str)!r} is; its labels are "
            f"{', '.join(row['label'] for row in rows)}. Name every outcome as it is written in the table."
        )
    return dict(zip(names.tolist(), (row["value"] for row in rows), strict=True))


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
    """Everything a fit needs, read and checked."""

    people: TrainingPeople
    judgments: Judgments
    account: Account | None
    settings: dict[str, Any]
    sensitive: pd.DataFrame | None
    of_amounts: bool = False

    @classmethod
    def read(
        cls, people: PeopleOptions, judgments: JudgmentsOptions, learning: LearningOptions, *, to_fit: bool = True
    ) -> TrainingData:
        """Read both files and check every setting, before any long work."""
        if learning.of_amounts:
            return cls._of_amounts(people, judgments, learning)
        table = people.read(names(learning.features), several=learning.label_values is not None)
        settings = learning.settings(table.label(learning.favorable_label), table.outcome.unique().tolist())
        answers, account = judgments.read(table.features)
        if to_fit and answers.has_ordered and learning.favorable_label is None and learning.label_values is None:
            labels = " or ".join(str(label) for label in sorted(table.outcome.unique().tolist(), key=str))
            raise InputError(
                "some answers are ordered ('A at least as well as B'), so it must be known which outcome is the good "
                f"one: give --favorable-label {labels}"
            )
        return cls(table, answers, account, settings, learning.sensitive_features(table))

    @classmethod
    def _of_amounts(cls, people: PeopleOptions, judgments: JudgmentsOptions, learning: LearningOptions) -> TrainingData:
        table = people.read(names(learning.features), amounts=True)
        answers, account = judgments.read(table.features)
        if answers.has_ordered and learning.better is None:
            raise InputError(
                "some answers are ordered ('A at least as well as B'), so it must be known whether a larger amount is "
                "better for a person: give --better more or --better less"
            )
        settings, groups = learning.amount_settings(table.outcome), learning.sensitive_features(table)
        return cls(table, answers, account, settings, groups, of_amounts=True)

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
            self.people.features,
            self.people.outcome,
            judgments=self.judgments,
            sensitive_features=self.sensitive,
            callback=callback,
            **more,
        )
        return model.derandomize() if deterministic else model
