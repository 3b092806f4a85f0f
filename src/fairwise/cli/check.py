"""``fairwise check``: whether people and judgments fit together, and what the judgments are like."""

from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairwise.cli.options import IdColumn, JudgmentsOptions, NaValues, NumericColumns, PeoplePath, names
from fairwise.cli.terminal import Json, echo, heading, print_import, print_json, spinner
from fairwise.cli.training import note_doubts

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.judgments import Judgments
    from fairwise.judgments.conflicts import Conflicts, Cycle
    from fairwise.judgments.reliability import Share

_N_EXAMPLES = 3
_ALPHA = ("alpha", "low", "high", "covered", "confidence", "n_pairs", "n_judges", "note")
_LEVELS = ("four answers", "same or not")


def check(
    people: PeoplePath,
    id: IdColumn,  # noqa: A002 - the option's name
    judgments: JudgmentsOptions,
    outcome: Annotated[
        str | None, Option(help="Column to predict, to check that too.", rich_help_panel="People")
    ] = None,
    numeric: NumericColumns = "",
    na_values: NaValues = "",
    as_json: Json = False,
) -> None:
    r"""Tell whether people and judgments fit together, how judges agree and where answers conflict.

    Example:

    fairwise check --people people.csv --id id --judgments judgments.csv
    """
    from fairwise.judgments import check_failures, find_conflicts, krippendorff_alpha, position_bias, repeat_consistency
    from fairwise.tables.columns import described, described_in_words, described_json
    from fairwise.tables.files import PeopleFile

    file = PeopleFile.read(people, id, numeric=names(numeric), na_values=names(na_values))
    labels = None if outcome is None else file.outcome(outcome)
    features = file.features(outcome=outcome)
    note_doubts(file, features)
    columns = described(features)
    answers, account = judgments.read(features)
    with spinner("Comparing answers"):
        agreement = {level: krippendorff_alpha(answers, level) for level in _LEVELS}  # type: ignore[arg-type]
        repeats, sides, checks = repeat_consistency(answers), position_bias(answers), check_failures(answers)
        conflicts = find_conflicts(answers)
    if as_json:
        print_json(
            {
                "people": len(file.table),
                "columns": described_json(columns),
                "outcomes": None if labels is None else _label_counts(labels),
                "judges": answers.n_judges,
                "answers": answers.counts().sum().to_dict(),
                "judged_people": len(answers.person_ids()),
                "rows_that_do_not_count": len(answers.frame) - len(answers.counted()),
                "agreement": {level: _fields(alpha, *_ALPHA) for level, alpha in agreement.items()},
                "repeats": _share_json(repeats.overall),
                "left_favoured": _share_json(sides.overall) | {"p_value": sides.p_value},
                "checks_failed": _share_json(checks.overall),
                "conflicts": _conflicts_json(conflicts),
                "imported": None if account is None else account.as_json(),
            }
        )
        return
    print_import(account)
    _show_fit(file.table, labels, answers, str(people))
    echo(described_in_words(columns))
    heading("Do judges agree?")
    for alpha in agreement.values():
        echo(alpha if isnan(alpha.alpha) else f"{alpha} So judges {alpha.in_words}.")
    heading("Are judges steady?")
    echo(repeats)
    echo(f"{sides} {sides.verdict}".strip())
    echo(checks)
    heading("Do answers conflict?")
    echo(conflicts)
    for line in _examples(conflicts):
        echo(line)
    echo("Nothing of this stops a fit: conflicts only cost accuracy.")


def _show_fit(table: "pd.DataFrame", labels: "pd.Series[Any] | None", answers: "Judgments", name: str) -> None:
    echo(f"{len(table)} people in {name}; {answers}.")
    per_judge = answers.counts().sum(axis=1)
    echo(f"Answers per judge: {per_judge.min()} to {per_judge.max()}, in the middle {per_judge.median():g}.")
    if labels is not None:
        counts = ", ".join(f"{label} for {count} people" for label, count in _label_counts(labels).items())
        echo(f"Outcomes: {counts}.")
    need = " Ordered answers need --favorable-label when fitting." if answers.has_ordered else ""
    echo(f"They fit together: everyone judged is in the table.{need}")


def _examples(conflicts: "Conflicts") -> list[str]:
    """The first few opposed pairs and circles, by name."""
    lines = [
        f"  Opposed, for instance: {row['a']} and {row['b']} ({row['n_for_a']} against {row['n_for_b']} judges)"
        for row in conflicts.opposed.head(_N_EXAMPLES).to_dict("records")
    ]
    every = (*conflicts.cycles_of_judges, *conflicts.cycles_of_panel)
    return lines + [f"  In a circle, for instance: {cycle}" for cycle in every[:_N_EXAMPLES]]


def _label_counts(labels: "pd.Series[Any]") -> dict[str, int]:
    return {str(label): int(count) for label, count in labels.value_counts().sort_index().items()}


def _fields(value: object, *names: str) -> dict[str, object]:
    return {name: getattr(value, name) for name in names}


def _share_json(share: "Share") -> dict[str, object]:
    return _fields(share, "count", "of", "share", "low", "high")


def _conflicts_json(conflicts: "Conflicts") -> dict[str, object]:
    return {
        "shared_pairs": conflicts.n_shared_pairs,
        **_fields(conflicts, "opposed", "contradictions"),
        "cycles_of_judges": [_cycle_json(cycle) for cycle in conflicts.cycles_of_judges],
        "cycles_of_panel": [_cycle_json(cycle) for cycle in conflicts.cycles_of_panel],
    }


def _cycle_json(cycle: "Cycle") -> dict[str, object]:
    return {"judge": cycle.judge, "links": [str(link) for link in cycle.links], "members": list(cycle.members)}
