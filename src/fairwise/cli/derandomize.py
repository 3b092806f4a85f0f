"""``fairwise derandomize``: a model that decides without chance, from one that was kept by ``fairwise fit``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fairwise.cli.options import with_option_groups
from fairwise.cli.options.judgments import JudgmentsOptions
from fairwise.cli.options.learning import LearningOptions, TrainingData
from fairwise.cli.options.parsing import fraction
from fairwise.cli.options.people import PeopleOptions
from fairwise.cli.terminal import Json, check_target, echo, heading, print_import, print_json, spinner

MODELS = (".skops",)


@with_option_groups
def derandomize(
    model: Annotated[Path, Argument(metavar="MODEL", help="Made by fairwise fit: model.skops.")],
    people: PeopleOptions,
    judgments: JudgmentsOptions,
    learning: LearningOptions,
    out: Annotated[Path, Option("--out", help="Where to keep the new model: certain.skops.")],
    mean_violation: Annotated[
        float | None,
        Option(
            "--mean-violation",
            help="By how much judgments may be violated on average; as by MODEL if left out.",
            parser=fraction,
            metavar="NUMBER",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    r"""Make a model that decides everyone for certain, and say what that adds and breaks.

    Needs what MODEL was fitted to, with the options of that fit; it takes as long as the fit. MODEL stays as it is.

    Example:

    fairwise derandomize model.skops --people people.csv --id id \
      --outcome reoffended --judgments judgments.csv \
      --favorable-label 0 --gamma 0.1 --out certain.skops
    """
    check_target(out, MODELS, [model, people.people, judgments.judgments])
    from fairwise.learning.estimator import PairwiseFairClassifier

    mixed = PairwiseFairClassifier.load(model)
    task = TrainingData.read(people, judgments, learning, to_fit=False)
    print_import(task.account, as_json=as_json)
    used = tuple(str(name) for name in getattr(mixed, "feature_names_in_", task.people.features.columns))
    with spinner(f"Looking for a rule for {len(task.people.features)} people"):
        certain = mixed.derandomize(
            task.people.columns(used),
            task.people.outcome,
            judgments=task.judgments,
            sensitive_features=task.sensitive,
            mean_violation=mean_violation,
        )
        certain.save(out)
    if as_json:
        print_json({"derandomization": asdict(certain.derandomization_), "model": out})
        return
    heading("Without chance")
    echo(certain.derandomization_)
    echo(f"\nModel kept in {out}")
