"""``fairwise frontier``: what each degree of fairness costs, for the panel or for each judge."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from fairwise.cli.options import JudgmentsOptions, fractions, parse_option
from fairwise.cli.terminal import (
    TABLES,
    Json,
    check_target,
    echo,
    note,
    print_frame,
    print_import,
    print_json,
    progress_bar,
    spinner,
    write_table,
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

if TYPE_CHECKING:
    import pandas as pd

_N_ROWS = 25
_OF_PANEL = {
    "error": "error",
    "max_violation": "largest violation",
    "mean_violation": "mean violation",
    "mean_excess": "mean excess",
}
_OVER_JUDGES = {"size": "judges", "min": "least error", "median": "middle", "max": "largest error"}
Fractions = tuple[float, ...]
Budgets = tuple[float | None, ...]


def frontier(
    people: PeopleOptions,
    judgments: JudgmentsOptions,
    learning: LearningOptions,
    out: Annotated[Path, Option(help="Where to write the curves: .csv or .parquet.")],
    gammas: Annotated[str | None, Option(help="Values of gamma: 0:1:0.1, or 0,0.1,0.3.", metavar="RANGE")] = None,
    etas: Annotated[str | None, Option(help="Values of eta, likewise: 0:0.2:0.02.", metavar="RANGE")] = None,
    by: Annotated[Literal["panel", "judge"], Option(help="One curve for the panel, or one for each judge.")] = "panel",
    jobs: Annotated[int, Option(help="Processes at the same time.", min=1)] = 1,
    dask: DaskAddress = None,
    as_json: Json = False,
) -> None:
    r"""Trace error against gamma or eta; stopped at any moment, the same command goes on where it was.

    Example:

    fairwise frontier --people people.csv --id id --outcome reoffended \
      --judgments judgments.csv --favorable-label 0 --gammas 0:1:0.1 \
      --by judge --out frontier.csv
    """
    at_etas: Budgets = (learning.eta,) if etas is None else parse_option("--etas", fractions, etas)
    at_gammas: Fractions = (learning.gamma,)
    if gammas is not None or etas is None:
        at_gammas = parse_option("--gammas", fractions, "0:1:0.1" if gammas is None else gammas)
    check_target(out, TABLES, [people.people, judgments.judgments])
    from fairwise.auditing import frontier as trace_curves

    points: dict[str, Any] = {"gammas": at_gammas, "etas": at_etas, "by": by}
    large = people_in_blocks(people, learning, shared=dask is not None)
    if large is not None:
        settings = learning.settings(block_label(learning.favorable_label, large)) | points
        answers, account = judgments.read()
        with dask_client(dask) as client, spinner(f"Tracing curves over {large.name}, read in blocks"):
            curves = trace_curves(large, None, answers, client=client, **_without_levels(settings))
        write_table(curves, out)
    else:
        task = TrainingData.read(people, judgments, learning)
        account = task.account
        print_import(account, as_json=as_json)
        with dask_client(dask) as client, finished_curves(out) as checkpoint, progress_bar("Points") as progress:
            curves = trace_curves(
                task.features,
                task.outcome,
                task.judgments,
                n_jobs=jobs,
                checkpoint=checkpoint,
                progress=progress,
                sensitive_features=task.sensitive,
                client=client,
                **(points | {"model": task.model()} if task.of_amounts else _without_levels(task.settings | points)),
            )
        write_table(curves, out)
        checkpoint.unlink(missing_ok=True)
    if as_json:
        imported = None if account is None else account.as_json()
        print_json({"by": by, "rows": len(curves), "curves": curves, "imported": imported, "frontier": out})
        return
    _show(curves, by)
    echo(f"\n{len(curves)} points written to {out}.")


def _without_levels(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in {"gamma", "eta"}}


@contextmanager
def finished_curves(out: Path) -> Iterator[Path]:
    """Keep finished curves beside the output until it is written."""
    checkpoint = out.with_name(f"{out.name}.checkpoint")
    if checkpoint.exists():
        note(f"Going on with the finished curves in {checkpoint}")
    try:
        yield checkpoint
    except KeyboardInterrupt:
        if _holds_curves(checkpoint):
            raise KeyboardInterrupt(f"the same command goes on with the finished curves in {checkpoint}") from None
        raise
    finally:
        if checkpoint.exists() and not _holds_curves(checkpoint):
            checkpoint.unlink()


def _holds_curves(checkpoint: Path) -> bool:
    """Whether there is a curve after the line that identifies the run."""
    return checkpoint.exists() and len(checkpoint.read_bytes().splitlines()) > 1


def _show(curves: "pd.DataFrame", by: str) -> None:
    """Print the curve itself, or the least, middle and largest error over all judges at each point."""
    levels = [name for name in ("gamma", "eta") if len(curves[name].unique()) > 1] or ["gamma"]
    headings = {name: name for name in levels}
    if by == "panel":
        print_frame(curves.head(_N_ROWS), headings | _OF_PANEL)
    else:
        over_judges = curves.groupby(levels, dropna=False)["error"].agg(["size", "min", "median", "max"]).reset_index()
        print_frame(over_judges.head(_N_ROWS), headings | _OVER_JUDGES)
