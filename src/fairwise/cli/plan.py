"""``fairwise plan``: how many people to ask about how many pairs, by a formula or by playing the study."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from math import exp, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from fairwise.cli.options import eta_option, fraction, gamma_option, parse_option, sizes, typed_options
from fairwise.cli.terminal import Json, echo, heading, print_frame, print_json, progress_bars
from fairwise.errors import InputError
from fairwise.numbers import counted, difference, in_100, rounded, setting

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.auditing.plan import Cost, SimulatedPlan
    from fairwise.simulation.respondent import Minutes
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


_ONE_IN_TWENTY = 1.645  # standard deviations above the middle of a normal distribution
_FEW_MINUTES = 5


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

    def talking_in(self, study: StudyFolder, typed: frozenset[str]) -> bool:
        """Whether there are arms to compare; an error if something about them was asked."""
        from fairwise.auditing.plan import silent_arm

        options = [name for name in _ABOUT_TALKING if name in typed]
        if silent_arm(study) is None and options:
            raise InputError(
                f"{_option(options[0])}: {study.path} has no second round with one arm that is shown no reasons, so "
                "there is no effect of talking to see"
            )
        return silent_arm(study) is not None

    def cost_of(self, study: StudyFolder, typed: frozenset[str]) -> Cost | None:
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
        _print_simulation(study, plan, cost, minutes, options.seconds, run["confidence"])
        if arms is not None:
            _print_arms(arms, options.persuasion, options.returning)
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


def _cost_json(cost: Cost, plan: SimulatedPlan) -> dict[str, object]:
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


def _print_simulation(
    study: StudyFolder, plan: SimulatedPlan, cost: Cost | None, minutes: Minutes, seconds: float, confidence: float
) -> None:
    """Print what the simulated studies showed, one question after the other."""
    _print_study(study, plan)
    _print_agreement(study, plan, confidence)
    if study.settings.design.repeats:
        _print_repeats(plan.panels, confidence)
    _print_cost(study, plan, cost)
    _print_time(study, minutes, seconds)


def _print_study(study: StudyFolder, plan: SimulatedPlan) -> None:
    settings = study.settings
    kinds = ", ".join(f"{number} {kind}" for kind, number in settings.mixture.items())
    echo(
        f"Simulated: no real people were asked. {counted(plan.n_studies, 'study', 'studies')} for each number of "
        "judges, each time with other made-up people.\n"
        f"{study.path}: {counted(settings.pairs, 'pair')} for each judge ({kinds}), from {counted(len(study.cards))} "
        "people; the same pairs that real participants will be shown.\n"
        "This tells how precise a study of this size can be, and what answers like these would cost. It does not tell "
        "what real people will say."
    )


def _print_agreement(study: StudyFolder, plan: SimulatedPlan, confidence: float) -> None:
    from fairwise.judgments.agreement import LEAST_JUDGES, LEAST_PAIRS

    panels = plan.panels
    heading("How well will agreement be known?")
    by_design = study.settings.design.fixed or study.settings.design.anchors
    if not by_design and not panels["shared_pairs"].any():
        echo(f"Not at all: no pair is shown to two judges, so nobody can say whether they agree. {_advice(study)}")
        return
    print_frame(
        panels.assign(
            alpha=_texts(panels["alpha"]),
            interval=_ranges(panels["alpha_low"], panels["alpha_high"]),
            half_width=_texts(panels["half_width"]),
        ),
        {
            "judges": "judges",
            "shared_pairs": "shared pairs",
            "alpha": "alpha",
            "interval": f"{confidence:.0%} interval",
            "half_width": "half-width",
        },
    )
    echo(
        "\nalpha: Krippendorff's; 1 is full agreement, 0 is chance. It follows from the made-up preferences: do not "
        "expect it of real people.\n"
        "interval, half-width: as fairwise check will tell them, on average. This is what to plan with."
    )
    if ((panels["judges"] < LEAST_JUDGES) | (panels["shared_pairs"] < LEAST_PAIRS)).any():
        echo(f"With fewer than {LEAST_JUDGES} judges or {LEAST_PAIRS} shared pairs the interval is a rough guide only.")
    if panels["alpha_low"].isna().any():
        echo("none: cannot be told from so few answers about the same pairs.")
    for row in panels[(panels["measured"] > 0) & (panels["measured"] < plan.n_studies)].to_dict("records"):
        echo(
            f"With {counted(row['judges'], 'judge')}, only {row['measured']} of {plan.n_studies} simulated studies "
            "have an interval at all: ask more people, or show them more of the same pairs."
        )
    if not by_design:
        echo(f"No pair is shared on purpose; these happen to be shown to two or more judges. {_advice(study)}")


def _advice(study: StudyFolder) -> str:
    """Return what to change in the settings for agreement to be measured."""
    settings = study.settings
    anchors = min(max(1, settings.pairs // 5), settings.uniform)
    if not anchors:
        return "Have some anchors instead of other pairs: they are the same for everyone."
    return (
        f"Before anyone begins, set anchors = {anchors} below [design] in {study.path / 'study.toml'}: so many of the "
        f"{counted(settings.pairs, 'pair')} are then the same for everyone."
    )


def _print_repeats(panels: pd.DataFrame, confidence: float) -> None:
    heading("How well will it be known whether judges are steady?")
    table = panels.assign(
        same_again=[_percent(share) for share in panels["same_again"]],
        interval=[
            f"{_percent(low)} to {_percent(high)}"
            for low, high in zip(panels["same_again_low"], panels["same_again_high"], strict=True)
        ],
    )
    names = {"judges": "judges", "repeated": "repeated pairs", "same_again": "same answer again"}
    print_frame(table, names | {"interval": f"{confidence:.0%} interval"})
    echo("\nHow steady simulated people are was decided beforehand; plan with the width of the interval.")


def _print_cost(study: StudyFolder, plan: SimulatedPlan, cost: Cost | None) -> None:
    from fairwise.auditing.plan import PLANNING_WORDS
    from fairwise.study.folder import OUTCOME

    heading("What will the judgments cost in error?")
    if cost is None:
        echo(
            "Not told: left out by --fits 0."
            if (study.path / OUTCOME).exists()
            else "Not told: this study was made without --outcome, so there is nothing to predict."
        )
        return
    plain = plan.error_without_judgments
    names = {"judges": "judges", "error": "error", "error_lowest": "lowest", "error_highest": "highest", "cost": "cost"}
    above = [float(difference(error, plain, 4)) for error in plan.panels["error"]]
    print_frame(plan.panels.assign(cost=above), names)
    echo(
        "\nerror: the share of the study's people who are predicted wrongly (0.25 is 25 in 100), on average over "
        f"{counted(plan.n_fits, 'simulated study', 'simulated studies')}; lowest, highest: in one of them.\n"
        f"cost: how much that is above {plain:.4f}, the error without judgments. Predicting the more frequent outcome "
        f"for everyone has an error of {plan.error_of_one_label:.4f}.\n"
        f"Learnt from the columns shown, with gamma {setting(cost.gamma)} and eta {setting(cost.eta)}: "
        f"{PLANNING_WORDS}. On new people, with another model and with real answers the numbers will differ. A larger "
        "--gamma or --eta asks for less and so costs no more."
    )


def _print_time(study: StudyFolder, minutes: Minutes, seconds: float) -> None:
    from fairwise.simulation.respondent import PACE_SPREAD, THOUGHT_SPREAD

    settings = study.settings
    heading("How long will a participant take?")
    digits = 1 if minutes.median < _FEW_MINUTES else 0
    low, median, high = (f"{value:.{digits}f}" for value in (minutes.low, minutes.median, minutes.high))
    echo(
        f"About {median} minutes for {counted(settings.pairs, 'pair')}; nine in ten take {low} to {high} minutes.\n"
        f"Assumed, not measured: a usual pair takes {seconds:g} s (--seconds); one person in twenty is at least "
        f"{exp(_ONE_IN_TWENTY * PACE_SPREAD):.1f} times as slow in everything, and one pair in twenty takes anyone "
        f"{exp(_ONE_IN_TWENTY * THOUGHT_SPREAD):.1f} times as long as usual or longer."
    )
    extras = {
        "the practice pair": settings.practice,
        "the questions about the buttons": settings.comprehension_check,
        "writing reasons": settings.ask_why,
        "saying how sure one is": settings.ask_confidence,
    }
    more = "".join(f", {what}" for what, there in extras.items() if there)
    echo(
        f"Not included: reading consent and task{more}, looking through one's answers, the closing questions, and "
        "breaks. A pilot tells more: fairwise export has the seconds of every answer."
    )


def _print_arms(arms: pd.DataFrame, persuasion: float, returning: float) -> None:
    """Print how often an effect of showing reasons would be seen."""
    heading("Will it be seen what talking does?")
    table = arms.assign(
        returned=arms["returned"].round().astype(int),
        effect=[f"{in_100(effect)} points" for effect in arms["effect"]],
        half_width=["none" if isnan(width) else f"{in_100(width)} points" for width in arms["half_width"]],
        found=[_percent(share) for share in arms["found"]],
    )
    names = {"judges": "judges", "arm": "arm", "returned": "come back", "effect": "effect"}
    print_frame(table, names | {"half_width": "half-width", "found": "found"})
    echo(
        f"\nPlanted: a reason shown changes {persuasion:.0%} of the answers against it (--persuasion), and "
        f"{returning:.0%} come back (--returning).\n"
        "effect: how many more of 100 answers asked for twice are changed towards the reasons, because they are shown; "
        "half-width: of its interval.\n"
        "found: in so many studies fairwise compare-arms has a p of at most 0.05. 80% is what is usually planned for."
    )


def _percent(share: float) -> str:
    return "none" if isnan(share) else f"{rounded(100 * share, 0)}%"


def _texts(numbers: pd.Series[float]) -> list[str]:
    return ["none" if isnan(number) else f"{rounded(number, 2)}" for number in numbers]


def _ranges(low: pd.Series[float], high: pd.Series[float]) -> list[str]:
    both = zip(_texts(low), _texts(high), strict=True)
    return ["none" if "none" in ends else " to ".join(ends) for ends in both]
