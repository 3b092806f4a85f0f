"""``fairwise plan``: how many people to ask about how many pairs, by a formula or by playing the study."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from fairwise.cli.options import eta_option, fraction, gamma_option, parse_option, sizes, typed_options
from fairwise.cli.terminal import Json, echo, print_frame, print_json, progress_bars
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.auditing.plan import Cost, SimulatedPlan
    from fairwise.study.folder import StudyFolder

_HEADINGS = {
    "judges": "judges",
    "pairs": "pairs",
    "answers": "answers",
    "independent_answers": "worth",
    "half_width": "half-width",
    "simulated_half_width": "simulated",
    "judges_needed": "needed",
    "enough": "enough",
}
_SIMULATIONS, _DEFAULT_JUDGES, _DEFAULT_STUDIES = 2000, (43,), 20
_ABOUT_COST = ("gamma", "eta", "favorable_label", "fits")
_ABOUT_TALKING = ("persuasion", "returning")
_BY_FORMULA = ("pairs", "wanted", "correlation", "rate")
_BY_PLAYING = (*_ABOUT_COST, "seconds", *_ABOUT_TALKING)
_number = partial(Option, parser=fraction, metavar="NUMBER")
_PANEL = "Playing a study"
_played = partial(Option, rich_help_panel=_PANEL)
_LABEL = "The good outcome, as written in the file; needed where answers can be ordered."
_Simulate = Annotated[
    Path | None, _played("--simulate", help="Play the study in this folder with simulated people.", metavar="DIR")
]


@dataclass(frozen=True)
class SimulationOptions:
    """Options of a simulated study; only a folder asks for one."""

    simulate: _Simulate = None
    favorable_label: Annotated[str | None, _played(help=_LABEL, metavar="LABEL")] = None
    gamma: Annotated[float, gamma_option(_PANEL)] = 0.1
    eta: Annotated[float | None, eta_option(_PANEL)] = 0
    fits: Annotated[int, _played(help="Simulated studies to learn from; 0 for none.", min=0)] = 5
    seconds: Annotated[float, _played(help="Usual seconds for a pair.", min=0.1, max=3600, metavar="NUMBER")] = 10.0
    persuasion: Annotated[
        float,
        _played(
            help="Of arms: how often a reason shown changes an answer against it.", parser=fraction, metavar="NUMBER"
        ),
    ] = 0.2
    returning: Annotated[
        float, _played(help="Of a second round: who comes back.", parser=fraction, metavar="NUMBER")
    ] = 0.8

    def talking_in(self, study: "StudyFolder", typed: frozenset[str]) -> bool:
        """Whether there are arms to compare; an error if something about them was asked."""
        from fairwise.auditing.plan import silent_arm

        options = [name for name in _ABOUT_TALKING if name in typed]
        if silent_arm(study) is None and options:
            raise InputError(
                f"{_option(options[0])}: {study.path} has no second round with one arm that is shown no reasons, so "
                "there is no effect of talking to see"
            )
        return silent_arm(study) is not None

    def cost_of(self, study: "StudyFolder", typed: frozenset[str]) -> "Cost | None":
        """Return what to learn; none without outcomes, which is an error if something about it was asked."""
        from fairwise.auditing.plan import Cost
        from fairwise.study.folder import OUTCOME
        from fairwise.tables.files import label_written
        from fairwise.tables.rows import Source

        if self.fits == 0:
            return None
        options = [name for name in _ABOUT_COST if name in typed]
        file = study.path / OUTCOME
        if not file.exists() and not options:
            return None
        if not file.exists():
            raise InputError(
                f"{_option(options[0])}: {study.path} was made without --outcome, so what judgments cost cannot be told"
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
        return Cost(outcome, self.gamma, self.eta, label, self.fits)


def plan(
    context: typer.Context,
    simulation: SimulationOptions,
    judges: Annotated[
        str | None,
        Option(
            help="People to ask: 43, or 20,43,100; left out: as many as needed, or 43 with --simulate.", metavar="SIZES"
        ),
    ] = None,
    pairs: Annotated[str, Option(help="Pairs for each of them: 50, or 10,50.", metavar="SIZES")] = "50",
    wanted: Annotated[float, _number(help="Half-width to reach.")] = 0.05,
    correlation: Annotated[float, _number(help="How alike answers of one judge are.")] = 0.1,
    rate: Annotated[float, _number(help="The average expected; 0.5 is cautious.")] = 0.25,
    confidence: Annotated[float, _number(help="Of the interval.")] = 0.95,
    simulations: Annotated[
        int | None, Option(help="Simulated studies per line: 2000, or 20 with --simulate.", min=0)
    ] = None,
    seed: Annotated[int, Option(help="Of the simulated studies.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Tell how precise a study will be, and how many judges and pairs make it precise enough.

    Example:

    fairwise plan --judges 20,43,100 --pairs 10,50 --wanted 0.05

    A study that is made already, played with simulated people:

    fairwise plan --simulate my-study --judges 20,43 --favorable-label 0
    """
    typed = typed_options(context)
    _refuse_what_does_not_go_together(typed)
    panel = None if judges is None else parse_option("--judges", sizes, judges)
    if simulation.simulate is not None:
        if simulations == 0:
            raise typer.BadParameter("0 studies cannot be played; give 1 or more.", param_hint="'--simulations'")
        run = {"n_studies": simulations or _DEFAULT_STUDIES, "confidence": confidence, "seed": seed}
        _plan_played(simulation, simulation.simulate, typed, panel or _DEFAULT_JUDGES, run, as_json=as_json)
        return
    from fairwise.auditing import plan as planned

    table = planned(
        panel,
        parse_option("--pairs", sizes, pairs),
        wanted=wanted,
        correlation=correlation,
        rate=rate,
        confidence=confidence,
        n_simulations=_SIMULATIONS if simulations is None else simulations,
        seed=seed,
    )
    if as_json:
        print_json({"wanted": wanted, "confidence": confidence, "plans": table})
        return
    echo(f"Expected half-width of the {confidence:.0%} interval of an average over all answers; wanted: {wanted:g}.\n")
    whole = table.assign(independent_answers=table["independent_answers"].round().astype(int))
    print_frame(whole, _HEADINGS)
    echo(
        f"\nworth: independent answers; those of one judge resemble each other (correlation {correlation:g}).\n"
        "simulated: in made-up studies, where each judge has a rate of their own.\n"
        "needed: judges for the half-width wanted, with so many pairs each."
    )


