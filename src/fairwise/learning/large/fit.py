"""A fit to a table that is read in blocks: the paper's dynamics in two passes, anything else in as many as it takes.

Between the two passes games need only the judged people, and errors are counted afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.constraints.groups import parity_moments
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.deduplication import Placement, relative_losses
from fairwise.learning.large.counting import Counts, count, histogram
from fairwise.learning.large.first_pass import TableSummary, read_summary
from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, Oracle, RowValues, n_labels
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.linear import (
    LinearClassifiers,
    RegressionOracle,
    RegressionTerms,
    regression_class,
)
from fairwise.learning.preparation import PreparedProblem, budgets_of, of_nobody, seed_of
from fairwise.learning.problem import Points, Problem
from fairwise.learning.settings import FitSettings, Params
from fairwise.learning.solvers.dispatch import solve
from fairwise.learning.solvers.no_regret import Game, guarantee_of, join, play_game
from fairwise.learning.solvers.progress import Watch
from fairwise.learning.solvers.solution import Solution
from fairwise.learning.target import label_target

if TYPE_CHECKING:
    from distributed import Client

    from fairwise.learning.large.first_pass import TableSummary
    from fairwise.learning.large.table import LargeTable


_MAX_STEPS = 40
_LEAST_GAIN = 1e-4  # in units of error: a step that gains less is not worth another pass
_EDGES = 128  # steps tried along each coordinate, from the breakpoints of the first block
_JUDGED_EDGES = 64  # and from those of judged people


@dataclass(frozen=True, eq=False)
class PreparedTable(PreparedProblem):
    """A problem about people who were found in the first pass, and the outcomes that occur."""

    codes: IntArray
    """``(F,)`` the label that each outcome is."""

    @property
    def losses(self) -> FloatArray:
        """``(F, labels)`` what each label costs where each of the outcomes is right."""
        return self.target.costs(self.codes)

    @property
    def more(self) -> FloatArray:
        """Additional cost of each label but the first ``(F, labels - 1)``; ``(F,)`` of two."""
        more = relative_losses(self.losses)[1]
        return more[:, 0] if more.shape[1] == 1 else more


@dataclass(frozen=True, eq=False)
class LargeProblem(Problem):
    """Points are cells of people of one group and outcome and, behind these, judged people.

    A classifier's "label" of a cell is the share of its people to whom it gives each label, which takes a pass over the
    rows to know; costs of errors and of statistical rules are the same for everyone in a cell. Costs of pairs come on
    top, on judged people, whose labels are known without a pass: ``points.rows`` are theirs.
    """

    count_shares: Callable[[LinearClassifiers], FloatArray] = field(kw_only=True)
    """One pass: share ``(k, cells)`` of each cell to whom each classifier gives label 1.

    Of more than two labels, ``(k, cells, labels - 1)`` of all but the first.
    """

    _seen: dict[bytes, FloatArray] = field(default_factory=dict, kw_only=True)

    def evaluate(self, classifiers: Any) -> tuple[FloatArray, RowValues]:
        shares = self._shares(classifiers)
        n_cells, axes = shares.shape[1], list(range(1, shares.ndim))
        errors = self.points.error_offset + np.tensordot(shares, self.points.error_cost[:n_cells], axes=len(axes))
        pairs = self.differences(classifiers.labels(self.points.rows))
        if self.groups is None:
            return errors, pairs
        of_groups = np.tensordot(shares, self.groups.matrix[:, :n_cells], axes=(axes, axes))
        return errors, np.concatenate([pairs, of_groups], axis=1)

    def observe(self, classifier: Any) -> tuple[float, RowValues, bytes]:
        errors, values = self.evaluate(classifier)
        return float(errors[0]), values[0], _key(classifier, 0)

    def costs_of(self, classifiers: LinearClassifiers, cost: FloatArray) -> FloatArray:
        """``sum_p cost[p] h(p)`` over cells and judged people, ``(k,)``."""
        labels = classifiers.labels(self.points.rows).astype(float)
        return np.concatenate([self._shares(classifiers), labels], axis=1) @ cost

    def _shares(self, classifiers: LinearClassifiers) -> FloatArray:
        """Return :attr:`count_shares`; a pass is made only for classifiers that were never asked about."""
        keys = [_key(classifiers, t) for t in range(len(classifiers))]
        new = [t for t, key in enumerate(keys) if key not in self._seen]
        if new:
            for t, share in zip(new, self.count_shares(classifiers.take(np.array(new))), strict=True):
                self._seen[keys[t]] = share
        cost = self.points.error_cost
        shape = len(keys), len(cost) - len(self.points.rows), *cost.shape[1:]
        return np.array([self._seen[key] for key in keys]).reshape(shape)


def _key(classifiers: LinearClassifiers, t: int) -> bytes:
    return bytes(classifiers.coef[t].tobytes() + classifiers.intercept[t].tobytes())


class LargeRegressionOracle(RegressionOracle):
    """The regression needs no pass: costs are the same within a cell, and the mean row of each cell is known."""

    cheap = False
    is_regression = False  # whoever asks this one wants what a game without a pass cannot give

    def __init__(self, summary: TableSummary, judged_rows: FloatArray, more: FloatArray) -> None:
        self.rows = judged_rows
        self._n_labels = n_labels(more)
        self.hypothesis_class = regression_class(self._n_labels)
        self._terms = summary.regression_terms(judged_rows, more)
        self._points = np.concatenate([summary.cell_means, _with_one(judged_rows)])

    def regression_terms(self, problem: Problem) -> RegressionTerms:  # noqa: ARG002 - the rows are those of the summary
        return self._terms

    def _regress(self, cost: FloatArray) -> FloatArray:
        return np.asarray((self._terms.inverse_gram @ (cost.T @ self._points).T).T)


class LargeDescentOracle(DescentOracle):
    """Coordinate searches on the 0/1 cost as in memory, but every step is one pass and one histogram.

    A pass finds, along every coordinate at once, what each of some steps would cost, exactly; the best one is taken.
    Which steps are tried is learned from the breakpoints of the first block and of judged people.
    """

    def __init__(
        self,
        summary: TableSummary,
        judged_rows: FloatArray,
        more: FloatArray,
        pass_over: Callable[[LinearClassifiers, FloatArray], IntArray],
        cost_of: Callable[[LinearClassifiers, FloatArray], FloatArray],
    ) -> None:
        self.cheap = False
        self.regression = LargeRegressionOracle(summary, judged_rows, more)
        self._people = summary.cell_people
        self._sample, self._judged = _with_one(summary.sample), _with_one(judged_rows)
        self._pass_over, self._cost_of = pass_over, cost_of

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> LinearClassifiers:
        best = self.regression.best_response(cost)
        if isinstance(warm, LinearClassifiers) and len(warm):
            starts = best.joined(warm.take(np.arange(1)))  # the cheapest known
            best = starts.take(np.argmin(self._cost_of(starts, cost), keepdims=True))
        n_cells = len(self._people)
        a_person = cost[:n_cells] / np.maximum(self._people, 1.0)
        for _ in range(_MAX_STEPS):
            edges = self._edges(best)
            between = np.einsum("jce,c->je", self._pass_over(best, edges), a_person)
            total = np.cumsum(between, axis=1)[:, :-1] + self._on_judged(best, edges, cost[n_cells:])
            here = total[np.arange(len(edges)), np.argmax(edges == 0.0, axis=1)]
            gain = np.where(np.isfinite(edges), here[:, None] - total, -np.inf)
            coordinate, step = np.unravel_index(np.argmax(gain), gain.shape)
            if gain[coordinate, step] < _LEAST_GAIN:
                break
            beta = np.append(best.intercept, best.coef)
            beta[coordinate] += edges[coordinate, step]
            best = LinearClassifiers(beta[None, 1:], beta[:1])
        return best

    plain_model = Oracle.plain_model  # type: ignore[assignment]  # another search would take many passes

    def _edges(self, classifier: LinearClassifiers) -> FloatArray:
        """Steps to try along each coordinate ``(1 + d, steps)``, sorted, 0 among them, infinite ones behind."""
        lines = []
        for rows, number in ((self._sample, _EDGES), (self._judged, _JUDGED_EDGES)):
            if len(rows):
                lines.append(_quantiles(breakpoints(classifier, rows), number))
        edges = np.concatenate([*lines, np.zeros((self._sample.shape[1], 1))], axis=1)
        return np.sort(np.where(np.isnan(edges), np.inf, edges), axis=1)

    def _on_judged(self, classifier: LinearClassifiers, edges: FloatArray, cost: FloatArray) -> FloatArray:
        """Return what judged people cost in addition at each step ``(1 + d, steps)``."""
        total = np.zeros(edges.shape)
        if not len(cost):
            return total
        at = breakpoints(classifier, self._judged)
        for j, own in enumerate(edges):
            can_change = self._judged[:, j] > 0.0
            place = np.searchsorted(own, at[can_change, j], side="right")
            total[j] = np.cumsum(np.bincount(place, cost[can_change], minlength=len(own) + 1))[:-1]
        return total


def breakpoints(classifier: LinearClassifiers, rows: FloatArray) -> FloatArray:
    """The step along each coordinate at which each row's label changes ``(n, 1 + d)``; NaN where it never does."""
    score = rows @ np.append(classifier.intercept, classifier.coef)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(rows != 0.0, -score[:, None] / rows, np.nan))


