"""``fairwise fit``: learn a model, say what is proved about it and how it does on what it has not seen."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from fairwise.cli.options import JudgmentsOptions
from fairwise.cli.terminal import (
    Json,
    check_target,
    echo,
    heading,
    note,
    print_frame,
    print_import,
    print_json,
    spinner,
)
from fairwise.cli.training import (
    DaskAddress,
    LearningOptions,
    PeopleOptions,
    TrainingData,
    block_label,
    dask_client,
    people_in_blocks,
)
from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.auditing import HeldOut
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.solvers.progress import FitProgress

HeldOutBy = Literal["pair", "person", "judge"]
MODELS, PRICES = (".skops",), (".parquet",)


def fit(
    people: PeopleOptions,
    judgments: JudgmentsOptions,
    learning: LearningOptions,
    out: Annotated[Path | None, Option(help="Where to keep the model: model.skops.")] = None,
    prices: Annotated[
        Path | None, Option(help="Where to keep what each judgment costs, beside the model: prices.parquet.")
    ] = None,
    deterministic: Annotated[
        bool, Option("--deterministic", help="Decide without chance, and say what that breaks.")
    ] = False,
    predicted: Annotated[int, Option(help="Also use so many judgments about pairs nobody was asked about.", min=0)] = 0,
    coverage: Annotated[
        float, Option(help="How often the sets hold that predicted judgments come from.", min=0.01, max=0.99)
    ] = 0.9,
    held_out: Annotated[bool, Option("--held-out/--no-held-out", help="Measure on held-out parts.")] = True,
    held_out_by: Annotated[HeldOutBy, Option(help="What is new in a held-out part.")] = "pair",
    splits: Annotated[int, Option(help="How many times to split and refit.", min=1)] = 5,
    dask: DaskAddress = None,
    as_json: Json = False,
) -> None:
    r"""Learn the most accurate model that respects the judgments; print its certificate and its held-out error.

    Example:

    fairwise fit --people people.csv --id id --outcome reoffended \
      --judgments judgments.csv --favorable-label 0 --gamma 0.1 \
      --out model.skops
    """
    _check_targets(out, prices, [people.people, judgments.judgments])
    _check_amounts(learning, dask, deterministic=deterministic)
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.tables.columns import described_in_words, described_json

    large = people_in_blocks(people, learning, shared=dask is not None, in_memory=deterministic or predicted > 0)
    if large is None:
        task = _extended(TrainingData.read(people, judgments, learning), predicted, coverage)
        model, answers, account = task.model(), task.judgments, task.account
        what, how = f"{len(task.features)} people", ""
    else:  # read twice, and never held
        model = PairwiseFairClassifier(**learning.settings(block_label(learning.favorable_label, large)))
        answers, account = judgments.read()
        what, how = f"{large.name} in blocks", "read in blocks, "
    print_import(account, as_json=as_json)
    with dask_client(dask) as client, spinner(f"Fitting {what}") as show:

        def callback(progress: FitProgress) -> None:
            show(f"iteration {progress.iteration}, error {progress.error:.4f}")

        if large is None:
            model = task.fitted(client, callback, deterministic=deterministic)
        else:
            model.fit(large, None, judgments=answers, client=client, callback=callback)
    if out is not None:
        model.save(out, prices=prices)
    if not as_json:
        echo(f"{model.n_people_} people, {how}{len(model.features_)} columns. {answers}")
        echo(described_in_words(model.columns_))
        _print_summary(model)
    measured, reason = None, "the people are read in blocks, not held in memory."
    if large is None and held_out:
        also = (predicted, coverage)
        measured, reason = _measured(model, task, held_out_by, splits, dask, also, deterministic=deterministic)
    if as_json:
        print_json(
            {
                "certificate": asdict(model.certificate_),
                "held_out": None if measured is None else _held_out_json(measured),
                "people": model.n_people_,
                "judges": answers.n_judges,
                "answers": len(answers.asked().counted()),
                "predicted": answers.n_predicted,
                **(
                    {"amounts": model.amounts_.tolist()}
                    if learning.of_amounts
                    else {"classes": model.classes_.tolist()}
                ),
                "features": model.features_,
                "columns": described_json(model.columns_),
                "group_rules": model.group_rules_,
                "classifiers": len(model.weights_),
                "derandomization": asdict(model.derandomization_) if deterministic else None,
                "imported": None if account is None else account.as_json(),
                "model": out,
                "prices": prices,
            }
        )
        return
    if held_out or large is not None:
        _print_held_out(measured, held_out_by, reason)
    if out is not None:
        echo(f"\nModel kept in {out}" + (f", what each judgment costs in {prices}" if prices else ""))


def _extended(task: TrainingData, n_pairs: int, coverage: float) -> TrainingData:
    """Add judgments about other pairs of these people that a model of the answers is sure of, if they are asked for."""
    if not n_pairs:
        return task
    from fairwise.judgments.answer_model import AnswerModel

    seed = task.settings["random_state"]
    with spinner(f"Predicting {n_pairs} judgments"):
        answers = AnswerModel(random_state=seed).fit(task.judgments)
        extended = task.judgments.extended(answers, n_pairs, coverage, people=task.features, random_state=seed)
    return replace(task, judgments=extended)


def _check_targets(out: Path | None, prices: Path | None, inputs: list[Path | None]) -> None:
    if out is not None:
        check_target(out, MODELS, inputs)
    if prices is not None:
        if out is None:
            raise InputError("--prices: are of a model that is kept; give --out, too")
        check_target(prices, PRICES, [*inputs, out])


def _check_amounts(learning: LearningOptions, dask: str | None, *, deterministic: bool) -> None:
    if learning.of_amounts and (deterministic or dask is not None):
        raise InputError(
            "--deterministic and --dask: are for labels; what a model of amounts says is no matter of chance"
        )


def _print_summary(model: PairwiseFairClassifier) -> None:
    heading("Certificate")
    echo(model.certificate_)
    count = len(model.weights_)
    echo(f"Classifiers                    {count}" + ("   (decides without chance)" if count == 1 else ""))
    if hasattr(model, "derandomization_"):
        heading("Without chance")
        echo(model.derandomization_)
    if len(model.group_rules_):
        heading("Rules for groups")
        print_frame(model.group_rules_, {name: name for name in ("rule", "value", "limit", "price")})


def _measured(
    model: PairwiseFairClassifier,
    task: TrainingData,
    by: HeldOutBy,
    splits: int,
    dask: str | None,
    predicted: tuple[int, float],
    *,
    deterministic: bool,
) -> tuple[HeldOut | None, str]:
    """Refit on parts; with too few judgments to split, say so instead of losing the fit."""
    if task.of_amounts:
        return None, "of models of amounts it is not measured yet."
    if model.certificate_.stopped == "interrupted":
        return None, "the search was interrupted."
    from fairwise.auditing import held_out

    try:
        times = splits * (2 if predicted[0] else 1)
        with dask_client(dask) as client, spinner(f"Refitting {times} times on part of the data"):
            measured = held_out(
                task.model(),
                task.features,
                task.outcome,
                task.judgments,
                by=by,
                n_repeats=splits,
                fit_params={} if task.sensitive is None else {"sensitive_features": task.sensitive},
                deterministic=deterministic,
                seed=task.settings["random_state"],
                client=client,
                n_predicted=predicted[0],
                coverage=predicted[1],
            )
    except InputError as error:
        return None, str(error)
    return measured, ""


def _print_held_out(measured: HeldOut | None, by: HeldOutBy, reason: str) -> None:
    if measured is None:
        note(f"Held-out error not measured: {reason}")
    else:
        heading(f"Held out by {by}")
        echo(_in_words(measured))


_METRICS = {
    "error": "Error",
    "mean_violation": "Mean violation of 'same'",
    "mean_excess": "Mean excess over gamma",
    "share_followed": "Judgments followed",
}


def _in_words(measured: HeldOut) -> str:
    from fairwise.auditing.audit import NOT_COVERED

    count = measured.by_split["split"].nunique()
    lines = [f"{'':31}{'training':>8}  {'held out':>8}   {measured.confidence:.0%} interval"]
    for name, words in _METRICS.items():
        row = measured.overall.loc[name].to_dict()
        mark = "" if row["covered"] else " *"
        ends = "" if isnan(row["low"]) else f"   {row['low']:.4f} to {row['high']:.4f}{mark}"
        lines.append(f"{words:31}{row['training']:8.4f}  {row['held_out']:8.4f}{ends}")
    if any(line.endswith("*") for line in lines):
        lines.append(f"  {NOT_COVERED}")
    lines.append(
        f"  {count} random {'split' if count == 1 else 'splits'}, each with 30 % of people and {measured.by}s held out."
    )
    if measured.dropped:
        lines.append(f"  {measured.dropped:.0%} of the answers were about one person of each side and left out.")
    if measured.predicted is not None:
        lines += _compared_in_words(measured.predicted, measured.confidence)
    return "\n".join(lines)


def _compared_in_words(predicted: pd.DataFrame, confidence: float) -> list[str]:
    """Compare the held-out parts with and without predicted judgments."""
    lines = ["", f"{'Held out':31}{'asked':>8}  {'+ predicted':>11}   difference, {confidence:.0%} interval"]
    for name, words in _METRICS.items():
        row = predicted.loc[name].to_dict()
        ends = (
            "" if isnan(row["low"]) else f"   {row['low']:+.4f} to {row['high']:+.4f}{'' if row['covered'] else ' *'}"
        )
        lines.append(f"{words:31}{row['asked']:8.4f}  {row['with_predicted']:11.4f}   {row['difference']:+.4f}{ends}")
    lines.append("  Predicted for each refit from its own part of the answers; the lines further above go without.")
    return lines


def _held_out_json(measured: HeldOut) -> dict[str, object]:
    return {
        "by": measured.by,
        "splits": measured.by_split["split"].nunique(),
        "confidence": measured.confidence,
        "dropped": measured.dropped,
        **_by_metric(measured.overall),
        "with_predicted": None if measured.predicted is None else _by_metric(measured.predicted),
    }


def _by_metric(table: pd.DataFrame) -> dict[str, object]:
    return {str(name): row.to_dict() for name, row in table.iterrows()}
