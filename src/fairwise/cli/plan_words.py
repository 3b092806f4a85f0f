"""A played study in words: for those who plan one, and need not program."""

from math import exp, isnan
from typing import TYPE_CHECKING

from fairwise.auditing.plan import PLANNING_WORDS
from fairwise.cli.terminal import echo, heading, print_frame
from fairwise.judgments.reliability import LEAST_JUDGES, LEAST_PAIRS
from fairwise.numbers import counted, difference, in_100, rounded, setting
from fairwise.simulation.respondent import PACE_SPREAD, THOUGHT_SPREAD
from fairwise.study.folder import OUTCOME

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.auditing.plan import Cost, SimulatedPlan
    from fairwise.simulation.respondent import Minutes
    from fairwise.study.folder import StudyFolder

_ONE_IN_TWENTY = 1.645  # standard deviations above the middle of a normal distribution
_FEW_MINUTES = 5


def show(
    study: "StudyFolder",
    plan: "SimulatedPlan",
    cost: "Cost | None",
    minutes: "Minutes",
    seconds: float,
    confidence: float,
) -> None:
    """Print what the simulated studies showed, one question after the other."""
    _show_study(study, plan)
    _show_agreement(study, plan, confidence)
    if study.settings.design.repeats:
        _show_repeats(plan.panels, confidence)
    _show_cost(study, plan, cost)
    _show_time(study, minutes, seconds)


def _show_study(study: "StudyFolder", plan: "SimulatedPlan") -> None:
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


def _show_agreement(study: "StudyFolder", plan: "SimulatedPlan", confidence: float) -> None:
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


def _advice(study: "StudyFolder") -> str:
    """What to change in the settings for agreement to be measured."""
    settings = study.settings
    anchors = min(max(1, settings.pairs // 5), settings.uniform)
    if not anchors:
        return "Have some anchors instead of other pairs: they are the same for everyone."
    return (
        f"Before anyone begins, set anchors = {anchors} below [design] in {study.path / 'study.toml'}: so many of the "
        f"{counted(settings.pairs, 'pair')} are then the same for everyone."
    )


def _show_repeats(panels: "pd.DataFrame", confidence: float) -> None:
    heading("How well will it be known whether judges are steady?")
    shown = panels.assign(
        same_again=[_percent(share) for share in panels["same_again"]],
        interval=[
            f"{_percent(low)} to {_percent(high)}"
            for low, high in zip(panels["same_again_low"], panels["same_again_high"], strict=True)
        ],
    )
    names = {"judges": "judges", "repeated": "repeated pairs", "same_again": "same answer again"}
    print_frame(shown, names | {"interval": f"{confidence:.0%} interval"})
    echo("\nHow steady simulated people are was decided beforehand; plan with the width of the interval.")


def _show_cost(study: "StudyFolder", plan: "SimulatedPlan", cost: "Cost | None") -> None:
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


def _show_time(study: "StudyFolder", minutes: "Minutes", seconds: float) -> None:
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


def show_arms(arms: "pd.DataFrame", persuasion: float, returning: float) -> None:
    """Print how often an effect of showing reasons would be seen."""
    heading("Will it be seen what talking does?")
    shown = arms.assign(
        returned=arms["returned"].round().astype(int),
        effect=[f"{in_100(effect)} points" for effect in arms["effect"]],
        half_width=["none" if isnan(width) else f"{in_100(width)} points" for width in arms["half_width"]],
        found=[_percent(share) for share in arms["found"]],
    )
    names = {"judges": "judges", "arm": "arm", "returned": "come back", "effect": "effect"}
    print_frame(shown, names | {"half_width": "half-width", "found": "found"})
    echo(
        f"\nPlanted: a reason shown changes {persuasion:.0%} of the answers against it (--persuasion), and "
        f"{returning:.0%} come back (--returning).\n"
        "effect: how many more of 100 answers asked for twice are changed towards the reasons, because they are shown; "
        "half-width: of its interval.\n"
        "found: in so many studies fairwise compare-arms has a p of at most 0.05. 80% is what is usually planned for."
    )


def _percent(share: float) -> str:
    return "none" if isnan(share) else f"{rounded(100 * share, 0)}%"


def _texts(numbers: "pd.Series[float]") -> list[str]:
    return ["none" if isnan(number) else f"{rounded(number, 2)}" for number in numbers]


def _ranges(low: "pd.Series[float]", high: "pd.Series[float]") -> list[str]:
    both = zip(_texts(low), _texts(high), strict=True)
    return ["none" if "none" in ends else " to ".join(ends) for ends in both]
