"""``fairwise reproduce``: section 5 of the paper, its numbers beside ours."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from fairwise.cli.options import with_option_groups
from fairwise.cli.options.parsing import parse_option, sizes
from fairwise.cli.terminal import Json, check_folder, check_target, echo, note, print_frame, print_json, progress_bars
from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.judgments import Judgments

_ABOUT_OWN_PEOPLE = ("--id", "--outcome", "--favorable-label", "--group")
_COLUMNS = {
    "number": "number",
    "reported": "the paper",
    "paper": "ours, its algorithm",
    "same_oracle": "ours, its heuristic in column generation",
    "default": "ours, default solver",
    "proven": "ours, proven (trees)",
}


@dataclass(frozen=True, eq=False)
class _PanelData:
    """People and what was said about them."""

    people: "pd.DataFrame"
    outcome: "pd.Series[Any]"
    judgments: "Judgments"
    favorable_label: Any
    groups: "pd.Series[Any] | None"


@dataclass(frozen=True)
class PanelOptions:
    """Whose answers about which people: simulated ones about those of COMPAS, unless told otherwise."""

    judgments: Annotated[
        Path | None, Option("--judgments", help="Given answers instead of the simulated panel: .csv or .parquet.")
    ] = None
    people: Annotated[Path | None, Option("--people", help="The people they are about, if not those of COMPAS.")] = None
    id: Annotated[str | None, Option("--id", help="With --people: column with each person's id.")] = None
    outcome: Annotated[str | None, Option("--outcome", help="With --people: column to predict.")] = None
    favorable_label: Annotated[
        str | None, Option("--favorable-label", help="With --people: the outcome that is good to get.")
    ] = None
    group: Annotated[
        str | None, Option("--group", help="With --people: column whose groups to compare, as race in COMPAS.")
    ] = None
    simulated: Annotated[bool, Option("--simulated", help="With --judgments: these answers are simulated, too.")] = (
        False
    )
    seed: Annotated[int, Option("--seed", help="Of the simulated panel.", min=0)] = 0

    @property
    def nobody_real(self) -> bool:
        return self.judgments is None or self.simulated

    def read(self) -> _PanelData:
        """Return people and judgments."""
        from fairwise.datasets import load_compas

        if self.people is not None:
            return self._own_people()
        for name, value in self._options().items():
            if name in _ABOUT_OWN_PEOPLE and value is not None:
                raise typer.BadParameter(f"{name} is about a table of your own: give --people as well")
        table, labels = load_compas()
        if self.judgments is not None:
            return _PanelData(table, labels, _read_judgments(self.judgments, table), 0, table["race"])
        from fairwise.simulation import simulate_panel

        return _PanelData(table, labels, simulate_panel(table, seed=self.seed), 0, table["race"])

    def _own_people(self) -> _PanelData:
        from fairwise.cli.options.people import PeopleOptions

        if self.people is None or self.judgments is None or self.id is None or self.outcome is None:
            raise typer.BadParameter("--people needs --id, --outcome and --judgments as well")
        read = PeopleOptions(self.people, self.id, self.outcome).read()
        groups = None if self.group is None else read.file.groups((self.group,))[self.group]
        label = read.label(self.favorable_label)
        return _PanelData(read.features, read.outcome, _read_judgments(self.judgments, read.features), label, groups)

    def command(self, others: dict[str, object]) -> str:
        """Return the command as it would be typed again, with the options that are not about whom."""
        options = {**self._options(), **others, "--seed": self.seed if self.judgments is None else None}
        words = [f"{name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None]
        return " ".join(["fairwise reproduce", *words, *(["--simulated"] if self.simulated else [])])

    def _options(self) -> dict[str, object]:
        about = ("judgments", "people", "id", "outcome", "favorable_label", "group")
        return {f"--{name.replace('_', '-')}": getattr(self, name) for name in about}


def _read_judgments(path: Path, people: "pd.DataFrame") -> "Judgments":
    from fairwise.cli.options.judgments import JudgmentsOptions

    answers, _ = JudgmentsOptions(path).read(people)
    return answers


@with_option_groups
def reproduce(
    panel: PanelOptions,
    out: Annotated[
        Path | None, Option("--out", help="Folder for the page, the figures and the numbers; made if needed.")
    ] = None,
    markdown: Annotated[
        Path | None, Option("--markdown", help="Also the main results as a .md page; its figures and tables beside it.")
    ] = None,
    rounds: Annotated[
        str, Option("--rounds", help="Rounds of the paper's algorithm to compare; 1000 are always among them.")
    ] = "1000,10000,50000",
    jobs: Annotated[int, Option("--jobs", help="Processes at the same time.", min=1)] = 2,
    as_json: Json = False,
) -> None:
    r"""Do section 5 of the paper again: every subject's curve, the panel, figures (a) to (e), its numbers beside ours.

    Also what its algorithm does with more rounds and other bounds, which takes most of the time (see --rounds).

    Example:

    fairwise reproduce --out section5
    """
    if out is not None:
        if out.exists() and not out.is_dir():
            raise InputError(f"{out}: is a file; give the name of a folder")
        check_folder(out if out.exists() else out.parent)
    if markdown is not None:
        check_target(markdown, (".md",), [panel.judgments, panel.people])
    at_rounds = parse_option("--rounds", sizes, rounds)
    data = panel.read()
    from fairwise.replication import compare, run_study, write_markdown, write_study

    if not as_json:
        note("Simulated people: no real person was asked." if panel.nobody_real else str(data.judgments))
    start = perf_counter()
    with progress_bars() as progress:
        study = run_study(
            data.people,
            data.outcome,
            data.judgments,
            favorable_label=data.favorable_label,
            groups=data.groups,
            simulated=panel.nobody_real,
            rounds=at_rounds,
            n_jobs=jobs,
            progress=progress,
        )
    seconds = perf_counter() - start
    comparison = compare(study)
    command = panel.command({"--out": out, "--markdown": markdown, "--rounds": rounds})
    if out is not None:
        write_study(study, out, command=command, seconds=seconds, seed=panel.seed)
    if markdown is not None:
        write_markdown(study, markdown, command=command)
    if as_json:
        print_json({"simulated": study.simulated, "seconds": seconds, "numbers": comparison, "out": out})
        return
    print_frame(comparison, _COLUMNS)
    if study.simulated:
        echo("\nOurs are from simulated people: they can resemble the paper's numbers, they cannot confirm them.")
    pages = [str(page) for page in (out and out / "section5.html", markdown) if page]
    echo(f"\nWritten: {' and '.join(pages)}" if pages else "\nWith --out FOLDER also as a page with all figures.")
