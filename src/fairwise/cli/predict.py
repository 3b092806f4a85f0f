"""``fairwise predict``: apply a model that was kept by ``fairwise fit``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from fairwise.cli.options import IdColumn, NaValues, NumericColumns, PeoplePath, names
from fairwise.cli.terminal import TABLES, Json, check_target, echo, note, print_json, write_table
from fairwise.numbers import quantity, record_number

if TYPE_CHECKING:
    import pandas as pd


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


def _predict_amounts(fitted: Any, rows: "pd.DataFrame", out: Path, *, as_json: bool) -> None:
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
