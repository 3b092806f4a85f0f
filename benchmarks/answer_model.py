"""What judges mean: log-loss on answers never seen, sets, reliabilities, and fits with predicted judgments.

Simulated panels; and people's real answers, if ``FAIRWISE_ANSWER_DATA`` names the folder that holds
``mcelfresh2020/study_2_indecisive.csv`` and ``wang2019/judgments.csv``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from benchmarks.row import Row, busy_seconds, table
from fairwise import AnswerModel, Judgments, PairwiseFairClassifier, audit
from fairwise.datasets import load_compas
from fairwise.judgments import Answer
from fairwise.judgments.answer_model.features import PeopleEncoder
from fairwise.simulation import draw_pairs, draw_respondents, simulate_panel

DATA = "FAIRWISE_ANSWER_DATA"
_COLUMNS = [str(answer) for answer in Answer]
_PENALTIES = np.logspace(-4, 3, 8)
_SPLITS = 50


class Said(NamedTuple):
    """Answers in the order given, and the people they are about."""

    frame: pd.DataFrame
    people: pd.DataFrame


def run() -> Row:
    panels = {"simulated, 43 × 50": simulated()}
    folder = os.environ.get(DATA)
    if folder:
        panels |= {"mcelfresh2020": mcelfresh(Path(folder)), "wang2019": wang(Path(folder))}
    losses = {name: (compared(panel), compared(panel, known=5)) for name, panel in panels.items()}
    lines = []
    for name, (whole, few) in losses.items():
        lines.append([name, *(f"{value:.3f}" for value in whole), f"{1 - whole[0] / min(whole[1:]):.0%}"])
        lines.append([f"{name}, 5 known", *(f"{value:.3f}" for value in few), f"{1 - few[0] / few[1]:.0%}"])
    held = {name: coverage(panel) for name, panel in panels.items()}
    held_lines = [[name, *(f"{share:.1%}" for share in shares)] for name, shares in held.items()]
    inside, fit, predict = reliabilities(), *speed()
    violations = [violation_ratio(seed) for seed in range(5)]
    ratio = float(np.mean(violations))
    reached = fit <= 5 and predict <= 0.2 and 0.92 <= inside <= 0.98 and ratio <= 0.8
    reached = reached and all(
        abs(share - wanted) <= 0.02 for each in held.values() for share, wanted in zip(each, (0.8, 0.9), strict=True)
    )
    bars = {"mcelfresh2020": 0.2, "wang2019": 0.05}
    for name, (whole, few) in losses.items():
        reached = reached and whole[0] <= (1 - bars.get(name, 0.0)) * min(whole[1:]) and few[0] <= 0.9 * few[1]
    return Row(
        what="model of answers: held-out log-loss, coverage of sets, reliabilities, violation with predicted judgments",
        bar="≤ 5 s to fit 100 × 50, ≤ 0.2 s for 10,000; sets within 2 points; 92 to 98 % of reliabilities; violation "
        "≤ 0.8 ×",
        measured=f"{fit:.1f} s, {predict:.2f} s; {inside:.1%}; {ratio:.2f} ×",
        reached=reached,
        notes=f"Log-loss on the last third of each judge's answers, beside a logistic regression of each judge and one "
        f"of all, both with the same features and a cross-validated penalty (processor time above).\n\n"
        f"{table(['answers', 'model', 'own regression', 'one for all', 'lower by'], lines)}\n\nSets on a random third, "
        f"{_SPLITS} splits:\n\n{table(['answers', 'asked: 80 %', 'asked: 90 %'], held_lines)}\n\nViolation of true "
        f"opinions over all pairs, of fits with predicted judgments over fits without at equal error, by seed: "
        f"{', '.join(f'{each:.2f}' for each in violations)}.",
        ratios={"bar / fit": 5 / fit, "bar / prediction": 0.2 / predict},
    )


# Answers.


def simulated(judges: int = 43, pairs: int = 50, seed: int = 0) -> Said:
    panel = simulate_panel(load_compas()[0], judges, pairs, answers="four", seed=seed)
    people = panel.people
    assert isinstance(people, pd.DataFrame)
    return Said(panel.frame[["judge", "a", "b", "answer"]], people)


def mcelfresh(folder: Path) -> Said:
    """In these files 0 is the left patient, 1 the right one, 2 the coin."""
    rows = pd.read_csv(folder / "mcelfresh2020" / "study_2_indecisive.csv").sort_values(["user_id", "decision_rank"])
    sides = [rows[[f"{side}_{number}" for number in (1, 2, 3)]].to_numpy() for side in ("left", "right")]
    people = pd.DataFrame(np.vstack(sides), columns=["age", "drinks", "children"]).drop_duplicates(ignore_index=True)
    place = {tuple(values): number for number, values in enumerate(people.to_numpy().tolist())}
    frame = pd.DataFrame({"judge": rows["user_id"].to_numpy()})
    frame["a"], frame["b"] = ([place[tuple(values)] for values in side.tolist()] for side in sides)
    frame["answer"] = rows["decision"].map({0: "a_at_least_b", 1: "b_at_least_a", 2: "same"}).to_numpy()
    return Said(_once(frame), people)


def wang(folder: Path) -> Said:
    frame = pd.read_csv(folder / "wang2019" / "judgments.csv")
    return Said(_once(frame), load_compas()[0].loc[pd.unique(frame[["a", "b"]].to_numpy().ravel())])


def _once(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the few pairs that somebody saw twice."""
    sides = np.sort(frame[["a", "b"]].to_numpy(), axis=1)
    key = pd.DataFrame({"judge": frame["judge"], "low": sides[:, 0], "high": sides[:, 1]})
    return frame[~key.duplicated() & (sides[:, 0] != sides[:, 1])].reset_index(drop=True)


