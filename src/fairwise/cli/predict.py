"""``fairwise predict``: apply a model that was kept by ``fairwise fit``."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from fairwise.cli.options import with_option_groups
from fairwise.cli.options.people import IdColumn, PeoplePath
from fairwise.cli.terminal import TABLES, Json, check_target, echo, print_json, write_table


@with_option_groups
def predict(
    model: Annotated[Path, Option("--model", help="Model made by fairwise fit: model.skops.")],
    people: PeoplePath,
    id: IdColumn,  # noqa: A002 - the option's name
    out: Annotated[Path, Option("--out", help="Where to write id, score and label: .csv or .parquet.")],
    draw: Annotated[
        Literal["independent", "shared"],
        Option("--draw", help="Labels: one draw per person, or one for everyone, so that equal chances end alike."),
    ] = "independent",
    as_json: Json = False,
) -> None:
    r"""Give people the scores of a model: the probability of label 1, and one label drawn with it.

    Columns that the model does not use, such as the outcome, may be there and are ignored.

    Example:

    fairwise predict --model model.skops --people people.csv --id id \
      --out scores.csv
    """
    check_target(out, TABLES, [model, people])
    import pandas as pd

    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.tables.people_file import PeopleFile

    fitted = PairwiseFairClassifier.load(model)
    file = PeopleFile.read(people, id)
    named = hasattr(fitted, "feature_names_in_")
    rows = file.features(only=fitted.features_ if named else list(file.table.columns))
    scores = pd.DataFrame(
        {"id": rows.index, "score": fitted.predict_proba(rows)[:, 1], "label": fitted.predict(rows, draw=draw)},
    )
    write_table(scores, out)
    zero, one = fitted.classes_.tolist()
    if as_json:
        mean = float(scores["score"].mean())
        print_json({"people": len(scores), "scores": out, "classes": [zero, one], "mean_score": mean})
        return
    echo(f"{len(scores)} people written to {out}.")
    echo(f"score: the probability of {one!r} (label 1); on average {scores['score'].mean():.3f}.")
    how = "the same person always gets the same draw" if draw == "independent" else "one draw decides about everyone"
    echo(f"label: {zero!r} or {one!r}, drawn with that probability; {how}.")
