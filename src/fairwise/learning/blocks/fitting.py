"""A fit to a table that is read in blocks: the paper's dynamics in two passes, anything else in as many as it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.constraints.groups import checked_moments
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.blocks.learned import learn
from fairwise.learning.blocks.many_passes import large_oracle, large_problem
from fairwise.learning.blocks.two_passes import count_games, play
from fairwise.learning.preparation import NOBODY, Rules, budgets_of, seed_of
from fairwise.learning.problem import Points, Problem
from fairwise.learning.settings import check_settings
from fairwise.learning.solving import solve

_LINEAR = ("linear-regression", "linear")

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairwise.learning.blocks.learned import Learned
    from fairwise.learning.blocks.table import LargeTable
    from fairwise.learning.result import Solution


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
    [[(solution, _)]] = count_games(settings, table, learned, [played], client)
    return rules, solution, learned.n_rows


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
        sign=inputs.favorable_sign(settings, learned.classes, judgments),
        gamma=float(settings["gamma"]),
    )
    return Rules(problem, pairs, judged_rows, learned.encoder, learned.classes, seed_of(settings["random_state"]))