def _quantiles(values: FloatArray, number: int) -> FloatArray:
    """``(columns, number)`` of those that are there; NaN in a column of none."""
    levels = (np.arange(number) + 0.5) / number
    result = np.full((values.shape[1], number), np.nan)
    for j, column in enumerate(values.T):
        known = column[np.isfinite(column)]
        if len(known):
            result[j] = np.quantile(known, levels)
    return result


def _with_one(rows: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(rows)), rows])


def large_problem(
    table: LargeTable, summary: TableSummary, prepared: PreparedTable, client: Client | None
) -> LargeProblem:
    """The problem on cells and judged people, with rules about groups beside those about pairs."""
    people, small = summary.cell_people, prepared.problem
    outcome = np.arange(len(people)) % len(summary.outcomes)
    a_person = prepared.more[outcome]
    on_judged = np.zeros_like(small.points.error_cost)
    points = Points(
        prepared.judged_rows,
        np.concatenate([(a_person.T * people / summary.n_rows).T, on_judged]),
        small.points.error_offset,
        np.append(people, np.zeros(len(on_judged))),
    )
    groups = None
    moments = parity_moments(prepared.settings.group_constraints)
    if moments:
        cells = pd.DataFrame({"cell": np.arange(len(people))})
        named = pd.Series(np.repeat(np.array(summary.groups, dtype=object), len(summary.outcomes)))
        # A cell of many people is one person of their weight, and their labels the shares of the cell with each.
        placed = Placement(points, cells["cell"].to_numpy(), small.judged)
        groups = prepared.target.group_rows(moments, prepared.codes[outcome], cells, named, people, placed)
    values = {field.name: getattr(small, field.name) for field in fields(small)}
    values |= {"points": points, "judged": len(people) + small.judged, "groups": groups}
    return LargeProblem(**values, count_shares=partial(_shares, table, summary, client))


