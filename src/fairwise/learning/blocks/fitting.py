"""A fit to a table that is read in blocks: the paper's dynamics in two passes, anything else in as many as it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.constraints.groups import checked_moments
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.blocks.counts import count
from fairwise.learning.blocks.learned import learn
from fairwise.learning.blocks.many_passes import large_oracle, large_problem
from fairwise.learning.no_regret import join, plan_of
from fairwise.learning.oracles.regression import RegressionOracle, inverted
from fairwise.learning.preparation import NOBODY, Rules, budgets_of, seed_of
from fairwise.learning.problem import Points, Problem
from fairwise.learning.regression_dynamics import Ground, play_games
from fairwise.learning.settings import check_settings
from fairwise.learning.solving import alone, solve

_LINEAR = ("linear-regression", "linear")

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairwise.learning.blocks.counts import Counts
    from fairwise.learning.blocks.learned import Learned
    from fairwise.learning.blocks.table import LargeTable
    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.oracles.linear_classifiers import LinearClassifiers
    from fairwise.learning.regression_dynamics import Game
    from fairwise.learning.result import Solution


@dataclass(frozen=True, eq=False)
class Played:
    """Games of one set of rules whose errors are not known yet; without any rule, the plain model alone."""

    problems: Sequence[Problem]
    games: Sequence[Game]
    plain: LinearClassifiers

    @property
    def classifiers(self) -> list[LinearClassifiers]:
        """Everything whose errors must be counted."""
        if not self.games:
            return [self.plain]
        return [part for game in self.games for part in (game.classifiers, game.reply)]

    def solutions(self, errors: FloatArray, settings: Mapping[str, Any]) -> list[Solution]:
        """The solution of each problem, from the errors of :attr:`classifiers`."""
        name = RegressionOracle.hypothesis_class
        if not self.games:
            return [alone(problem, self.plain, float(errors[0]), RegressionOracle) for problem in self.problems]
        bounds = settings["lambda_bound"], settings["tau_bound"]
        return [
            game.solution(own[:-1], float(own[-1]), *bounds, name)
            for game, own in zip(self.games, errors.reshape(len(self.games), -1), strict=True)
        ]


def fit_in_blocks(
    settings: Mapping[str, Any], table: LargeTable, judgments: Judgments | None, client: Any = None
) -> tuple[Rules, Solution, int]:
    """One model: what it is measured on, the mixture, and to how many people it was fitted."""
    check_large_settings(settings, table)
    judgments = inputs.checked_judgments(judgments)
    learned = learn(table, judgments, client)
    rules = rules_for(settings, learned, judgments)
    if not _in_two_passes(settings):
        problem = large_problem(settings, table, learned, rules, client)
        solution = solve(problem, large_oracle(settings, table, learned, problem, client), settings)
        return replace(rules, problem=problem), solution, learned.n_rows
    played = play(settings, learned, rules, [rules.problem])
    solutions, _ = counted(settings, table, learned, [played], client)
    return rules, solutions[0][0], learned.n_rows


def check_large_settings(settings: Mapping[str, Any], table: LargeTable, *, two_passes: bool = False) -> None:
    """Refuse what cannot be learned from sums and histograms over the rows, or not in two passes."""
    check_settings(settings)
    moments = checked_moments(settings["group_constraints"])
    if settings["estimator"] not in _LINEAR:
        raise InputError(
            f"estimator={settings['estimator']!r} needs the whole table in memory. A table that is read in blocks goes "
            f"with {' or '.join(map(repr, _LINEAR))}."
        )
    if moments and table.groups is None:
        raise InputError("group_constraints need each person's group: LargeTable(..., groups='column').")
    if two_passes and not _in_two_passes(settings):
        raise InputError(
            "A curve over a table that is read in blocks is drawn in two passes, which needs "
            "estimator='linear-regression', solver='no-regret', a number of rounds and no group_constraints."
        )


def _in_two_passes(settings: Mapping[str, Any]) -> bool:
    allowed = {"estimator": "linear-regression", "solver": "no-regret", "nu": None}
    return all(settings[name] == value for name, value in allowed.items()) and not settings["group_constraints"]


def rules_for(settings: Mapping[str, Any], learned: Learned, judgments: Judgments | None) -> Rules:
    """The rules of these judgments, about people who were found in the first pass."""
    said = judgments or Judgments(NOBODY)
    pairs = PairRows.from_judgments(said)
    judged = learned.judged.iloc[learned.judged.index.get_indexer(pairs.people)]
    if judgments is not None and judgments.people is not None and judgments.by == "id":
        carried = pd.DataFrame(judgments.people_rows(pairs.people))
        both = [name for name in judged.columns if name in carried.columns]
        inputs.refuse_changed(carried[both], judged[both])
    judged_rows = learned.encoder.encode(judged, strict=True)
    # The points are the judged people alone: errors are counted over everyone, in the second pass.
    nothing = np.zeros(len(judged_rows))
    points = Points(judged_rows, nothing, learned.share_of_second, nothing + 1.0)
    problem = Problem.build(
        points,
        np.arange(len(judged_rows), dtype=np.intp),
        pairs,
        budgets_of(settings, pairs, said.judge_attributes),
        sign=inputs.favorable_sign(settings["favorable_label"], learned.classes, judgments),
        gamma=float(settings["gamma"]),
    )
    return Rules(problem, pairs, judged_rows, learned.encoder, learned.classes, seed_of(settings["random_state"]))


def play(settings: Mapping[str, Any], learned: Learned, rules: Rules, problems: Sequence[Problem]) -> Played:
    """All rounds of every game; needs no row of the table."""
    inverse = inverted(learned.gram)
    ground = Ground(np.ascontiguousarray(rules.judged_rows), inverse, inverse @ learned.moments)
    plain = ground.response(np.zeros(len(rules.judged_rows)))
    if len(rules.problem) == 0:
        return Played(problems, [], plain)
    bounds = settings["lambda_bound"], settings["tau_bound"]
    plans = [plan_of(problem, settings["n_rounds"], None, *bounds) for problem in problems]
    return Played(problems, play_games(problems, ground, plans, *bounds), plain)


def counted(
    settings: Mapping[str, Any], table: LargeTable, learned: Learned, played: Sequence[Played], client: Any = None
) -> tuple[list[list[Solution]], list[list[Counts]]]:
    """The second pass, for all games together: solutions, and counts of the classifiers of each."""
    parts = [own.classifiers for own in played]
    everyone: Any = join([part for own in parts for part in own])
    counts = count(table, learned, everyone, client)
    ends = np.cumsum([sum(len(part) for part in own) for own in parts])
    errors = np.split(counts.errors(), ends[:-1])
    solutions = [own.solutions(mine, settings) for own, mine in zip(played, errors, strict=True)]
    rates, at = [], 0
    for own, found in zip(played, solutions, strict=True):
        mine = []
        for solution in found:
            mine.append(replace(counts, label_1=counts.label_1[:, :, at : at + len(solution.weights)]))
            at += len(solution.weights) + 1 if own.games else 0
        at += 0 if own.games else 1
        rates.append(mine)
    return solutions, rates
