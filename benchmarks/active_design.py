"""The active design: how long a choice takes, and what it gains over uniform pairs at equal numbers of questions."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import t

from benchmarks import compas
from benchmarks.row import Row, median_seconds, seconds, table
from fairwise.judgments import Answer
from fairwise.simulation import draw_pairs, draw_respondents, simulate_panel
from fairwise.study.active import ActiveChooser, ParticipantAnswer

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fairwise.simulation import Respondent

_SEEDS = range(200, 206)  # the design was tuned on others
_OTHERS = 20
_JUDGES = {"after others": 12, "together": 20}
_QUESTIONS = (10, 20, 30, 50)
_HELD_OUT = 200
_LEARN_EVERY = 5  # rounds; that is, 100 answers


class Timing(NamedTuple):
    """Milliseconds, with 43 × 50 answers so far."""

    choice: float
    slowest: float
    learning: float


def run() -> Row:
    people = compas.people()[0].rename(index=str)
    nobody = ActiveChooser.of(people)
    timing = time_choices(nobody, people)
    lines, better, clearly = [], [], []
    for way in _JUDGES:
        uniform, active = (
            np.array([study(nobody, people, seed, way, active=active) for seed in _SEEDS]) for active in (False, True)
        )
        for place, questions in enumerate(_QUESTIONS):
            cells = [way, str(questions)]
            for measure, sign in ((0, -1), (1, 1)):
                low, high = interval(active[:, place, measure] - uniform[:, place, measure])
                cells += [f"{values[:, place, measure].mean():.3f}" for values in (uniform, active)]
                cells += [f"{low:+.3f} to {high:+.3f}"]
                better.append(sign * (low + high) > 0)
                clearly.append(min(sign * low, sign * high) > 0)
            lines.append(cells)
    header = ["they come", "questions", "log-loss, uniform", "active", "gain", "accuracy, uniform", "active", "gain"]
    return Row(
        what="next pair in active mode, 5,829 people, 43 × 50 answers so far; held-out answers against uniform pairs",
        bar="≤ 50 ms; better on average at every number of questions",
        measured=f"{timing.choice:.1f} ms; better in {sum(better)} of {len(better)} comparisons, clearly in "
        f"{sum(clearly)}",
        reached=timing.choice <= 50 and all(better),
        notes=f"Four answers. A choice, which takes the participant's latest answer into account: median "
        f"{timing.choice:.1f} ms, slowest of 40 {timing.slowest:.1f} ms. Learning anew from all 2,150 answers what "
        f"participants have in common, which can wait: {timing.learning:.0f} ms.\n\nBelow, simulated people: "
        f"{_JUDGES['after others']} who come after {_OTHERS} others were asked 50 uniform pairs each, or "
        f"{_JUDGES['together']} who begin together, with nobody before them. {_HELD_OUT} random pairs per person are "
        f"held out, the model is the same for both designs, and the intervals (95 %, Student's t) are over "
        f"{len(_SEEDS)} seeds.\n\n{table(header, lines)}",
        ratios={"bar / median choice": 50 / timing.choice},
    )


def time_choices(nobody: ActiveChooser, people: pd.DataFrame) -> Timing:
    answers = uniform_panel(people, 43, seed=0)
    by_judge: dict[str, list[ParticipantAnswer]] = {}
    for each in answers:
        by_judge.setdefault(each.participant, []).append(each)
    learning = median_seconds(lambda: nobody.learned(answers), 5)
    chooser = nobody.learned(answers)
    took = [
        seconds(partial(chooser.choose, np.random.default_rng(number), own))
        for number, own in enumerate(list(by_judge.values())[:40])
    ]
    return Timing(1e3 * median(took), 1e3 * max(took), 1e3 * learning)


def uniform_panel(people: pd.DataFrame, judges: int, seed: int) -> list[ParticipantAnswer]:
    rows = simulate_panel(people, judges, answers="four", seed=seed).frame[["judge", "a", "b", "answer"]]
    return [
        ParticipantAnswer(f"earlier {judge}", a, b, Answer(said)) for judge, a, b, said in rows.itertuples(index=False)
    ]


def study(
    nobody: ActiveChooser, people: pd.DataFrame, seed: int, way: str, *, active: bool
) -> list[tuple[float, float]]:
    """Ask everybody in turn; return log-loss and accuracy on held-out pairs after each number of questions."""
    together = way == "together"
    chooser = nobody if together else nobody.learned(uniform_panel(people, _OTHERS, seed + 5_000))
    respondents = draw_respondents(people, _JUDGES[way], seed=seed)
    luck = [np.random.default_rng([seed, number, 1]) for number in range(len(respondents))]
    uniform = draw_pairs(people, len(respondents), max(_QUESTIONS), seed=seed + 1_000)
    held_out = [HeldOut.of(people, judge, seed, number) for number, judge in enumerate(respondents)]
    own: list[list[ParticipantAnswer]] = [[] for _ in respondents]
    results = []
    for question in range(max(_QUESTIONS)):
        for number, judge in enumerate(respondents):
            a, b = uniform[number][question]
            if active:
                shown = chooser.choose(np.random.default_rng([seed, number, question, 2]), own[number])
                a, b = shown.a, shown.b
            said = judge.answers(people, [(a, b)], luck[number], already=question)[0]
            own[number].append(ParticipantAnswer(judge.name, str(a), str(b), said))
        asked = question + 1
        if together and (asked in _QUESTIONS or (active and asked % _LEARN_EVERY == 0)):
            chooser = nobody.learned([each for answers in own for each in answers])
        if asked in _QUESTIONS:
            scores = [each.score(chooser, answers) for each, answers in zip(held_out, own, strict=True)]
            loss, accuracy = np.mean(scores, axis=0)
            results.append((float(loss), float(accuracy)))
    return results


class HeldOut(NamedTuple):
    """Random pairs that one person was never asked about for learning, and what they say."""

    left: list[str]
    right: list[str]
    said: NDArray[np.int64]

    @classmethod
    def of(cls, people: pd.DataFrame, judge: Respondent, seed: int, number: int) -> HeldOut:
        pairs = draw_pairs(people, 1, _HELD_OUT, seed=10_000 * (seed + 1) + number)[0]
        answers = judge.answers(people, pairs, np.random.default_rng([seed, number, 3]))
        left, right = ([str(pair[side]) for pair in pairs] for side in (0, 1))
        return cls(left, right, np.array([list(Answer).index(answer) for answer in answers]))

    def score(self, chooser: ActiveChooser, own: list[ParticipantAnswer]) -> tuple[float, float]:
        model = chooser.model
        predicted = model.predict(model.beliefs(own), *map(model.seen.positions, (self.left, self.right)))
        loss = -np.log(predicted[np.arange(len(self.said)), self.said])
        return float(loss.mean()), float((predicted.argmax(axis=1) == self.said).mean())


def interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    n = len(differences)
    margin = t.ppf(0.975, n - 1) * differences.std(ddof=1) / np.sqrt(n)
    return float(differences.mean() - margin), float(differences.mean() + margin)
