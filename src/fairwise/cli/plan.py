"""``fairwise plan``: how many people to ask about how many pairs, by a formula or by playing the study."""

from typing import Annotated

import typer

from fairwise.cli.expanded import expanded
from fairwise.cli.output import print_json
from fairwise.cli.parsing import behind, fraction, sizes
from fairwise.cli.plan_simulated import (
    ABOUT_COST,
    DEFAULT_JUDGES,
    DEFAULT_STUDIES,
    SimulationOptions,
    option,
    plan_simulated,
)
from fairwise.cli.screen import Json, print_frame, say

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
_SIMULATIONS = 2000
_BY_FORMULA, _BY_PLAYING = ("pairs", "wanted", "correlation", "rate"), (*ABOUT_COST, "seconds")


@expanded
def plan(
    context: typer.Context,
    simulation: SimulationOptions,
    judges: Annotated[
        str | None,
        typer.Option(
            "--judges",
            help="People to ask: 43, or 20,43,100; left out: as many as needed, or 43 with --simulate.",
            metavar="SIZES",
        ),
    ] = None,
    pairs: Annotated[
        str, typer.Option("--pairs", help="Pairs for each of them: 50, or 10,50.", metavar="SIZES")
    ] = "50",
    wanted: Annotated[
        float, typer.Option("--wanted", help="Half-width to reach.", parser=fraction, metavar="NUMBER")
    ] = 0.05,
    correlation: Annotated[
        float,
        typer.Option("--correlation", help="How alike answers of one judge are.", parser=fraction, metavar="NUMBER"),
    ] = 0.1,
    rate: Annotated[
        float, typer.Option("--rate", help="The average expected; 0.5 is cautious.", parser=fraction, metavar="NUMBER")
    ] = 0.25,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Of the interval.", parser=fraction, metavar="NUMBER")
    ] = 0.95,
    simulations: Annotated[
        int | None,
        typer.Option("--simulations", help="Simulated studies per line: 2000, or 20 with --simulate.", min=0),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the simulated studies.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Tell how precise a study will be, and how many judges and pairs make it precise enough.

    Example:

    fairwise plan --judges 20,43,100 --pairs 10,50 --wanted 0.05

    A study that is made already, played with simulated people:

    fairwise plan --simulate my-study --judges 20,43 --favorable-label 0
    """
    given = _given(context)
    _refuse_what_does_not_go_together(given)
    panel = None if judges is None else behind("--judges", sizes, judges)
    if simulation.simulate is not None:
        if simulations == 0:
            raise typer.BadParameter("0 studies cannot be played; give 1 or more.", param_hint="'--simulations'")
        plan_simulated(
            simulation,
            simulation.simulate,
            given,
            panel or DEFAULT_JUDGES,
            studies=simulations or DEFAULT_STUDIES,
            confidence=confidence,
            seed=seed,
            as_json=as_json,
        )
        return
    shown = behind("--pairs", sizes, pairs)
    from fairwise.auditing import plan as planned

    table = planned(
        panel,
        shown,
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
    say(f"Expected half-width of the {confidence:.0%} interval of an average over all answers; wanted: {wanted:g}.\n")
    whole = table.assign(independent_answers=table["independent_answers"].round().astype(int))
    print_frame(whole, _HEADINGS)
    say(
        f"\nworth: independent answers; those of one judge resemble each other (correlation {correlation:g}).\n"
        "simulated: in made-up studies, where each judge has a rate of their own.\n"
        "needed: judges for the half-width wanted, with so many pairs each."
    )


def _given(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that were typed."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE")


def _refuse_what_does_not_go_together(given: frozenset[str]) -> None:
    """The formula and a played study have different options."""
    if "simulate" in given:
        for name in (name for name in _BY_FORMULA if name in given):
            why = "the study says how many pairs there are" if name == "pairs" else "it belongs to the formula"
            raise typer.BadParameter(f"does not go with --simulate: {why}.", param_hint=f"'{option(name)}'")
        return
    for name in (name for name in _BY_PLAYING if name in given):
        raise typer.BadParameter("needs a study to play: add --simulate DIR.", param_hint=f"'{option(name)}'")
