"""``fairwise plan --simulate``: a study played with simulated people, and what that says about the real one."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairwise.cli.output import print_json
from fairwise.cli.parsing import Budget, budget, fraction
from fairwise.cli.screen import stages
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.auditing.simulated_study import Cost, SimulatedPlan
    from fairwise.simulation.pace import Minutes
    from fairwise.study.folder import StudyFolder

DEFAULT_JUDGES, DEFAULT_STUDIES = (43,), 20
ABOUT_COST = ("gamma", "eta", "favorable_label", "fits")
_PANEL = "Playing a study"
_NO_EXCESS = Budget(0.0)


@dataclass(frozen=True)
class SimulationOptions:
    """What is asked about a study that is played; of these, only a folder makes it so."""

    simulate: Annotated[
        Path | None,
        typer.Option(
            "--simulate",
            help="Play the study in this folder with simulated people.",
            metavar="DIR",
            rich_help_panel=_PANEL,
        ),
    ] = None
    favorable_label: Annotated[
        str | None,
        typer.Option(
            "--favorable-label",
            help="The good outcome, as written in the file; needed where answers can be ordered.",
            metavar="LABEL",
            rich_help_panel=_PANEL,
        ),
    ] = None
    gamma: Annotated[
        float,
        typer.Option(
            "--gamma",
            help="How far two people's chances may differ against a judgment, 0 to 1.",
            parser=fraction,
            metavar="NUMBER",
            rich_help_panel=_PANEL,
        ),
    ] = 0.1
    eta: Annotated[
        Budget,
        typer.Option(
            "--eta",
            help="How much mean excess over gamma the panel may suffer, 0 to 1; none for no limit.",
            parser=budget,
            metavar="NUMBER|none",
            rich_help_panel=_PANEL,
        ),
    ] = _NO_EXCESS
    fits: Annotated[
        int,
        typer.Option("--fits", help="Simulated studies to learn from; 0 for none.", min=0, rich_help_panel=_PANEL),
    ] = 5
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds", help="Usual seconds for a pair.", min=0.1, max=3600, metavar="NUMBER", rich_help_panel=_PANEL
        ),
    ] = 10.0

    def cost_of(self, study: "StudyFolder", given: frozenset[str]) -> "Cost | None":
        """Return what to learn; none without outcomes, which is an error if something about it was asked."""
        from fairwise.auditing.simulated_study import Cost
        from fairwise.datasets.people_file import label_written
        from fairwise.judgments.source import Source
        from fairwise.study.folder import OUTCOME

        if self.fits == 0:
            return None
        asked = [name for name in ABOUT_COST if name in given]
        file = study.path / OUTCOME
        if not file.exists() and not asked:
            return None
        if not file.exists():
            raise InputError(
                f"{option(asked[0])}: {study.path} was made without --outcome, so what judgments cost cannot be told"
            )
        outcome = study.outcome()
        if self.favorable_label is None and study.settings.answers == "four":
            labels = " or ".join(str(label) for label in sorted(outcome.unique().tolist(), key=str))
            raise InputError(
                f"answers of this study can be ordered ('A at least as well as B'), so it must be known which outcome "
                f"is the good one: give --favorable-label {labels}, or --fits 0 to leave out what judgments cost"
            )
        label = None
        if self.favorable_label is not None:
            label = label_written(self.favorable_label, outcome, Source(str(file)), str(outcome.name))
        return Cost(outcome, self.gamma, self.eta.limit, label, self.fits)


def option(name: str) -> str:
    """Return a parameter's name as it is typed."""
    return f"--{name.replace('_', '-')}"


def plan_simulated(
    options: SimulationOptions,
    folder: Path,
    given: frozenset[str],
    sizes: tuple[int, ...],
    *,
    studies: int,
    confidence: float,
    seed: int,
    as_json: bool,
) -> None:
    """Play the study and print what that shows; `given` are the options that were typed."""
    from fairwise.auditing.simulated_study import simulate_study
    from fairwise.cli.plan_words import show
    from fairwise.simulation.pace import minutes_for
    from fairwise.study.folder import StudyFolder

    study = StudyFolder.open(folder)
    cost = options.cost_of(study, given)
    minutes = minutes_for(study.settings.pairs, options.seconds, seed=seed)
    with stages() as progress:
        found = simulate_study(
            study,
            study.people(),
            sizes,
            cost=cost,
            n_studies=studies,
            confidence=confidence,
            seed=seed,
            progress=progress,
        )
    if as_json:
        print_json(_as_json(study, found, cost, minutes, options.seconds, confidence, seed))
        return
    show(study, found, cost, minutes, options.seconds, confidence)


def _as_json(
    study: "StudyFolder",
    found: "SimulatedPlan",
    cost: "Cost | None",
    minutes: "Minutes",
    seconds: float,
    confidence: float,
    seed: int,
) -> dict[str, Any]:
    from fairwise.auditing.simulated_study import PLANNING_WORDS

    learnt = None
    if cost is not None:
        learnt = {
            "gamma": cost.gamma,
            "eta": cost.eta,
            "favorable_label": cost.favorable_label,
            "model": PLANNING_WORDS,
            "fits": found.n_fits,
            "error_without_judgments": found.error_without_judgments,
            "error_of_one_label": found.error_of_one_label,
        }
    return {
        "simulated": True,
        "study": study.path,
        "people": len(study.cards),
        "pairs": study.settings.pairs,
        "design": study.settings.mixture,
        "studies": found.n_studies,
        "confidence": confidence,
        "seed": seed,
        "panels": found.panels,
        "cost": learnt,
        "minutes": asdict(minutes) | {"usual_seconds": seconds},
    }
