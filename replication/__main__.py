"""``python -m replication``: section 5 of the paper, its numbers beside ours."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from time import perf_counter

import pandas as pd

from fairwise import Judgments
from fairwise.cli.terminal import check_folder, check_target, print_frame, progress_bars
from fairwise.datasets import load_compas
from fairwise.errors import FairwiseError, InputError
from fairwise.simulation import simulate_panel
from fairwise.tables.files import PeopleFile, label_written
from replication import compare, run_study, write_markdown, write_study
from replication.study import ROUNDS

_OWN_PEOPLE = ("id", "outcome", "favorable_label", "group")
_COLUMNS = {
    "number": "number",
    "reported": "the paper",
    "paper": "ours, its algorithm",
    "same_oracle": "ours, its heuristic in column generation",
    "default": "ours, default solver",
    "proven": "ours, proven (trees)",
}


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    options = argparse.ArgumentParser(
        prog="python -m replication",
        description="Repeat section 5 of the paper: every subject's curve, the panel, figures (a) to (e), and what its "
        "algorithm does with more rounds and other bounds (this takes most of the time, see --rounds).",
        epilog="Example: python -m replication --out section5",
        allow_abbrev=False,
    )
    files = options.add_argument_group("answers and people (default: a simulated panel about COMPAS)")
    files.add_argument("--judgments", type=Path, metavar="FILE", help="Answers of real people, .csv or .parquet.")
    files.add_argument("--people", type=Path, metavar="FILE", help="The people they are about, if not those of COMPAS.")
    files.add_argument("--id", metavar="COLUMN", help="With --people: column with each person's id.")
    files.add_argument("--outcome", metavar="COLUMN", help="With --people: column to predict.")
    files.add_argument("--favorable-label", metavar="LABEL", help="With --people: the outcome that is good to get.")
    files.add_argument("--group", metavar="COLUMN", help="With --people: column whose groups to compare.")
    files.add_argument("--simulated", action="store_true", help="With --judgments: these answers are simulated.")
    files.add_argument("--seed", type=int, default=0, help="Of the simulated panel (0).")
    options.add_argument("--out", type=Path, metavar="FOLDER", help="Folder for the page, the figures and the numbers.")
    options.add_argument("--markdown", type=Path, metavar="FILE", help="Main results as .md, with figures and tables.")
    options.add_argument(
        "--rounds",
        type=_rounds,
        default=ROUNDS,
        help="Rounds of the paper's algorithm to compare (1000,10000,50000); 1000 are always among them.",
    )
    options.add_argument("--jobs", type=int, default=2, help="Processes at the same time (2).")
    options.add_argument("--json", action="store_true", help="Print the numbers as JSON.")
    return options


def _rounds(text: str) -> tuple[int, ...]:
    try:
        rounds = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be whole numbers, such as 1000,10000") from None
    if rounds[0] < 1:
        raise argparse.ArgumentTypeError(f"{rounds[0]} must be at least 1")
    return tuple(rounds)


def main(words: list[str] | None = None) -> int:
    """Run the command; return 0 if it is done, 1 if it could not be done."""
    options = parser()
    args = options.parse_args(words)
    own = [f"--{name.replace('_', '-')}" for name in _OWN_PEOPLE if getattr(args, name) is not None]
    if args.people is None and own:
        options.error(f"{own[0]} is about a table of your own: give --people as well")
    if args.people is not None and None in (args.judgments, args.id, args.outcome):
        options.error("--people needs --id, --outcome and --judgments as well")
    try:
        _replicate(args)
    except (FairwiseError, OSError) as error:
        sys.stderr.write(f"replication: {error}\n")
        return 1
    return 0


def _replicate(args: argparse.Namespace) -> None:
    if args.out is not None:
        if args.out.exists() and not args.out.is_dir():
            raise InputError(f"{args.out}: is a file; give the name of a folder")
        check_folder(args.out if args.out.exists() else args.out.parent)
    if args.markdown is not None:
        check_target(args.markdown, (".md",), [args.judgments, args.people])
    people, outcome, favorable, groups = _read_people(args)
    simulated = args.judgments is None or args.simulated
    if args.judgments is None:
        judgments = simulate_panel(people, seed=args.seed)
    else:
        judgments = Judgments.read(args.judgments, people=people)
    if not args.json:
        print("Simulated people: no real person was asked." if simulated else judgments, file=sys.stderr)

    start = perf_counter()
    with progress_bars() as progress:
        study = run_study(
            people,
            outcome,
            judgments,
            favorable_label=favorable,
            groups=groups,
            simulated=simulated,
            rounds=args.rounds,
            n_jobs=args.jobs,
            progress=progress,
        )
    seconds = perf_counter() - start
    command = _command(args)
    if args.out is not None:
        write_study(study, args.out, command=command, seconds=seconds, seed=args.seed)
    if args.markdown is not None:
        write_markdown(study, args.markdown, command=command)
    comparison = compare(study)
    if args.json:
        numbers = comparison.to_dict("records")
        print(
            json.dumps({"simulated": simulated, "seconds": seconds, "numbers": numbers, "out": args.out}, default=str)
        )
        return
    print_frame(comparison, _COLUMNS)
    if simulated:
        print("\nOurs are from simulated people: they can resemble the paper's numbers, they cannot confirm them.")
    pages = [str(page) for page in (args.out and args.out / "section5.html", args.markdown) if page]
    print(f"\nWritten: {' and '.join(pages)}" if pages else "\nWith --out FOLDER also as a page with all figures.")


def _read_people(args: argparse.Namespace) -> tuple[pd.DataFrame, pd.Series, object, pd.Series | None]:
    """Return people, outcome, favorable label and groups."""
    if args.people is None:
        people, outcome = load_compas()
        return people, outcome, 0, people["race"]
    file = PeopleFile.read(args.people, args.id, args.outcome)
    people, outcome = file.features(outcome=args.outcome), file.outcome(args.outcome)
    label = args.favorable_label
    favorable = None if label is None else label_written(label, outcome, file.source, str(outcome.name))
    return people, outcome, favorable, file.groups((args.group,))[args.group] if args.group else None


def _command(args: argparse.Namespace) -> str:
    """Return the command as it would be typed again."""
    names = ("judgments", "people", *_OWN_PEOPLE, "out", "markdown")
    options = {f"--{name.replace('_', '-')}": getattr(args, name) for name in names}
    options["--rounds"] = ",".join(map(str, args.rounds))
    options["--seed"] = args.seed if args.judgments is None else None
    words = [f"{name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None]
    return " ".join(["python -m replication", *words, *(["--simulated"] if args.simulated else [])])


if __name__ == "__main__":
    sys.exit(main())
