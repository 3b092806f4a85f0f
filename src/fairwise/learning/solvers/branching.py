"""The best single classifier for one place in a mixture: an oracle knows no rule, so it is asked again and again.

With the weights of a mixture fixed, a pair leaves one of its classifiers a difference ``d = s (h_i - h_j)`` of at most
``room``. As ``d`` is -1, 0 or 1, each pair allows everything, or not ``d = 1``, or ``d = -1`` alone. Where the oracle's
answer breaks a pair, either the one person must be treated less well or both well; both are asked for, with a cost so
large that the label is fixed. Each answer bounds what can be found below it, so that with an exact oracle the first
one that breaks nothing, in the order of their errors, is the best there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

import numpy as np
from numpy.typing import NDArray

from fairwise.learning.oracles.base import Classifiers, FloatArray, LabelArray, Oracle
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.solution import FEASIBLE

_FREE = -1  # neither label is fixed
_FIXED = 4.0  # a cost above that of any number of errors, as the weights of people add to 1

Fixed = NDArray[np.int8]
"""``(P,)``: the label that each point must get, or that it is free."""


@dataclass(frozen=True, order=True)
class _Node:
    """An answer of the oracle; ``number`` only orders equal ones."""

    error: float
    number: int
    classifier: Classifiers = field(compare=False)
    labels: LabelArray = field(compare=False)
    fixed: Fixed = field(compare=False)


class PlaceSearch:
    """Best-first search for the classifier of least error whose pair differences are at most ``room`` ``(K,)``."""

    def __init__(self, problem: Problem, oracle: Oracle, room: FloatArray) -> None:
        self._problem, self._oracle = problem, oracle
        self._good = np.int8(problem.sign > 0)
        self._reference, self._owed = problem.judged[problem.reference], problem.judged[problem.owed]
        self._room = room
        self._numbers = count()
        self.oracle_calls = 0

    def run(self, below: float, max_calls: int) -> Classifiers | None:
        """The classifier, if its error is less than ``below``; None where none was found in so many questions."""
        fixed = self._at_first()
        waiting: list[_Node] = []
        for begin in [] if fixed is None else [fixed]:
            self._ask(begin, below, waiting)
        while waiting:
            node = heappop(waiting)
            broken = self._broken(node.labels)
            if not broken.any():
                return node.classifier
            if self.oracle_calls >= max_calls:
                continue  # perhaps something that breaks nothing is waiting
            for branch in self._branches(node.fixed, broken):
                self._ask(branch, below, waiting)
        return None

    def _at_first(self) -> Fixed | None:
        """Pairs of which only ``d = -1`` is left: both labels are known. None where they contradict each other."""
        fixed = np.full(len(self._problem.points.error_cost), _FREE, dtype=np.int8)
        known = self._room < -FEASIBLE
        fixed[self._reference[known]] = 1 - self._good
        fixed[self._owed[known]] = self._good
        consistent = (fixed[self._reference[known]] == 1 - self._good).all() and (self._room >= -1 - FEASIBLE).all()
        return fixed if consistent else None

    def _ask(self, fixed: Fixed, below: float, waiting: list[_Node]) -> None:
        cost = self._problem.points.error_cost + _FIXED * (fixed == 0) - _FIXED * (fixed == 1)
        classifier = self._oracle.best_response(cost)
        self.oracle_calls += 1
        labels = classifier.labels(self._problem.points.rows)[0]
        error = float(self._problem.points.errors(labels[None])[0])
        if error < below and np.array_equal(labels[fixed != _FREE], fixed[fixed != _FREE]):
            heappush(waiting, _Node(error, next(self._numbers), classifier, labels, fixed))

    def _broken(self, labels: LabelArray) -> NDArray[np.bool_]:
        difference = self._problem.differences(labels[None, self._problem.judged])[0]
        return np.asarray(difference > self._room + FEASIBLE)

    def _branches(self, fixed: Fixed, broken: NDArray[np.bool_]) -> Iterator[Fixed]:
        """Both ways to mend the broken pair whose people are in most of them."""
        ends = self._reference[broken], self._owed[broken]
        often = np.bincount(np.concatenate(ends), minlength=len(fixed))
        worst = int(np.argmax(often[ends[0]] + often[ends[1]]))
        reference, owed = ends[0][worst], ends[1][worst]
        if fixed[reference] != self._good:
            less = fixed.copy()
            less[reference] = 1 - self._good
            yield less
        if fixed[owed] != 1 - self._good:
            both = fixed.copy()
            both[[reference, owed]] = self._good
            yield both
