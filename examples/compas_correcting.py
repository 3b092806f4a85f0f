"""False positive rate parity and judgments on COMPAS: neither, each alone, and both in one fit.

``python examples/compas_correcting.py [OUT_DIR]`` prints a table and writes it with a figure. The judges are simulated.
The figure needs matplotlib (``pip install 'fairwise[report]'``); without it only the table is written.
"""
# ruff: noqa: INP001, T201

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from fairlearn.reductions import FalsePositiveRateParity

from fairwise import PairwiseFairClassifier, audit
from fairwise.datasets import load_compas
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairwise import Judgments

GAMMA = 0.1
ETA = 0.06  # about half the mean excess of the model without rules
BOUND = 0.02  # of each group's rate from everyone's, so two groups may differ by twice that
ENOUGH = 100  # people; the rate of a smaller group is mostly chance

# Per model: whether FPR parity is asked for, whether the judgments are.
MODELS = {
    "No rule": (False, False),
    "FPR parity": (True, False),
    "Simulated judgments": (False, True),
    "Both": (True, True),
}


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    out.mkdir(parents=True, exist_ok=True)
    table = compare()
    print(f"COMPAS, 43 simulated judges, 50 pairs each\n\n{table.round(3).to_string()}\n")
    table.to_csv(out / "compas_correcting.csv")
    if find_spec("matplotlib") is None:
        print("No figure: matplotlib is not installed.")
    else:
        draw(table, out)
    print(f"Written to {out.resolve()}")


def compare() -> pd.DataFrame:
    """One line per model, measured on the people it was fitted to."""
    people, outcome = load_compas()
    judgments = simulate_panel(people, n_judges=43, n_pairs=50, seed=0)
    lines = {
        name: measure(people, outcome, judgments, parity=parity, judged=judged)
        for name, (parity, judged) in MODELS.items()
    }
    return pd.DataFrame(lines).T.rename_axis("model")


def measure(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments, *, parity: bool, judged: bool
) -> dict[str, float]:
    model = PairwiseFairClassifier(
        "tree",
        gamma=GAMMA,
        eta=ETA,
        favorable_label=0,  # label 1 is "arrested again"
        group_constraints=[FalsePositiveRateParity(difference_bound=BOUND)] if parity else None,
    )
    model.fit(
        people,
        outcome,
        judgments=judgments if judged else None,
        sensitive_features=people["race"] if parity else None,
    )
    scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
    found = audit(scores, judgments, GAMMA, 0, groups=people["race"], outcome=outcome, n_bootstrap=0)
    assert found.by_group is not None
    groups = found.by_group.set_index("group")
    rates = groups["false_positive_rate"]
    large = rates[groups["people"] >= ENOUGH]
    return {
        "error": model.certificate_.error,
        **{name: found.overall[name]["value"] for name in ("mean_violation", "mean_excess", "share_kept")},
        "fpr_african_american": rates["African-American"],
        "fpr_caucasian": rates["Caucasian"],
        "fpr_gap": abs(rates["African-American"] - rates["Caucasian"]),
        "largest_fpr_gap": large.max() - large.min(),
    }


def draw(table: pd.DataFrame, out: Path) -> None:
    """Three dot plots side by side, one line per model; dashed where a rule sets a limit."""
    import matplotlib as mpl  # noqa: PLC0415 - optional
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415

    mpl.rcParams.update({"svg.hashsalt": "fairwise", "font.size": 10})  # the same file each time
    figure = Figure(figsize=(9.5, 3.6), layout=ConstrainedLayoutEngine(wspace=0.06))
    panels = figure.subplots(1, 3, sharey=True)
    _dots(panels[0], table["error"], "Error\n(axis starts at 0.30)", (0.30, 0.40))
    _dots(panels[1], table["mean_excess"], "Mean excess\nover 43 simulated judges", (0.0, 0.2), ETA)
    _dots(panels[2], table["fpr_gap"], "False positive rate gap\nAfrican-American, Caucasian", (0.0, 0.2), 2 * BOUND)
    panels[0].invert_yaxis()
    figure.suptitle("COMPAS: rate parity and simulated judgments, apart and in one fit", x=0.01, ha="left")
    figure.savefig(out / "compas_correcting.svg", metadata={"Date": None})
    figure.savefig(out / "compas_correcting.png", dpi=150)


def _dots(axes: Axes, values: pd.Series, title: str, span: tuple[float, float], limit: float | None = None) -> None:
    low, high = span
    places = range(len(values))
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlim(low, high)
    axes.set_ylim(-0.5, len(values) - 0.3)
    axes.set_xticks([low, (low + high) / 2, high])
    axes.hlines(places, low, high, color="#dddddd", linewidth=1, zorder=0)
    axes.scatter(values, places, s=55, color="#2b5c8a", zorder=2, clip_on=False)
    for place, value in zip(places, values, strict=True):
        axes.annotate(f"{value:.3f}", (value, place), (8, 5), textcoords="offset points", fontsize=9)
    if limit is not None:
        axes.axvline(limit, color="#b4472f", linestyle="--", linewidth=1.2, zorder=1)
        axes.text(limit, len(values) - 0.35, f"  asked: ≤ {limit:g}", color="#b4472f", fontsize=9)
    axes.set_yticks(places, list(values.index))
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


if __name__ == "__main__":
    main()
