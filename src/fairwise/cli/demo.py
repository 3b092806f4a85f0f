"""``fairwise demo``: the bundled COMPAS data, a simulated panel, a fit, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from fairwise.learning.estimator import PairwiseFairClassifier

_SHOWN = 5


def demo(
    gamma: Annotated[float, typer.Option(help="How far two probabilities may differ against a judgment.")] = 0.3,
    eta: Annotated[float, typer.Option(help="How much mean excess the panel as a whole may suffer.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the simulated panel.", min=0)] = 0,
) -> None:
    """Fit the bundled COMPAS data with a panel of 43 simulated people and show what their judgments cost.

    Example: [bold]fairwise demo --gamma 0 --eta 0.05[/bold]
    """
    from rich.console import Console

    from fairwise.datasets import load_compas
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.settings import check_settings
    from fairwise.simulation import simulate_panel

    check_settings(PairwiseFairClassifier(gamma=gamma, eta=eta).get_params())
    console = Console()
    people, outcome = load_compas()
    console.print(f"[bold]COMPAS[/bold]: {len(people)} people, {outcome.mean():.1%} re-arrested within two years.")
    judgments = simulate_panel(people, seed=seed)
    console.print(f"[bold]Simulated panel[/bold] (no real people were asked). {judgments}\n")

    for title, estimator in (("Linear thresholds", "linear"), ("Decision trees of depth 2", "tree")):
        model = PairwiseFairClassifier(estimator, gamma=gamma, eta=eta, favorable_label=0)
        with console.status(f"Fitting {title.lower()} …"):
            plain = PairwiseFairClassifier(estimator).fit(people, outcome)
            model.fit(people, outcome, judgments=judgments)
        console.rule(f"[bold]{title}[/bold]", align="left")
        console.print(f"Error with no judgments        {plain.certificate_.error:.4f}", highlight=False)
        console.print(str(model.certificate_), highlight=False)
        console.print()
    _show_expensive(console, model, people)


def _show_expensive(console: Console, model: PairwiseFairClassifier, people: pd.DataFrame) -> None:
    """The most expensive judgments of the last model, with the two people one above the other."""
    console.rule("[bold]Most expensive judgments[/bold] (of the trees)", align="left")
    console.print("Price: training error saved per unit by which the pair may differ more.\n", highlight=False)
    described = people.apply(_person, axis="columns")
    prices = model.prices_.sort_values("price", ascending=False, kind="stable").head(_SHOWN)
    for row in prices.to_dict("records"):
        said = str(row["answer"]).replace("_", " ")
        console.print(
            f"{row['judge']} said [bold]{said}[/bold], price {row['price']:.4f}, violation {row['violation']:.2f}",
            highlight=False,
        )
        console.print(f"   A  {described[row['a']]}\n   B  {described[row['b']]}", highlight=False)


def _person(row: pd.Series[Any]) -> str:
    juvenile = int(row["juv_fel_count"] + row["juv_misd_count"] + row["juv_other_count"])
    charge = "felony" if row["c_charge_degree"] == "F" else "misdemeanour"
    return f"{row['sex']}, {row['age']}, {row['race']}; {row['priors_count']} priors, {juvenile} juvenile; {charge}"
