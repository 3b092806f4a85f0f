"""Options about decisions that are not yes or no: a file of labels with their values, and the range of an amount."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

from fairwise.errors import InputError

OutcomeKind = Literal["yes-no", "tiers", "amount"]
KindOption = Annotated[
    OutcomeKind | None,
    Option("--outcome-kind", help="What is decided; follows from --label-values and --amount-range if left out."),
]
LabelValues = Annotated[
    Path | None,
    Option(
        "--label-values",
        help="What may be decided, where it is more than two things: a CSV file with label, value (how good it is, "
        "0 to 1) and words (what participants read).",
        metavar="FILE",
    ),
]
AmountRange = Annotated[
    str | None,
    Option("--amount-range", help="An amount is decided, from the least to the largest: 0,20000.", metavar="FROM,TO"),
]
AmountUnit = Annotated[str, Option("--amount-unit", help="What participants read behind an amount: euros.")]
AmountBetter = Annotated[Literal["more", "less"], Option("--amount-better", help="What is better for the person.")]


def decided(
    kind: OutcomeKind | None, label_values: Path | None, amount_range: str | None, unit: str, better: str
) -> dict[str, Any]:
    """Return the settings of a study that say what is decided; none for the usual two things."""
    given: dict[OutcomeKind, str] = {"tiers": "--label-values", "amount": "--amount-range"}
    options: dict[OutcomeKind, object] = {"tiers": label_values, "amount": amount_range}
    found = [name for name, option in options.items() if option is not None]
    if len(found) > 1:
        raise InputError("--label-values and --amount-range: what is decided is one of a few things, or an amount")
    if kind is not None and kind in given and kind not in found:
        raise InputError(f"--outcome-kind {kind}: needs {given[kind]}")
    if kind == "yes-no" and found:
        raise InputError(f"--outcome-kind yes-no: {given[found[0]]} is for other decisions; leave one of the two out")
    if (unit or better != "more") and amount_range is None:
        raise InputError("--amount-unit and --amount-better: are about amounts; give --amount-range, too")
    if label_values is not None:
        rows = read_decisions(label_values)
        return {"decisions": [{**row, "words": row["words"] or row["label"]} for row in rows]}
    if amount_range is not None:
        least, most = _ends(amount_range)
        return {"amount": {"unit": unit, "least": least, "most": most, "better": better}}
    return {}


def _ends(text: str) -> tuple[float, float]:
    try:
        least, most = (float(end) for end in text.split(","))
    except ValueError:
        raise InputError(f"--amount-range {text}: needed: the least and the largest amount, such as 0,20000") from None
    return least, most


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
