"""``fairwise plan``: how many people to ask about how many pairs."""

from typing import Annotated

import typer

from fairwise.cli.expanded import expanded
from fairwise.cli.output import print_json
from fairwise.cli.parsing import behind, fraction, sizes
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


@expanded
def plan(
    judges: Annotated[
        str | None,
        typer.Option("--judges", help="People to ask: 43, or 20,43,100; left out: as many as needed.", metavar="SIZES"),
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
    simulations: Annotated[int, typer.Option("--simulations", help="Simulated studies per line.", min=0)] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="Of the simulated studies.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Tell how precise a study will be, and how many judges and pairs make it precise enough.

    Example:

    fairwise plan --judges 20,43,100 --pairs 10,50 --wanted 0.05
    """
    panel = None if judges is None else behind("--judges", sizes, judges)
    shown = behind("--pairs", sizes, pairs)
    from fairwise.auditing import plan as planned

    table = planned(
        panel,
        shown,
        wanted=wanted,
        correlation=correlation,
        rate=rate,
        confidence=confidence,
        n_simulations=simulations,
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
