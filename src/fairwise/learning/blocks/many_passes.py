"""The problem and the oracle for solvers that read a table again for every classifier they look at."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.constraints.groups import GroupRows, checked_moments
from fairwise.learning.blocks.breakpoints import histogram
from fairwise.learning.blocks.counts import count
from fairwise.learning.blocks.oracles import LargeDescentOracle, LargeRegressionOracle
from fairwise.learning.blocks.problem import LargeProblem
from fairwise.learning.problem import Points

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairwise.learning.blocks.learned import Learned
    from fairwise.learning.blocks.table import LargeTable
    from fairwise.learning.oracles.base import FloatArray, Oracle
    from fairwise.learning.oracles.linear_classifiers import LinearClassifiers
    from fairwise.learning.preparation import Rules


def large_problem(
    settings: Mapping[str, Any], table: LargeTable, learned: Learned, rules: Rules, client: Any
) -> LargeProblem:
    """The problem on cells and judged people, with rules about groups beside those about pairs."""
    people, n_judged = learned.cell_people, len(rules.judged_rows)
    outcome = np.arange(len(people)) % 2
    on_judged = np.zeros(n_judged)
    points = Points(
        rules.judged_rows,
        np.append((1.0 - 2.0 * outcome) * people / learned.n_rows, on_judged),
        learned.share_of_second,
        np.append(people, on_judged),
    )
    groups = None
    moments = checked_moments(settings["group_constraints"])
    if moments:
        named = np.repeat(np.array(learned.groups, dtype=object), 2)
        cells = pd.DataFrame({"cell": np.arange(len(people))})
        # A cell of many people is one person of their weight, and ``h`` the share of the cell with label 1.
        groups = GroupRows.from_moments(moments, cells, outcome, named, people, n_points=len(people) + n_judged)
    problem = rules.problem
    return LargeProblem(
        points=points,
        judged=len(people) + problem.judged,
        reference=problem.reference,
        owed=problem.owed,
        source=problem.source,
        sign=problem.sign,
        gamma=problem.gamma,
        budgets=problem.budgets,
        groups=groups,
        count_shares=partial(_shares, table, learned, client),
    )


def large_oracle(
    settings: Mapping[str, Any], table: LargeTable, learned: Learned, problem: LargeProblem, client: Any
) -> Oracle:
    judged_rows = problem.points.rows
    if settings["estimator"] == "linear-regression":
        return LargeRegressionOracle(learned, judged_rows)
    return LargeDescentOracle(
        learned, judged_rows, lambda at, edges: histogram(table, learned, at, edges, client), problem.costs_of
    )


def _shares(table: LargeTable, learned: Learned, client: Any, classifiers: LinearClassifiers) -> FloatArray:
    counts = count(table, learned, classifiers, client)
    label_1 = counts.label_1.reshape(len(learned.cell_people), -1)
    return np.asarray((label_1 / np.maximum(learned.cell_people, 1.0)[:, None]).T)
