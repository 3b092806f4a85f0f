"""``fairwise derandomize``: a model that decides without chance, from one that was kept by ``fairwise fit``."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Option

from fairwise.cli.options import JudgmentsOptions, fraction, typed_options
from fairwise.cli.terminal import Json, check_target, echo, heading, print_import, print_json, spinner
from fairwise.cli.training import LearningOptions, PeopleOptions, TrainingData
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.learning.estimator import PairwiseFairClassifier

MODELS = (".skops",)


def derandomize(
    context: Context,
    model: Annotated[Path, Argument(metavar="MODEL", help="Made by fairwise fit: model.skops.")],
    people: PeopleOptions,
    judgments: JudgmentsOptions,
    learning: LearningOptions,
    out: Annotated[Path, Option(help="Where to keep the new model: certain.skops.")],
    mean_violation: Annotated[
        float | None,
        Option(
            help="By how much judgments may be violated on average; as by MODEL if left out.",
            parser=fraction,
            metavar="NUMBER",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    r"""Make a model that decides everyone for certain, and say what that adds and breaks.

    Needs what MODEL was fitted to, and takes as long as that fit; MODEL stays as it is. What was asked of it and how it
    was searched for is known from MODEL: other options are refused. Only a fit with --group-constraint needs it again,
    to know the groups.

    Example:

    fairwise derandomize model.skops --people people.csv --id id \
      --outcome reoffended --judgments judgments.csv \
      --out certain.skops
    """
    check_target(out, MODELS, [model, people.people, judgments.judgments])
    from fairwise.learning.estimator import PairwiseFairClassifier

    mixed = PairwiseFairClassifier.load(model)
    task = TrainingData.read(people, judgments, learning, to_fit=False)
    _refuse_other_settings(context, task.settings, mixed)
    print_import(task.account, as_json=as_json)
    used = tuple(str(name) for name in getattr(mixed, "feature_names_in_", task.features.columns))
    with spinner(f"Looking for a rule for {len(task.features)} people"):
        certain = mixed.derandomize(
            task.columns(used),
            task.outcome,
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


def _refuse_other_settings(context: Context, asked: dict[str, Any], model: "PairwiseFairClassifier") -> None:
    """A model has its settings: what is asked for besides would do nothing."""
    own, typed = model.get_params(deep=False), typed_options(context)
    if own["group_constraints"] and not asked["group_constraints"]:
        raise InputError(
            "this model was fitted with rules about groups, whose column it does not know: give --group-constraint as "
            f"in its fit ({_in_words(own['group_constraints'])})"
        )
    for option in context.command.params:
        name = str(option.name)
        if name in typed and name in asked and (here := _in_words(asked[name])) != (there := _in_words(own[name])):
            raise InputError(
                f"{option.opts[0]}: is {here}, but this model was fitted with {there}. Leave the option out, or fit "
                "another model"
            )


def _in_words(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(sorted(map(_in_words, value)))
    if hasattr(value, "eps"):  # a rule about groups, as fairlearn has it
        return f"{type(value).__name__} {value.eps:g}"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
