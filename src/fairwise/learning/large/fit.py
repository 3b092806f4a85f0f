"""A fit to a table that is read in blocks: the paper's dynamics in two passes, anything else in as many as it takes.

Between the two passes games need only the judged people, and errors are counted afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.constraints.groups import parity_moments
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.deduplication import relative_losses
from fairwise.learning.labels import labels_of
from fairwise.learning.large.cells import Counts, count
from fairwise.learning.large.first_pass import TableSummary, read_summary
from fairwise.learning.large.problem import PreparedTable, large_oracle, large_problem
from fairwise.learning.oracles.base import FloatArray
from fairwise.learning.oracles.linear import regression_class
from fairwise.learning.preparation import PreparedProblem, budgets_of, of_nobody, seed_of
from fairwise.learning.problem import Points, Problem
from fairwise.learning.settings import FitSettings, Params
from fairwise.learning.solvers.dispatch import solve
from fairwise.learning.solvers.no_regret import Game, guarantee_of, join, play_game
from fairwise.learning.solvers.progress import Watch
from fairwise.learning.solvers.solution import Solution

if TYPE_CHECKING:
    from distributed import Client

    from fairwise.learning.large.table import LargeTable
    from fairwise.learning.oracles.linear import LinearClassifiers

_LINEAR = ("linear-regression", "linear")


def fit_in_blocks(
    params: Params,
    table: LargeTable,
    judgments: Judgments | None,
    client: Client | None = None,
    watch: Watch | None = None,
) -> tuple[PreparedProblem, Solution, int]:
    """One model: what it is measured on, the mixture, and to how many people it was fitted."""
    settings = check_large_settings(params, table)
    table = table.only_features(settings.features)
    judgments = inputs.require_judgments(judgments)
    summary = read_summary(table, judgments, client)
    prepared = prepare_large(settings, summary, judgments)
    if settings.plays_regression:
        [[(solution, _)]] = count_games(table, summary, [play(summary, prepared, [prepared.problem])], client)
        return prepared, solution, summary.n_rows
    problem = large_problem(table, summary, prepared, client)
    solution = solve(problem, large_oracle(table, summary, prepared, problem, client), settings, watch)
    return replace(prepared, problem=problem), solution, summary.n_rows


def check_large_settings(params: Params, table: LargeTable, *, two_passes: bool = False) -> FitSettings:
    """Refuse what cannot be learned from sums and histograms over the rows, or not in two passes."""
    settings = FitSettings.of(params)
    moments = parity_moments(settings.group_constraints)
    if settings.estimator not in _LINEAR:
        raise InputError(
            f"estimator={settings.estimator!r} needs the whole table in memory. A table that is read in blocks goes "
            f"with {' or '.join(map(repr, _LINEAR))}."
        )
    if moments and table.groups is None:
        raise InputError("group_constraints need each person's group: LargeTable(..., groups='column').")
    if settings.plays_regression and settings.time_limit is not None:
        raise InputError(
            f"time_limit={settings.time_limit:g} cannot be kept: the paper's game over a table that is read in blocks "
            "reads it twice, however long that takes. Leave it out."
        )
    if two_passes and not settings.plays_regression:
        raise InputError(
            "A curve over a table that is read in blocks is drawn in two passes, which needs "
            "estimator='linear-regression', solver='no-regret', a number of rounds and no group_constraints."
        )
    return settings


def prepare_large(settings: FitSettings, summary: TableSummary, judgments: Judgments | None) -> PreparedTable:
    """What these judgments ask for, about people who were found in the first pass."""
    labels = labels_of(np.arange(len(summary.outcomes)), summary.outcomes, settings, judgments)
    if len(labels.classes) > 2 and settings.estimator == "linear":
        raise InputError(
            f"estimator='linear' is for two labels where a table is read in blocks, and there are "
            f"{len(labels.classes)}: give estimator='linear-regression'."
        )
    answered, pairs = of_nobody() if judgments is None else (judgments, PairRows.from_judgments(judgments))
    judged = summary.judged.iloc[summary.judged.index.get_indexer(pairs.people)]
    if judgments is not None and judgments.people is not None and judgments.by == "id":
        carried = pd.DataFrame(judgments.people_rows(pairs.people))
        both = [name for name in judged.columns if name in carried.columns]
        inputs.refuse_changed(carried[both], judged[both])
    judged_rows, rank = np.unique(summary.encoder.encode(judged), axis=0, return_inverse=True)
    pairs, judged_rows = pairs.sorted_by(rank.ravel()), judged_rows[np.sort(rank.ravel())]
    # The points are the judged people alone: errors are counted over everyone, in the second pass.
    first, more = relative_losses(labels.losses)
    people = summary.outcome_sums[:, 0]
    n_others = () if len(labels.classes) == 2 else (more.shape[1],)
    points = Points(
        judged_rows,
        np.zeros((len(judged_rows), *n_others)),
        float(people @ first / summary.n_rows),
        np.ones(len(judged_rows)),
        elsewhere=people @ more / summary.n_rows,
    )
    problem = Problem.build(
        points,
        np.arange(len(judged_rows), dtype=np.intp),
        pairs,
        budgets_of(settings, pairs, answered),
        sign=labels.sign,
        gamma=float(settings.gamma),
        label_values=labels.values,
    )
    seed = seed_of(settings.random_state)
    return PreparedTable(settings, problem, pairs, judged_rows, summary.encoder, labels.classes, seed, labels)


@dataclass(frozen=True, eq=False)
class PlayedGames:
    """Games of one set of rules whose errors are not known yet; without any rule, the plain model alone."""

    problems: Sequence[Problem]
    games: Sequence[Game]
    plain: LinearClassifiers
    losses: FloatArray
    """``(F, labels)`` what each label costs where each of the outcomes is right."""

    @property
    def classifiers(self) -> list[LinearClassifiers]:
        """Whose errors must be counted: the plain model, then of each game the mixture and the reply that bounds it."""
        return [self.plain, *(part for game in self.games for part in (game.classifiers, game.reply))]

    def solutions(self, counts: Counts) -> list[tuple[Solution, Counts]]:
        """The solution of each problem with the counts of its mixture, from those of :attr:`classifiers`."""
        errors, name = counts.errors(self.losses), regression_class(self.losses.shape[1])
        plain = float(errors[0])
        if not self.games:
            return [(Solution.of_one(p, self.plain, plain, name, exact=False), counts) for p in self.problems]
        solutions, start = [], 1
        for game in self.games:
            reply = start + len(game.classifiers)
            solution = game.solution(errors[start:reply], float(errors[reply]), plain, name)
            solutions.append((solution, counts.of(start, reply)))
            start = reply + 1
        return solutions


def play(summary: TableSummary, prepared: PreparedTable, problems: Sequence[Problem]) -> PlayedGames:
    """All rounds of every game; needs no row of the table."""
    settings, terms = prepared.settings, summary.regression_terms(prepared.judged_rows, prepared.more)
    losses = prepared.labels.losses
    plain = terms.response(np.zeros_like(prepared.problem.points.error_cost))
    if len(prepared.problem) == 0:
        return PlayedGames(problems, [], plain, losses)
    bounds = settings.lambda_bound, settings.tau_bound
    guarantees = [guarantee_of(problem, settings.n_rounds, None, *bounds) for problem in problems]
    games = [play_game(problem, terms, guarantee) for problem, guarantee in zip(problems, guarantees, strict=True)]
    return PlayedGames(problems, games, plain, losses)


def count_games(
    table: LargeTable, summary: TableSummary, games: Sequence[PlayedGames], client: Client | None = None
) -> list[list[tuple[Solution, Counts]]]:
    """The second pass, one for everything that was played: solutions, each with the counts of its mixture."""
    parts = [own.classifiers for own in games]
    everyone = join([part for own in parts for part in own])
    counts = count(table, summary, everyone, client)
    ends = np.cumsum([0, *(sum(len(part) for part in own) for own in parts)])
    return [own.solutions(counts.of(ends[k], ends[k + 1])) for k, own in enumerate(games)]
