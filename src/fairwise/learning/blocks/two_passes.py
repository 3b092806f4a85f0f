"""The paper's dynamics between two passes: games need only the judged people, and errors are counted afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.learning.blocks.counts import count
from fairwise.learning.no_regret import join, plan_of
from fairwise.learning.oracles.regression import RegressionOracle, inverted
from fairwise.learning.regression_dynamics import Ground, play_games
from fairwise.learning.solving import alone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairwise.learning.blocks.counts import Counts
    from fairwise.learning.blocks.learned import Learned
    from fairwise.learning.blocks.table import LargeTable
    from fairwise.learning.oracles.linear_classifiers import LinearClassifiers
    from fairwise.learning.preparation import Rules
    from fairwise.learning.problem import Problem
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
        """Whose errors must be counted: the plain model, then of each game the mixture and the reply that bounds it."""
        return [self.plain, *(part for game in self.games for part in (game.classifiers, game.reply))]

    def solutions(self, counts: Counts, settings: Mapping[str, Any]) -> list[tuple[Solution, Counts]]:
        """The solution of each problem with the counts of its mixture, from those of :attr:`classifiers`."""
        plain = float(counts.of(0, 1).errors()[0])
        if not self.games:
            return [(alone(problem, self.plain, plain, RegressionOracle), counts) for problem in self.problems]
        bounds = settings["lambda_bound"], settings["tau_bound"]
        found, start = [], 1
        for game in self.games:
            reply = start + len(game.classifiers)
            mixture, error_of_reply = counts.of(start, reply), float(counts.of(reply, reply + 1).errors()[0])
            name = RegressionOracle.hypothesis_class
            found.append((game.solution(mixture.errors(), error_of_reply, plain, *bounds, name), mixture))
            start = reply + 1
        return found


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


def count_games(
    settings: Mapping[str, Any], table: LargeTable, learned: Learned, played: Sequence[Played], client: Any = None
) -> list[list[tuple[Solution, Counts]]]:
    """The second pass, one for everything that was played: solutions, each with the counts of its mixture."""
    parts = [own.classifiers for own in played]
    everyone: Any = join([part for own in parts for part in own])
    counts = count(table, learned, everyone, client)
    ends = np.cumsum([0, *(sum(len(part) for part in own) for own in parts)])
    return [own.solutions(counts.of(ends[k], ends[k + 1]), settings) for k, own in enumerate(played)]