def large_oracle(
    table: LargeTable, summary: TableSummary, prepared: PreparedTable, problem: LargeProblem, client: Client | None
) -> Oracle:
    terms = summary, prepared.judged_rows, prepared.more
    if prepared.settings.estimator == "linear-regression":
        return LargeRegressionOracle(*terms)
    return LargeDescentOracle(*terms, lambda at, edges: histogram(table, summary, at, edges, client), problem.costs_of)


def _shares(
    table: LargeTable, summary: TableSummary, client: Client | None, classifiers: LinearClassifiers
) -> FloatArray:
    counts = count(table, summary, classifiers, client)
    given = counts.given.reshape(len(summary.cell_people), *counts.given.shape[2:])
    shares = np.moveaxis(given / np.maximum(summary.cell_people, 1.0)[:, None, None], 2, 0)
    return np.asarray(shares if shares.shape[2] > 1 else shares[:, :, 0])


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
    """Prepare the problem of these judgments about people who were found in the first pass."""
    target, codes = label_target(np.arange(len(summary.outcomes)), summary.outcomes, settings, judgments)
    if len(target.classes) > 2 and settings.estimator == "linear":
        raise InputError(
            f"estimator='linear' is for two labels where a table is read in blocks, and there are "
            f"{len(target.classes)}: give estimator='linear-regression'."
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
    first, more = relative_losses(target.costs(codes))
    people = summary.outcome_sums[:, 0]
    n_others = () if len(target.classes) == 2 else (more.shape[1],)
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
        sign=target.sign,
        gamma=float(settings.gamma),
        label_values=target.values,
    )
    seed = seed_of(settings.random_state)
    return PreparedTable(settings, problem, pairs, judged_rows, summary.encoder, target, seed, codes)


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
        """Classifiers to be counted: the plain model, then of each game the mixture and the reply that bounds it."""
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
    losses = prepared.losses
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
