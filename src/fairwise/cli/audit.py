"""``fairwise audit``: how far any model's scores are from what people said."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from fairwise.cli.options import JudgmentsOptions, names
from fairwise.cli.terminal import (
    TABLES,
    Json,
    check_target,
    echo,
    heading,
    print_frame,
    print_import,
    print_json,
    write_table,
)
from fairwise.cli.training import (
    BETTER_IS_NEEDED,
    DaskAddress,
    Gamma,
    WeightingOption,
    dask_client,
    read_numbers,
    scores_in_blocks,
)
from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.auditing import Audit

_groups_option = partial(Option, rich_help_panel="Groups of people")
_N_WORST = 10
_JUDGE_HEADINGS = {
    "judge": "judge",
    "answers": "answers",
    "in_force": "ask for something",
    "share_followed": "share followed",
    "mean_excess": "mean excess",
}
_ATTRIBUTE_HEADINGS = {
    "attribute": "attribute",
    "value": "value",
    "judges": "judges",
    "share_followed": "followed",
    "mean_excess": "mean excess",
    "mean_excess_low": "low",
    "mean_excess_high": "high",
    "mark": "",
}
_GROUP_HEADINGS = {
    "attribute": "column",
    "group": "group",
    "people": "people",
    "mean_score": "mean",
    "selection_rate": "",
    "base_rate": "true rate",
    "error": "error",
    "false_positive_rate": "FPR",
    "true_positive_rate": "TPR",
}


def audit(
    scores: Annotated[Path, Option(help="Scores of any model, one row a person: .csv or .parquet.")],
    judgments: JudgmentsOptions,
    id: Annotated[str, Option(help="Column with each person's id.")] = "id",  # noqa: A002
    score: Annotated[str, Option(help="Column with the probability of the second label.")] = "score",
    gamma: Gamma = 0.1,
    favorable_label: Annotated[
        str | None, Option(help="The good label; needed once an answer is ordered.", metavar="LABEL")
    ] = None,
    labels: Annotated[
        str, Option(help="The two labels, if not 0,1; scores are of the second: bad,good.", metavar="LABEL,LABEL")
    ] = "",
    score_range: Annotated[
        tuple[float, float] | None,
        Option("--range", help="Scores are amounts: the least and the largest that may be.", metavar="LEAST MOST"),
    ] = None,
    better: Annotated[Literal["more", "less"] | None, Option(help="With --range: what is better for a person.")] = None,
    weighting: WeightingOption = "answers",
    people: Annotated[Path | None, _groups_option(help="Table of people, for --groups.")] = None,
    people_id: Annotated[str | None, _groups_option(help="Its id column, if not the same as --id.")] = None,
    groups: Annotated[str, _groups_option(help="Columns of groups: race,sex.", metavar="COLUMNS")] = "",
    outcome: Annotated[str | None, _groups_option(help="Column with the outcome, for error rates.")] = None,
    out: Annotated[Path | None, Option(help="Write every pair, the worst first: .csv or .parquet.")] = None,
    dask: DaskAddress = None,
    as_json: Json = False,
) -> None:
    r"""Tell how far the scores of any model are from the judgments, and which pairs are worst.

    Example:

    fairwise audit --scores scores.csv --judgments judgments.csv \
      --gamma 0.1 --favorable-label 0
    """
    if bool(groups) != (people is not None) or (outcome is not None and not groups):
        raise typer.BadParameter("rates of groups need both --people and --groups (and --outcome for error rates).")
    if score_range is None and better is not None:
        raise typer.BadParameter("--better goes with --range; of labels give --favorable-label.")
    if score_range is not None and (labels or favorable_label is not None or outcome is not None):
        raise typer.BadParameter("--range is for amounts: give --better, and no labels and no --outcome.")
    if out is not None:
        check_target(out, TABLES, [scores, judgments.judgments, people])
    from fairwise.auditing import audit as audit_scores
    from fairwise.auditing.scores import positions_of

    large = None if groups or score_range else scores_in_blocks(scores, id, score, shared=dask is not None)
    answers, account = judgments.read()
    scored: Any = large
    if large is None:
        scored = _scores(scores, id, score, score_range)
        # Refuses, by the file's name, people without a score.
        positions_of(scored.index, answers.person_ids(), str(scores))
    options = {} if people is None else _groups(scored.index, people, people_id or id, names(groups), outcome)
    if score_range is None:
        options |= _direction(names(labels), options.get("outcome"), favorable_label, ordered=answers.has_ordered)
    else:
        options |= _amount_direction(score_range, better, ordered=answers.has_ordered)
    with dask_client(dask) as client:
        result = audit_scores(scored, answers, gamma, weighting=weighting, client=client, **options)
    if out is not None:
        write_table(result.by_pair, out)
    if as_json:
        print_json(_json(result) | {"imported": None if account is None else account.as_json(), "pairs": out})
        return
    print_import(account)
    _show(result, "amounts as shares of the range" if score_range else "chances of the good outcome")
    if out is not None:
        echo(f"\nEvery pair, the worst first, is in {out}.")


def _amount_direction(ends: tuple[float, float], better: str | None, *, ordered: bool) -> dict[str, Any]:
    if better is None and ordered:
        raise InputError(BETTER_IS_NEEDED)
    return {"score_range": ends, "favorable_label": None if better is None else int(better == "more")}


def _direction(
    labels: tuple[str, ...], outcome: "pd.Series[Any] | None", favorable_label: str | None, *, ordered: bool
) -> dict[str, Any]:
    """Return the two labels (those of the outcome, or as they are written, or else 0 and 1) and the good one."""
    from fairwise.tables.rows import text_of

    classes: list[Any] = list(labels or (0, 1)) if outcome is None else sorted(outcome.unique().tolist())
    by_text = {text_of(label): label for label in classes}
    if len(by_text) != 2 or set(labels or by_text) != set(by_text):
        needed = "two different labels, such as bad,good" if outcome is None else " and ".join(by_text)
        raise typer.BadParameter(f"--labels {','.join(labels)}: give {needed}.")
    hint = "" if labels or outcome is not None else ". Other labels are named by --labels, the one of the scores last"
    if favorable_label is None and ordered:
        raise InputError(
            "some answers are ordered ('A at least as well as B'), so it must be known which label is the good one: "
            f"give --favorable-label {' or '.join(by_text)} (the scores are probabilities of "
            f"{(labels or tuple(by_text))[-1]}){hint}"
        )
    if favorable_label is not None and favorable_label not in by_text:
        raise typer.BadParameter(f"--favorable-label {favorable_label}: give {' or '.join(by_text)}{hint}.")
    return {
        "classes": [by_text[text] for text in labels] or classes,
        "favorable_label": None if favorable_label is None else by_text[favorable_label],
    }


def _scores(path: Path, id_column: str, score_column: str, ends: tuple[float, float] | None) -> "pd.Series[Any]":
    from fairwise.tables.files import PeopleFile

    file = PeopleFile.read(path, id_column, score_column)
    low, high = ends or (0.0, 1.0)
    if not low < high:
        raise InputError(f"--range {low:g} {high:g}: the least comes first, and is less than the largest")
    what = "is not a probability" if ends is None else "is no amount of --range"
    rule = f"{what}; allowed: a number from {low:g} to {high:g}"
    return read_numbers(file, score_column, rule, low, high)


def _groups(
    scored: "pd.Index", path: Path, id_column: str, columns: tuple[str, ...], outcome: str | None
) -> dict[str, Any]:
    """Return everyone's groups, and outcomes; everyone who has a score must be there."""
    from fairwise.auditing.scores import positions_of
    from fairwise.tables.files import PeopleFile

    file = PeopleFile.read(path, id_column, *columns)
    positions_of(file.table.index, scored, str(path))
    groups = {"groups": file.groups(columns)}
    return groups if outcome is None else {**groups, "outcome": file.outcome(outcome)}