def _refuse_what_does_not_go_together(typed: frozenset[str]) -> None:
    """The formula and a played study have different options."""
    if "simulate" in typed:
        for name in (name for name in _BY_FORMULA if name in typed):
            why = "the study says how many pairs there are" if name == "pairs" else "it belongs to the formula"
            raise typer.BadParameter(f"does not go with --simulate: {why}.", param_hint=f"'{_option(name)}'")
        return
    for name in (name for name in _BY_PLAYING if name in typed):
        raise typer.BadParameter("needs a study to play: add --simulate DIR.", param_hint=f"'{_option(name)}'")


def _option(name: str) -> str:
    """A parameter's name as it is typed."""
    return f"--{name.replace('_', '-')}"


def _plan_played(
    options: SimulationOptions,
    folder: Path,
    typed: frozenset[str],
    panels: tuple[int, ...],
    run: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Play the study and print what that shows."""
    from fairwise.auditing.plan import simulate_arms, simulate_study
    from fairwise.cli.plan_words import show, show_arms
    from fairwise.simulation.respondent import minutes_for
    from fairwise.study.folder import StudyFolder

    study = StudyFolder.open(folder)
    cost = options.cost_of(study, typed)
    talking = options.talking_in(study, typed)
    minutes = minutes_for(study.settings.pairs, options.seconds, seed=run["seed"])
    with progress_bars() as progress:
        plan = simulate_study(study, study.people(), panels, cost=cost, progress=progress, **run)
        arms = None
        if talking:
            planted: dict[str, Any] = {"persuasion": options.persuasion, "returning": options.returning}
            drawn = {"n_studies": run["n_studies"], "seed": run["seed"], "progress": progress}
            arms = simulate_arms(study, study.people(), panels, **planted, **drawn)
    if not as_json:
        show(study, plan, cost, minutes, options.seconds, run["confidence"])
        if arms is not None:
            show_arms(arms, options.persuasion, options.returning)
        return
    print_json(
        {
            "simulated": True,
            "study": study.path,
            "people": len(study.cards),
            "pairs": study.settings.pairs,
            "design": study.settings.mixture,
            "studies": plan.n_studies,
            "confidence": run["confidence"],
            "seed": run["seed"],
            "panels": plan.panels,
            "cost": None if cost is None else _cost_json(cost, plan),
            "arms": arms,
            "minutes": asdict(minutes) | {"usual_seconds": options.seconds},
        }
    )


def _cost_json(cost: "Cost", plan: "SimulatedPlan") -> dict[str, object]:
    from fairwise.auditing.plan import PLANNING_WORDS

    return {
        "gamma": cost.gamma,
        "eta": cost.eta,
        "favorable_label": cost.favorable_label,
        "model": PLANNING_WORDS,
        "fits": plan.n_fits,
        "error_without_judgments": plan.error_without_judgments,
        "error_of_one_label": plan.error_of_one_label,
    }
