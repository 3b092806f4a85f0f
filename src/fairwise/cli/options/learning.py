"""Options about the model to learn and where that is done, the settings they stand for, and all that a fit needs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairwise.cli.options.parsing import BudgetOption, GroupRule, budget, fraction, group_rule
from fairwise.cli.terminal import note
from fairwise.errors import InputError
from fairwise.extras import require
from fairwise.learning.settings import parity

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from fairwise.cli.options.judgments import Account, JudgmentsOptions
    from fairwise.cli.options.people import PeopleOptions, TrainingPeople
    from fairwise.judgments import Judgments
    from fairwise.learning.estimator import PairwiseFairClassifier


Estimator = Literal["linear", "linear-regression", "tree"]
Solver = Literal["column-generation", "no-regret"]
Weighting = Literal["answers", "panel"]

_NO_EXCESS = BudgetOption(0.0)
_KNOBS = "What is asked for"
_MODEL = "The model and its search"
Gamma = Annotated[
    float,
    typer.Option(
        "--gamma",
        help="How far two people's chances may differ against a judgment, 0 to 1.",
        parser=fraction,
        metavar="NUMBER",
        rich_help_panel=_KNOBS,
    ),
]
FavorableLabel = Annotated[
    str | None,
    typer.Option(
        "--favorable-label",
        help="The good outcome, as written in the file; needed once an answer is ordered.",
        metavar="LABEL",
        rich_help_panel=_KNOBS,
    ),
]
WeightingOption = Annotated[
    Weighting,
    typer.Option(
        "--weighting",
        help="How mean excess is counted when judges saw different pairs.",
        rich_help_panel=_KNOBS,
    ),
]


@dataclass(frozen=True)
class LearningOptions:
    """Everything that a fit can be told."""

    gamma: Gamma = 0.1
    eta: Annotated[
        BudgetOption,
        typer.Option(
            "--eta",
            help="How much mean excess over gamma the panel may suffer, 0 to 1; none for no limit.",
            parser=budget,
            metavar="NUMBER|none",
            rich_help_panel=_KNOBS,
        ),
    ] = _NO_EXCESS
    favorable_label: FavorableLabel = None
    judge_budget: Annotated[
        float | None,
        typer.Option(
            "--judge-budget",
            help="How much mean excess any single judge may suffer.",
            parser=fraction,
            metavar="NUMBER",
            rich_help_panel=_KNOBS,
        ),
    ] = None
    group_constraint: Annotated[
        list[GroupRule] | None,
        typer.Option(
            "--group-constraint",
            help="Rates of groups may differ from everyone's by so much: fpr:0.02:race (dp, tpr, fpr, eo, error).",
            parser=group_rule,
            metavar="RATE:BOUND:COLUMN",
            rich_help_panel=_KNOBS,
        ),
    ] = None
    weighting: WeightingOption = "answers"
    estimator: Annotated[
        Estimator, typer.Option("--estimator", help="What is mixed; trees are proven.", rich_help_panel=_MODEL)
    ] = "linear"
    max_depth: Annotated[int, typer.Option("--max-depth", help="Of trees.", min=1, max=5, rich_help_panel=_MODEL)] = 2
    max_thresholds: Annotated[
        int | None,
        typer.Option("--max-thresholds", help="Per column of a tree; all if left out.", min=1, rich_help_panel=_MODEL),
    ] = None
    solver: Annotated[
        Solver, typer.Option("--solver", help="no-regret is the paper's game.", rich_help_panel=_MODEL)
    ] = "column-generation"
    rounds: Annotated[int, typer.Option("--rounds", help="Of the no-regret solver.", min=1, rich_help_panel=_MODEL)] = (
        1000
    )
    tol: Annotated[
        float, typer.Option("--tol", help="Gap at which column generation stops.", rich_help_panel=_MODEL)
    ] = 1e-4
    max_iter: Annotated[
        int | None,
        typer.Option(
            "--max-iter", help="Iterations of column generation; enough if left out.", min=1, rich_help_panel=_MODEL
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", help="Seconds of column generation; the best found by then is kept.", rich_help_panel=_MODEL
        ),
    ] = None
    seed: Annotated[
        int, typer.Option("--seed", help="Of draws and splits.", min=0, max=2**31 - 1, rich_help_panel=_MODEL)
    ] = 0

    def __post_init__(self) -> None:
        """Refuse several divisions into groups at once: one fit has one."""
        if len({rule.columns for rule in self.group_constraint or ()}) > 1:
            raise typer.BadParameter(
                "--group-constraint: all rules of one fit must name the same columns; "
                "for groups of several columns write fpr:0.02:race+sex."
            )

    def settings(self, people: TrainingPeople) -> dict[str, Any]:
        """Return keywords for PairwiseFairClassifier, checked before any long work."""
        return self.chosen(people.label(self.favorable_label))

    def chosen(self, favorable_label: Any) -> dict[str, Any]:
        """Return the same, with the good outcome as the table writes it."""
        from fairwise.learning.estimator import PairwiseFairClassifier
        from fairwise.learning.settings import FitSettings

        chosen: dict[str, Any] = {
            "estimator": self.estimator,
            "max_depth": self.max_depth,
            "max_thresholds": self.max_thresholds,
            "gamma": self.gamma,
            "eta": self.eta.limit,
            "favorable_label": favorable_label,
            "group_constraints": self._moments(),
            "judge_budgets": self.judge_budget,
            "weighting": self.weighting,
            "solver": self.solver,
            "n_rounds": self.rounds,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "time_limit": self.time_limit,
            "random_state": self.seed,
        }
        FitSettings.of(PairwiseFairClassifier(**chosen).get_params(deep=False))
        return chosen

    def sensitive_features(self, people: TrainingPeople) -> pd.DataFrame | None:
        """Return the groups that the rules are about; also of columns that are not learnt from."""
        if not self.group_constraint:
            return None
        groups = people.columns(self.group_constraint[0].columns)
        for name in groups.columns:
            missing = groups[name].isna().to_numpy(dtype=bool)
            people.file.source.refuse(
                missing, str(name), groups[name].where(~missing, None), "where --group-constraint needs a group"
            )
        return groups

    def _moments(self) -> list[Any] | None:
        return [parity(rule.moment, rule.bound) for rule in self.group_constraint or ()] or None


def require_direction(favorable_label: str | None, people: TrainingPeople, has_ordered: bool) -> None:
    """Say in the command's own words that an ordered answer needs a good outcome."""
    if has_ordered and favorable_label is None:
        labels = " or ".join(str(label) for label in sorted(people.outcome.unique().tolist(), key=str))
        raise InputError(
            "some answers are ordered ('A at least as well as B'), so it must be known which outcome is the good one: "
            f"give --favorable-label {labels}"
        )


DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask", help="Scheduler of a dask cluster whose workers do the work: tls://host:8786.", metavar="ADDRESS"
    ),
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
def dask_client(address: str | None) -> Iterator[Any]:
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
    seed: int

    @classmethod
    def read(
        cls, people: PeopleOptions, judgments: JudgmentsOptions, learning: LearningOptions, *, to_fit: bool = True
    ) -> TrainingData:
        """Read both files and check every setting, before any long work."""
        known = people.read()
        settings = learning.settings(known)
        said, account = judgments.read(known.features)
        if to_fit:
            require_direction(learning.favorable_label, known, said.has_ordered)
        return cls(known, said, account, settings, learning.sensitive_features(known), learning.seed)

    def model(self) -> PairwiseFairClassifier:
        """Return a model with these settings, not fitted yet."""
        from fairwise.learning.estimator import PairwiseFairClassifier

        return PairwiseFairClassifier(**self.settings)

    def fitted(self, client: Any = None) -> PairwiseFairClassifier:
        """Return the model, fitted; by a dask cluster where there is a client of one."""
        return self.model().fit(
            self.people.features,
            self.people.outcome,
            judgments=self.judgments,
            sensitive_features=self.sensitive,
            client=client,
        )
