"""``fairwise show``: a model as rules in words, and what they say about one person."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fairwise.cli.options import with_option_groups
from fairwise.cli.terminal import Json, echo, print_json
from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.learning.model.rules import Explanation, ModelRules


@with_option_groups
def show(
    model: Annotated[Path, Argument(metavar="MODEL", help="Model made by fairwise fit: model.skops.")],
    person: Annotated[str | None, Option("--person", help="Id of someone in --people to explain it for.")] = None,
    people: Annotated[Path | None, Option("--people", help="Table with that person: .csv or .parquet.")] = None,
    id: Annotated[str | None, Option("--id", help="Its column with each person's id.")] = None,  # noqa: A002
    as_json: Json = False,
) -> None:
    r"""Show a model as rules in words, or which of them apply to one person and what they say.

    Whoever follows the rules gets the very probabilities that fairwise predict writes.

    Example:

    fairwise show model.skops --person p17 --people people.csv --id id
    """
    given = [value is not None for value in (person, people, id)]
    if any(given) and not all(given):
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


def _row_of(person: str, people: Path, id_column: str, columns: list[str]) -> "pd.DataFrame":
    from fairwise.errors import some
    from fairwise.tables.files import PeopleFile
    from fairwise.tables.rows import did_you_mean, text_of

    rows = PeopleFile.read(people, id_column).features(only=columns)
    found = rows[[text_of(name) == person for name in rows.index]]
    if found.empty:
        hint = did_you_mean(person, [text_of(name) for name in rows.index])
        raise InputError(
            f"{people}: there is no person {person!r} in column {id_column!r}{hint}; found: {some(rows.index)}"
        )
    return found


def _rules(rules: "ModelRules") -> dict[str, object]:
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


def _explanation(explanation: "Explanation") -> dict[str, object]:
    return {
        "person": explanation.person,
        "values": dict(explanation.values),
        "probability": explanation.probability,
        "share": explanation.share,
        "region": explanation.region,
        "rules": explanation.to_frame().to_dict("records"),
    }