# Against regressions.


def compared(said: Said, known: int | None = None) -> tuple[float, float, float]:
    """Return the mean log-loss of the model, of each judge's own regression, and of one for all."""
    place = said.frame.groupby("judge").cumcount()
    number = said.frame.groupby("judge")["judge"].transform("size")
    test = (place >= np.ceil(number * 2 / 3)).to_numpy()
    train = ~test if known is None else (place < known).to_numpy()
    given = [answer for answer in _COLUMNS if (said.frame["answer"] == answer).any()]
    model = AnswerModel(answers=given).fit(Judgments(said.frame[train], people=said.people))
    right = said.frame["answer"][test].map({name: number for number, name in enumerate(_COLUMNS)}).to_numpy()
    predicted = model.predict_proba(said.frame[test], people=said.people).to_numpy()[np.arange(test.sum()), right]
    return (float(-np.log(predicted).mean()), *regressions(said, train, test, given))


def regressions(said: Said, train: np.ndarray, test: np.ndarray, given: list[str]) -> tuple[float, float]:
    encoder = PeopleEncoder.learn(said.people)
    people = encoder.encode(said.people)
    left, right = (said.people.index.get_indexer(said.frame[side]) for side in ("a", "b"))
    features = np.hstack([people.apart(left, right)[:, 1:], people.ahead(left, right)])
    spread = features[train].std(axis=0)
    features = (features - features[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    answer = said.frame["answer"].map({name: number for number, name in enumerate(given)}).to_numpy()
    shares = np.bincount(answer[train], minlength=len(given)) + 0.5
    shares = shares / shares.sum()
    judge = said.frame["judge"].to_numpy()
    own = np.empty(len(answer))
    for each in np.unique(judge[test]):
        rows, out = train & (judge == each), test & (judge == each)
        own[out] = _best(features[rows], answer[rows], shares)(features[out], answer[out])
    one = _best(features[train], answer[train], shares)(features[test], answer[test])
    return float(own[test].mean()), float(one.mean())


def _best(x: np.ndarray, y: np.ndarray, shares: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the losses of a regression whose penalty does best on five held-out parts."""
    folds = list(KFold(min(5, len(y)), shuffle=True, random_state=0).split(x))
    losses = [sum(_losses(x[i], y[i], shares, c, x[o], y[o]).sum() for i, o in folds) for c in _PENALTIES]
    return partial(_losses, x, y, shares, _PENALTIES[int(np.argmin(losses))])


def _losses(
    x: np.ndarray, y: np.ndarray, shares: np.ndarray, c: float, other_x: np.ndarray, other_y: np.ndarray
) -> np.ndarray:
    """Beside its answers a regression counts one more, spread as those of all, so that none is impossible."""
    predicted = np.zeros((len(other_x), len(shares)))
    if len(np.unique(y)) == 1:
        predicted[:, y[0]] = 1
    else:
        fitted = LogisticRegression(C=c, max_iter=2000).fit(x, y)
        predicted[:, fitted.classes_] = fitted.predict_proba(other_x)
    predicted = (len(y) * predicted + shares) / (len(y) + 1)
    losses: np.ndarray = -np.log(predicted[np.arange(len(other_y)), other_y])
    return losses


# Sets, reliabilities, speed.


def coverage(said: Said) -> tuple[float, float]:
    hits = []
    for split in range(_SPLITS):
        test = np.random.default_rng(split).random(len(said.frame)) < 1 / 3
        test &= said.frame["judge"].isin(said.frame["judge"][~test]).to_numpy()
        given = list(said.frame["answer"].unique())
        model = AnswerModel(answers=given, random_state=split).fit(Judgments(said.frame[~test], people=said.people))
        right = [_COLUMNS.index(answer) for answer in said.frame["answer"][test]]
        sets = [model.predict_sets(said.frame[test], wanted, people=said.people).to_numpy() for wanted in (0.8, 0.9)]
        hits.append([each[np.arange(len(right)), right].mean() for each in sets])
    at_80, at_90 = np.mean(hits, axis=0)
    return float(at_80), float(at_90)


def reliabilities(seeds: int = 8) -> float:
    """Return how often the planted probability of the same answer again is in its interval; 8 pairs asked again."""
    people, inside = load_compas()[0].head(800), []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        lapse = rng.beta(1.5, 12, 60)
        rows, names = [], []
        for number, respondent in enumerate(draw_respondents(people, 60, seed=seed)):
            judge = replace(respondent, noise=float(lapse[number]), fatigue=0.0, position_bias=0.0)
            names.append(judge.name)
            pairs = draw_pairs(people, 1, 30, seed=1000 * seed + number)[0]
            for design, shown in (("uniform", pairs), ("repeat", pairs[:8])):
                answers = judge.answers(people, shown, rng)
                rows += [(judge.name, a, b, str(said), design) for (a, b), said in zip(shown, answers, strict=True)]
        frame = pd.DataFrame(rows, columns=["judge", "a", "b", "answer", "design"])
        found = AnswerModel(answers=_COLUMNS).fit(Judgments(frame, people=people)).reliability_.loc[names]
        truth = (1 - 0.75 * lapse) ** 2 + 3 * (lapse / 4) ** 2
        inside.append(((found["low"] <= truth) & (truth <= found["high"])).mean())
    return float(np.mean(inside))


def speed() -> tuple[float, float]:
    """Return processor seconds to fit 100 × 50 answers, and to predict 10,000."""
    said = simulated(100, 50, seed=1)
    judgments = Judgments(said.frame, people=said.people)
    model = AnswerModel().fit(judgments)
    rng = np.random.default_rng(0)
    pairs = pd.DataFrame({"judge": rng.choice(model.judges_, 10_000)})
    pairs["a"], pairs["b"] = (rng.choice(said.people.index, 10_000) for _ in "ab")
    return busy_seconds(lambda: AnswerModel().fit(judgments)), busy_seconds(lambda: model.predict_proba(pairs))


# Fits with predicted judgments.

_ETAS = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08)


def violation_ratio(seed: int, n_people: int = 400, judges: int = 20) -> float:
    """Return the mean violation of true opinions with predicted rows over that without, at the same errors."""
    people, outcome = load_compas()
    ids = np.random.default_rng(seed).choice(people.index, n_people, replace=False)
    people, outcome = people.loc[ids], outcome.loc[ids]
    respondents = draw_respondents(people, judges, seed=seed)
    asked = simulate_panel(people, judges, 10, answers="four", seed=seed, respondents=respondents)
    extended = asked.extended(AnswerModel().fit(asked), 1000, 0.8, people=people)
    rows = []
    for number, judge in enumerate(respondents):
        pairs = draw_pairs(people, 1, 300, seed=10_000 + 100 * seed + number)[0]
        sides = [people.loc[[pair[side] for pair in pairs]] for side in (0, 1)]
        rows += [(judge.name, *pair, str(meant)) for pair, meant in zip(pairs, judge.opinions(*sides), strict=True)]
    truth = Judgments(pd.DataFrame(rows, columns=["judge", "a", "b", "answer"]), people=people)
    without, with_predicted = (curve(people, outcome, judgments, truth) for judgments in (asked, extended))
    errors = np.linspace(
        max(without[0].min(), with_predicted[0].min()), min(without[0].max(), with_predicted[0].max()), 9
    )
    ours, theirs = (np.interp(errors, *each) for each in (with_predicted, without))
    return float(ours.mean() / theirs.mean())


def curve(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments, truth: Judgments
) -> tuple[np.ndarray, np.ndarray]:
    """Return errors, ascending, and the mean excess over all pairs, of fits with several allowances."""
    points = []
    for eta in _ETAS:
        model = PairwiseFairClassifier(gamma=0.0, eta=eta, favorable_label=0)
        model.fit(people, outcome, judgments=judgments)
        scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
        violated = audit(scores, truth, gamma=0.0, favorable_label=0).overall.loc["value", "mean_excess"]
        points.append((model.certificate_.error, violated))
    error, violation = np.array(sorted(points)).T
    return error, violation
