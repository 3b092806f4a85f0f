"""``python -m benchmarks [NAME ...]``: measure the shorter rows, or those named; ``--full`` measures all of them.

Every run is compared with the ratios recorded last, and fails where one fell by more than half. Only ``--full`` writes
``docs/benchmarks.md`` and, unless something fell, records its ratios.
"""

from __future__ import annotations

import argparse
import sys
from subprocess import CalledProcessError

from benchmarks import guard, machine, page
from benchmarks.runs import Run, measure

NAMES = (
    "dynamics-speed",
    "panel-speed",
    "numpy-loop",
    "group-constraints",
    "gerryfair",
    "full-lp",
    "against-dynamics",
    "linear-curve",
    "linear-frontier",
    "adult-linear",
    "exact-trees",
    "adult-trees",
    "tree-predictions",
    "decisions",
    "small-models",
    "oracle-regret",
    "held-out",
    "own-estimators",
    "own-pipeline",
    "model-files",
    "scaling",
    "growth",
    "large-table",
    "dask-workers",
    "startup",
    "panel-curve",
    "audit-million",
    "interval-coverage",
    "arm-effects",
    "large-panel",
    "pair-page",
    "answers-sqlite",
    "answers-postgresql",
    "knee-sqlite",
    "knee-postgresql",
    "answers-while-fitting",
    "answers-while-withdrawing",
    "answers-refused",
    "talking-room",
    "starters",
    "active-design",
    "answer-model",
    "without-judges",
    "active-pages",
    "bundle",
    "console-pages",
)
SHORT = {
    "dynamics-speed",
    "panel-speed",
    "numpy-loop",
    "group-constraints",
    "gerryfair",
    "full-lp",
    "decisions",
    "growth",
    "large-table",
    "audit-million",
    "pair-page",
    "answers-sqlite",
    "answers-postgresql",
    "answers-while-withdrawing",
    "answers-refused",
    "bundle",
}
"""Those measured without ``--full``."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--full", action="store_true", help="all rows; write the page")
    parser.add_argument("--record", action="store_true", help="record the ratios of these rows, even if they fell")
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(NAMES))
        return
    unknown = [name for name in arguments.names if name not in NAMES]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are {', '.join(NAMES)}")
    if arguments.full and arguments.names:
        parser.error("--full is about all rows: name none")
    on = machine.description()
    chosen = arguments.names or [name for name in NAMES if arguments.full or name in SHORT]
    runs: dict[str, Run] = {}
    for name in chosen:
        if (run := told(name)) is not None:
            runs[name] = run
            if arguments.full:
                page.write(runs, on)  # after each row: whatever ends the run leaves those before it
    print(f"{sum(run.seconds for run in runs.values()) / 60:.1f} minutes")
    checked({name: run.row.ratios for name, run in runs.items()}, full=arguments.full, record=arguments.record)
    if len(runs) < len(chosen):
        sys.exit(f"Could not be measured: {', '.join(name for name in chosen if name not in runs)}")


def told(name: str) -> Run | None:
    """Measure and print a row; None where that failed, which must not lose what the others measured."""
    try:
        run = measure(name)
    except CalledProcessError:
        print(f"{name} failed, as told above\n", flush=True)
        return None
    print(f"{name} ({run.seconds:.0f} s, {run.gib})\n  bar       {run.row.bar}\n  measured  {run.row.measured}")
    ratios = ", ".join(f"{ratio} {value:.3g}" for ratio, value in run.row.ratios.items())
    print(f"  reached   {run.row.verdict}\n  ratios    {ratios}\n\n{page.notes(run)}\n", flush=True)
    return run


def checked(ratios: guard.Ratios, *, full: bool, record: bool) -> None:
    """Compare with what is recorded, record, and fail where something fell that was not to be recorded."""
    complaints = guard.fallen(ratios, guard.read())
    if record or (full and not complaints):
        guard.record(ratios)
    if complaints and not record:
        again = f"python -m benchmarks {'--full' if full else 'NAME'} --record"
        sys.exit("\n".join([*complaints, f"Run it on an idle machine; where it is meant to be so, record: {again}"]))


if __name__ == "__main__":
    main()