def _show(result: "Audit", treated: str) -> None:
    from fairwise.auditing.audit import NOT_COVERED
    from fairwise.constraints.violations import PRECISION

    overall = str(result).splitlines()
    echo("\n".join(line for line in overall if not line.startswith("Person ")))
    worst = _worst(result)
    if worst:
        heading(f"Worst pairs ({treated})")
        echo("\n".join(worst))
    judges = result.by_judge
    if len(judges) > 1 and (judges["mean_excess"] > PRECISION).any():
        heading("Judges who get least of what they asked for")
        least = judges.sort_values("mean_excess", ascending=False).head(5)
        print_frame(least, _JUDGE_HEADINGS)
    if len(result.by_attribute):
        heading("Kinds of judges")
        has_interval = result.by_attribute["mean_excess_low"].notna()
        rough = has_interval & ~result.by_attribute["mean_excess_covered"]
        print_frame(result.by_attribute.assign(mark=rough.map({True: "*", False: ""})), _ATTRIBUTE_HEADINGS)
        if rough.any():
            echo(NOT_COVERED)
    if result.by_group is not None:
        heading("Groups")
        zero, one = map(str, result.classes)
        print_frame(result.by_group, _GROUP_HEADINGS | {"selection_rate": f"gets {one}"})
        if "mean_score" in result.by_group:
            return
        echo(f"Rates of {one}, whichever is good; FPR and TPR: among people whose outcome is {zero} and {one}.")


def _json(result: "Audit") -> dict[str, object]:
    numbers = ("gamma", "favorable_label", "classes", "selection_probability", "weighting", "confidence")
    tables = ("by_judge", "by_attribute", "by_group", "group_gaps")
    return {
        **{name: getattr(result, name) for name in numbers},
        "overall": {row: result.overall.loc[row].to_dict() for row in result.overall.index},
        **{name: getattr(result, name) for name in tables},
        "worst": _worst(result),
    }


def _worst(result: "Audit") -> list[str]:
    """Return the worst pairs in words; an excess within the precision of a fit is none."""
    from fairwise.constraints.violations import PRECISION

    return result.worst(min(_N_WORST, int((result.by_pair["excess"] > PRECISION).sum())))
