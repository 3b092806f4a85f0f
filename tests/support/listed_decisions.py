"""Random problems with several labels, and the whole linear programme over every tree, from the definitions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from fairlearn.reductions import DemographicParity, TruePositiveRateParity
from scipy.optimize import linprog

from fairwise import Judgments

NAMES = ("bail", "deny", "refer", "release")  # sorted, as classes are
_ANSWERS = ("same", "a_at_least_b", "b_at_least_a", "no_constraint")


@dataclass(frozen=True, eq=False)
class Decisions:
    """People with a few values, an outcome among ``k`` labels, judgments, and settings drawn at random."""

    people: pd.DataFrame
    outcome: pd.Series[str]
    weight: Any
    group: pd.Series[str]
    judgments: Judgments
    values: dict[str, float]
    loss: pd.DataFrame | None
    settings: dict[str, Any]
    rule: str | None

    @classmethod
    def draw(cls, seed: int, k: int) -> Decisions:
        rng = np.random.default_rng(seed)
        names = list(NAMES[:k])
        people = pd.DataFrame({"x": rng.integers(3, size=14), "z": rng.integers(2, size=14)}).astype(float)
        outcome = pd.Series(rng.choice(names, 14))
        outcome[:k] = names
        said = [
            {"judge": judge, "a": a, "b": b, "answer": str(rng.choice(_ANSWERS)), "weight": float(rng.choice([1, 2]))}
            for judge in "uvw"
            for a, b in {tuple(sorted(rng.choice(14, 2, replace=False).tolist())) for _ in range(4)}
        ]
        values = dict(zip(names, rng.permutation([0.0, 1.0, *rng.random(k - 2).round(2)]).tolist(), strict=True))
        loss = pd.DataFrame(rng.integers(1, 5, (k, k)) / 2 * (1 - np.eye(k)), index=names, columns=names)
        rule = [None, "rates", "hits"][int(rng.integers(3))]
        moment = {"rates": DemographicParity, "hits": TruePositiveRateParity}.get(str(rule))
        settings: dict[str, Any] = {
            "gamma": float(rng.choice([0.0, 0.1, 0.3])),
            "eta": [0.0, 0.02, None][int(rng.integers(3))],
            "judge_budgets": [None, 0.05][int(rng.integers(2))],
            "group_constraints": None if moment is None else {names[-1]: [moment(difference_bound=0.1)]},
        }
        return cls(
            people=people,
            outcome=outcome,
            weight=rng.choice([0.5, 1.0, 3.0], 14),
            group=pd.Series(rng.choice(["f", "m"], 14)),
            judgments=Judgments(said, people=people),
            values=values,
            loss=loss if rng.random() < 0.6 else None,
            settings=settings,
            rule=rule,
        )

    @property
    def names(self) -> list[str]:
        return sorted(self.values)

    @cached_property
    def share(self) -> Any:
        return self.weight / self.weight.sum()

    def trees(self, depth: int) -> Any:
        """The labels ``(T, n)`` that any tree of this depth gives, each once."""
        table = self.people.to_numpy()
        sides = [column <= cut for column in table.T for cut in np.unique(column)[:-1]]

        def labelings(depth: int) -> set[tuple[int, ...]]:
            flat = {(label,) * len(table) for label in range(len(self.names))}
            if depth == 0:
                return flat
            below = np.array(sorted(labelings(depth - 1)))
            for side in sides:
                left, right = (np.unique(below[:, keep], axis=0) for keep in (side, ~side))
                for one, two in product(left, right):
                    both = np.empty(len(table), dtype=int)
                    both[side], both[~side] = one, two
                    flat.add(tuple(both.tolist()))
            return flat

        return np.array(sorted(labelings(depth)))

    def least_error(self, depth: int) -> float:
        """Of the best mixture of all these trees that keeps the rules."""
        labels, names = self.trees(depth), self.names
        right = np.array([names.index(label) for label in self.outcome])
        loss = 1.0 - np.eye(len(names)) if self.loss is None else self.loss.loc[names, names].to_numpy()
        errors = loss[right, labels] @ self.share
        treated = np.array([self.values[name] for name in names])[labels]
        matrix, limits, n_pairs = self._pairs(treated)
        about = self._value_rows(treated) if self.rule == "value" else None
        for row, limit in about or self._group_rows(labels == len(names) - 1, right == len(names) - 1):
            matrix.append(np.concatenate([row, np.zeros(n_pairs)]))
            limits.append(limit)
        found = linprog(
            np.concatenate([errors, np.zeros(n_pairs)]),
            A_ub=np.array(matrix) if matrix else None,
            b_ub=limits or None,
            A_eq=np.concatenate([np.ones(len(labels)), np.zeros(n_pairs)])[None, :],
            b_eq=[1.0],
            bounds=[(0, None)] * len(labels) + [(0, 1)] * n_pairs,
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        assert found.x is not None, found.message
        return float(errors @ found.x[: len(labels)])

    def _pairs(self, treated: Any) -> tuple[list[Any], list[float], int]:
        """Rows on (weights, slack): one for each ordered pair in force, then the budgets."""
        frame = self.judgments.frame
        mass, of_judge, shown = (
            defaultdict[Any, float](float),
            defaultdict[Any, set[Any]](set),
            defaultdict[Any, int](int),
        )
        for judge, a, b, answer, weight in frame[["judge", "a", "b", "answer", "weight"]].itertuples(index=False):
            shown[judge] += 1
            ordered = {"same": [(b, a), (a, b)], "a_at_least_b": [(b, a)], "b_at_least_a": [(a, b)]}
            for pair in ordered.get(str(answer), []):
                mass[pair] += weight
                of_judge[judge].add(pair)
        pairs = list(mass)
        k, matrix, limits = len(treated), list[Any](), list[float]()
        if self.settings["eta"] is None and self.settings["judge_budgets"] is None:
            return matrix, limits, 0
        for number, (i, j) in enumerate(pairs):
            matrix.append(np.concatenate([treated[:, i] - treated[:, j], -np.eye(len(pairs))[number]]))
            limits.append(self.settings["gamma"])
        if self.settings["eta"] is not None:
            spent = np.array([mass[pair] for pair in pairs]) / (2 * frame["weight"].sum())
            matrix.append(np.concatenate([np.zeros(k), spent]))
            limits.append(self.settings["eta"])
        if self.settings["judge_budgets"] is not None:
            for judge, own in of_judge.items():
                spent = np.array([pair in own for pair in pairs]) / (2 * shown[judge])
                matrix.append(np.concatenate([np.zeros(k), spent]))
                limits.append(self.settings["judge_budgets"])
        return matrix, limits, len(pairs)

    def _value_rows(self, treated: Any) -> list[tuple[Any, float]]:
        """How well each group and everyone is treated on average: these differ by 0.05 at most, either way."""
        rows = []
        for group in sorted(set(self.group)):
            members = (self.group == group).to_numpy()
            gap = treated[:, members] @ self.weight[members] / self.weight[members].sum() - treated @ self.share
            rows += [(gap, 0.05), (-gap, 0.05)]
        return rows

    def _group_rows(self, given: Any, is_right: Any) -> list[tuple[Any, float]]:
        """Rates of one label: those of each group and of everyone differ by 0.1 at most, either way."""
        if self.rule is None:
            return []
        counted = is_right if self.rule == "hits" else np.ones(len(is_right), dtype=bool)
        rows = []
        for group in sorted(set(self.group[counted])):
            members = counted & (self.group == group).to_numpy()
            gap = given[:, members] @ self.weight[members] / self.weight[members].sum()
            gap = gap - given[:, counted] @ self.weight[counted] / self.weight[counted].sum()
            rows += [(gap, 0.1), (-gap, 0.1)]
        return rows
