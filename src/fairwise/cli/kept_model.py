"""``fairwise show``, ``predict`` and ``derandomize``: a kept model in words, applied, or made to decide for certain."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Context, Option

from fairwise.cli.options import (
    IdColumn,
    JudgmentsOptions,
    NaValues,
    NumericColumns,
    PeoplePath,
    fraction,
    names,
    typed_options,
)
from fairwise.cli.terminal import (
    TABLES,
    Json,
    check_target,
    echo,
    heading,
    note,
    print_import,
    print_json,
    spinner,
    write_table,
)
from fairwise.cli.training import LearningOptions, PeopleOptions, TrainingData
from fairwise.errors import InputError
from fairwise.numbers import quantity, record_number

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.model.rules import Explanation, ModelRules


def show(
    model: Annotated[Path, Argument(metavar="MODEL", help="Model made by fairwise fit: model.skops.")],
    person: Annotated[str | None, Option(help="Id of someone in --people to explain it for.")] = None,
    people: Annotated[Path | None, Option(help="Table with that person: .csv or .parquet.")] = None,
    id: Annotated[str | None, Option(help="Its column with each person's id.")] = None,  # noqa: A002
    as_json: Json = False,
) -> None:
    r"""Show a model as rules in words, or which of them apply to one person and what they say.

    Whoever follows the rules gets the very probabilities that fairwise predict writes.

    Example:

    fairwise show model.skops --person p17 --people people.csv --id id
    """
    is_given = [value is not None for value in (person, people, id)]
    if any(is_given) and not all(is_given):
        raise InputError("--person, --people and --id: are needed together, to explain the model for one person")
    from fairwise.learning.any_model import load_model  # slow to load

    fitted: Any = load_model(model)  # of labels or of amounts
    if person is None or people is None or id is None:
        if as_json:
            print_json(_rules(fitted.rules_))
        else:
            echo(fitted.rules_)
        return
    columns = [str(name) for name in getattr(fitted, "feature_names_in_", [])]
    explanation = fitted.explain(_row_of(person, people, id, columns))
    if as_json:
        print_json(_explanation(explanation))
    else:
        echo(explanation)


def _row_of(person: str, people: Path, id_column: str, columns: list[str]) -> pd.DataFrame:
    from fairwise.errors import some
    from fairwise.tables.files import PeopleFile
    from fairwise.tables.rows import did_you_mean, text_of

    rows = PeopleFile.read(people, id_column).features(only=columns)
    row = rows[[text_of(name) == person for name in rows.index]]
    if row.empty:
        hint = did_you_mean(person, [text_of(name) for name in rows.index])
        raise InputError(
            f"{people}: there is no person {person!r} in column {id_column!r}{hint}; found: {some(rows.index)}"
        )
    return row


def _rules(rules: ModelRules) -> dict[str, object]:
    statements = rules.to_frame().to_dict("records")
    regions = None if rules.regions is None else rules.regions.leaves()
    return {
        "decides": rules.lead,
        "classes": list(rules.classes),
        "threshold": rules.threshold,
        "rules": [
            {
                "rule": number,
                "weight": weight,
                "text": str(rule),
                "statements": [
                    {name: row[name] for name in ("when", "points", "label")}
                    for row in statements
                    if row["rule"] == number
                ],
            }
            for number, (weight, rule) in enumerate(rules, 1)
        ],
        "regions": None if regions is None else [{"when": when, "probability": value} for when, value in regions],
        "columns": {str(name): share for name, share in rules.columns.items()},
    }


def _explanation(explanation: Explanation) -> dict[str, object]:
    return {
        "person": explanation.person,
        "values": dict(explanation.values),
        "probability": explanation.probability,
        "share": explanation.share,
        "region": explanation.region,
        "rules": explanation.to_frame().to_dict("records"),
    }


def predict(
    model: Annotated[Path, Option(help="Model made by fairwise fit: model.skops.")],
    people: PeoplePath,
    id: IdColumn,  # noqa: A002 - the option's name
    out: Annotated[Path, Option(help="Where to write id, score and label: .csv or .parquet.")],
    draw: Annotated[
        Literal["independent", "shared"],
        Option(help="Labels: one draw per person, or one for everyone, so that equal chances end alike."),
    ] = "independent",
    numeric: NumericColumns = "",
    na_values: NaValues = "",
    as_json: Json = False,
) -> None:
    r"""Give people the scores of a model: the probability of an outcome, and one outcome drawn with it.

    Of two outcomes the probability is that of the second in sorted order. Of more than two the score is how well a
    person is treated, and each label's probability is written, too; of amounts it is the share of the range that is
    good for them, and the amount is written beside it.
    Columns that the model does not use, such as the outcome, may be there and are ignored.

    Example:

    fairwise predict --model model.skops --people people.csv --id id \
      --out scores.csv
    """
    check_target(out, TABLES, [model, people])
    import pandas as pd

    from fairwise.learning.any_model import load_model
    from fairwise.tables.files import PeopleFile

    fitted: Any = load_model(model)  # of labels or of amounts
    file = PeopleFile.read(people, id, numeric=names(numeric), na_values=names(na_values))
    for line in file.notes:
        note(f"Warning: {line}")
    named = hasattr(fitted, "feature_names_in_")
    rows = file.features(only=fitted.features_ if named else list(file.table.columns))
    if hasattr(fitted, "amounts_"):
        _predict_amounts(fitted, rows, out, as_json=as_json)
        return
    chances, label = fitted.predict_proba(rows), fitted.predict(rows, draw=draw)
    labels = fitted.classes_.tolist()
    several = len(labels) > 2
    scores = pd.DataFrame(
        {"id": rows.index, "score": fitted.predict_value(rows) if several else chances[:, 1], "label": label}
    )
    if several:
        scores = scores.assign(**{f"probability {name}": chances[:, place] for place, name in enumerate(labels)})
    write_table(scores, out)
    zero, one = labels[:2]
    if as_json:
        mean = float(scores["score"].mean())
        print_json({"people": len(scores), "scores": out, "classes": labels, "mean_score": mean})
        return
    echo(f"{len(scores)} people written to {out}.")
    if several:
        mean = scores["score"].mean()
        echo(f"score: how well each is treated, from 0 to 1 by the values of the labels; on average {mean:.3f}.")
        echo(f"probability …: of each of the {len(labels)} labels; label: one of them, drawn with these.")
        return
    echo(f"score: the probability of {one!r}; on average {scores['score'].mean():.3f}.")
    how = "the same person always gets the same draw" if draw == "independent" else "one draw decides about everyone"
    echo(f"label: {zero!r} or {one!r}, drawn with that probability; {how}.")


def _predict_amounts(fitted: Any, rows: pd.DataFrame, out: Path, *, as_json: bool) -> None:
    import pandas as pd

    amounts = fitted.predict(rows)
    scores = pd.DataFrame({"id": rows.index, "score": fitted.predict_value(rows), "amount": amounts})
    write_table(scores, out)
    low, high = float(fitted.amounts_[0]), float(fitted.amounts_[-1])
    if as_json:
        print_json({"people": len(scores), "scores": out, "range": [low, high], "mean_amount": float(amounts.mean())})
        return
    echo(f"{len(scores)} people written to {out}.")
    ends = f"from {record_number(low)} to {record_number(high)}"
    echo(f"amount: what each is given, {ends}; on average {quantity(amounts.mean())}.")
    echo("score: how good that is for them, from 0 to 1 as a share of the range.")


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


def _refuse_other_settings(context: Context, settings: dict[str, Any], model: PairwiseFairClassifier) -> None:
    """Refuse settings other than the model's: they would do nothing."""
    own, typed = model.get_params(deep=False), typed_options(context)
    if own["group_constraints"] and not settings["group_constraints"]:
        raise InputError(
            "this model was fitted with rules about groups, whose column it does not know: give --group-constraint as "
            f"in its fit ({_in_words(own['group_constraints'])})"
        )
    for option in context.command.params:
        name = str(option.name)
        if (
            name in typed
            and name in settings
            and (here := _in_words(settings[name])) != (there := _in_words(own[name]))
        ):
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
