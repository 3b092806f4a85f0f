"""Models as small as they can be: the fewest classifiers for an error, and the least error with so many at most.

A vertex of the linear programme has up to as many classifiers as tight rows, but there are most often much smaller
mixtures of the classifiers found that are as good. What the others can do without is left out, and where that leaves
few a ``Selection`` chooses among all that were found. Where fewer are wanted than that takes, others are needed than
those the programme asked for, and new ones are searched for in two ways: at the multipliers of the small mixture alone,
and the best one for each place in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from time import monotonic

import numpy as np

from fairwise.errors import InputError
from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, Oracle
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.branching import PlaceSearch
from fairwise.learning.solvers.least_excess import least_excess
from fairwise.learning.solvers.master import Master, MasterSolution, keeps
from fairwise.learning.solvers.pool import Pool
from fairwise.learning.solvers.selection import MOST_CANDIDATES, Selection, best_weights, solved_or_none
from fairwise.learning.solvers.solution import FEASIBLE, Multipliers

_CANDIDATES = 120  # of the lowest reduced cost, beside those of the mixtures known; many differ in one leaf
_ROUNDS = 6  # of choosing and searching for new ones, for each size
_QUESTIONS = 400  # to the oracle about one place
_SHARES = (0.0, 0.5)  # of the whole programme's multipliers, when asking for new ones
_SHARES_OF_PLACES = (1.0, 0.5, 0.25)
_GAIN = 1e-7  # in error: less is not worth another round
_NO_WEIGHT = 1e-10
_LITTLE_WEIGHT = 1e-3
_CHOSEN = 10  # a programme that chooses takes too long for mixtures of more
_FEW = 24  # of so few candidates it chooses the best at once; else they are exchanged one by one
_TRIED = 24  # candidates for an exchange
_FRUITLESS = 25  # classifiers in a row that cannot be left out: hardly any of the others can
_MANY_ROWS = 20_000  # beyond, choosing takes longer than the fit


@dataclass(frozen=True, eq=False)
class Choice:
    """Some classifiers of a pool, by position, and the best mixture of them."""

    which: IntArray
    weights: FloatArray
    error: float
    multipliers: Multipliers
    dual: float
    """Of the weights' sum: a classifier that costs less at the multipliers would lower the error."""

    def __len__(self) -> int:
        return len(self.which)


def choose_few(
    problem: Problem,
    oracle: Oracle,
    pool: Pool,
    ceiling: float,
    *,
    least: Problem | None = None,
    most: int | None = None,
    time_limit: float | None = None,
) -> tuple[Choice, int]:
    """The fewest classifiers found whose error is at most ``ceiling``, or the best ``most``; and the oracle calls made.

    The error of the best mixture of the pool must be within the ceiling. Of at most ``most`` it may be above it.
    ``least`` is the problem with the least panel budget that the ceiling allows, where that is wanted first.
    """
    if least is not None:
        choice = FewClassifiers(least, oracle, pool, time_limit).fewest(ceiling)
        if most is None or len(choice) <= most:
            return choice, 0
    search = FewClassifiers(problem, oracle, pool, time_limit)
    choice = search.fewest(ceiling)
    if most is None:
        return choice, 0
    best = choice if len(choice) <= most else search.at_most(most, ceiling)
    if best is None:
        raise InputError(
            f"max_classifiers={most}: no mixture of so few that keeps every rule was found; {len(choice)} do. Ask for "
            "more classifiers, or for looser rules."
        )
    return search.with_least_excess(best, max(best.error, ceiling)), search.oracle_calls


class FewClassifiers:
    """A search over a pool, which grows where few are wanted. It does the same on any machine, unless time is up."""

    def __init__(self, problem: Problem, oracle: Oracle, pool: Pool, time_limit: float | None = None) -> None:
        self._problem, self._oracle, self._pool = problem, oracle, pool
        self._deadline = np.inf if time_limit is None else monotonic() + time_limit
        self.oracle_calls = 0

    def fewest(self, ceiling: float) -> Choice:
        """The fewest found with an error of at most ``ceiling``."""
        known = self._used(np.arange(len(self._pool)), self._pool.solve(self._problem))
        alone = self._alone()
        if alone is not None and alone.error <= ceiling:
            return alone
        if len(known) <= 2 or len(self._problem) > _MANY_ROWS or self._is_over():
            return known
        # By duality no mixture within the ceiling gives any other classifier even so little weight.
        reduced = self._pool.costs(known.multipliers) - known.dual
        useful = reduced <= (max(ceiling - known.error, 0.0) + FEASIBLE) / _LITTLE_WEIGHT
        n_others = int(np.count_nonzero(useful)) - len(known)
        known = self._without_spare(known, ceiling, min(_FRUITLESS, max(n_others, 1)))
        if n_others <= 0 or len(known) > _CHOSEN or self._is_over():
            return known
        candidates = self._candidates(known)
        found = self._selected(known, candidates[useful[candidates] | np.isin(candidates, known.which)], ceiling)
        return known if found is None or len(found) >= len(known) or found.error > ceiling + FEASIBLE else found

    def with_least_excess(self, choice: Choice, ceiling: float) -> Choice:
        """Mix the same classifiers for the least mean excess at an error of at most ``ceiling``."""
        master = Master(self._problem)
        master.add(self._pool.errors[choice.which], self._pool.values[choice.which])
        return self._used(choice.which, least_excess(master, self._problem, ceiling)[1])

    def at_most(self, most: int, enough: float) -> Choice | None:
        """The best found of at most ``most``, or the first with an error that is ``enough``.

        Each size begins with what the one before found, so that one more classifier is never worse.
        """
        best = self._alone()
        for size in range(1, most + 1):
            if best is None and size > 1:  # a search by a number of nodes may miss it
                best = self._choice(self._constants())
            best = self._of_size(size, best)
            if self._is_over() or (best is not None and best.error <= enough):
                break
        return best

    def _of_size(self, size: int, best: Choice | None) -> Choice | None:
        for turn in range(_ROUNDS if self._oracle.cheap else 1):
            before = np.inf if best is None else best.error
            best = best if size == 1 else self._rearranged(best, size, choose=turn == 0)
            if best is None or self._is_over():
                break
            is_new = self._ask(best)
            if best.error > before - _GAIN and self._oracle.cheap and self._problem.is_plain:
                best = self._with_best_places(best, size)
            if best.error > before - _GAIN and not is_new:
                break
        return best

    def _rearranged(self, best: Choice | None, size: int, *, choose: bool) -> Choice | None:
        """The best of so many of the candidates: chosen at once, which takes longer, or exchanged one by one."""
        candidates = self._candidates(best)
        if best is None or choose or len(candidates) <= _FEW:
            found = self._selected(best, candidates, np.inf if best is None else best.error, size)
        else:
            found = self._exchanged(best, candidates, size)
        return best if found is None or (best is not None and found.error >= best.error) else found

    def _choice(self, which: IntArray) -> Choice | None:
        """The best mixture of these, None where none keeps the rules."""
        solved = best_weights(self._problem, self._pool.errors[which], self._pool.values[which])
        return None if solved is None else self._used(which, solved)

    def _used(self, which: IntArray, solved: MasterSolution) -> Choice:
        """Those that have weight in a solution."""
        used = solved.weights > _NO_WEIGHT
        which, weights = which[used], solved.weights[used] / solved.weights[used].sum()
        error = float(weights @ self._pool.errors[which])
        return Choice(which, weights, error, solved.multipliers, solved.dual)

    def _alone(self) -> Choice | None:
        """The best single classifier of the pool that keeps every rule."""
        for position in np.argsort(self._pool.errors, kind="stable"):
            if keeps(self._problem, self._pool.values[position]):
                return self._choice(np.array([position]))
        return None

    def _without_spare(self, known: Choice, ceiling: float, patience: int) -> Choice:
        """Those that the others can do without are left out one by one, the least weight first."""
        which, problem, fruitless = known.which, self._problem, 0
        master = Master(problem)  # stays warm: another column's weight is all that changes
        master.add(self._pool.errors[which], self._pool.values[which])
        for column in np.argsort(known.weights, kind="stable"):
            if fruitless == patience or self._is_over():
                break
            if which[column] in known.which:
                master.allow(column, allowed=False)
                others = solved_or_none(master, problem)
                found = None if others is None else self._used(which, others)
                if found is None or found.error > ceiling:
                    master.allow(column, allowed=True)
                    fruitless += 1
                else:
                    known, fruitless = found, 0
        return known

    def _exchanged(self, best: Choice, candidates: IntArray, size: int) -> Choice:
        """The best after one classifier more, and one fewer where that makes too many; again while that helps."""
        while not self._is_over():
            before = best
            new = candidates[~np.isin(candidates, best.which)]
            for position in new[np.argsort(self._pool.costs(before.multipliers)[new], kind="stable")][:_TRIED]:
                best = self._with_one_more(best, before, int(position), size)
            if best is before:
                break
        return best

    def _with_one_more(self, best: Choice, known: Choice, position: int, size: int) -> Choice:
        """What is best: ``best``, or ``known`` with another classifier and, where that makes too many, one fewer."""
        more = self._choice(np.append(known.which, position))
        if more is None or more.error > best.error - _GAIN:
            return best
        if len(more) <= size:
            return more
        trials = [self._choice(np.delete(more.which, place)) for place in range(len(more))]
        return min((one for one in (best, *trials) if one is not None), key=lambda one: one.error)

    def _selected(
        self, known: Choice | None, candidates: IntArray, ceiling: float, most: int | None = None
    ) -> Choice | None:
        """The best choice among the candidates, None where none was found."""
        pool, ceiling = self._pool, min(ceiling, 1.0)
        selection = Selection(self._problem, pool.errors[candidates], pool.values[candidates], ceiling, most)
        start = np.flatnonzero(np.isin(candidates, [] if known is None else known.which))
        chosen = selection.search(start, max(self._deadline - monotonic(), 0.0))
        return None if chosen is None else self._choice(candidates[chosen])

    def _candidates(self, known: Choice | None) -> IntArray:
        """Those of both mixtures, of what is known and of the whole programme, and what is cheapest for either."""
        whole = self._pool.solve(self._problem)
        wanted = [self._constants(), np.flatnonzero(whole.weights), self._cheapest(whole.multipliers)]
        if known is not None:
            wanted = [known.which, self._cheapest(known.multipliers), *wanted]
        everyone = np.concatenate(wanted)
        first = np.sort(np.unique(everyone, return_index=True)[1])
        return np.asarray(everyone[first][:MOST_CANDIDATES])

    def _constants(self) -> IntArray:
        """Two of them, where the pool begins: half of each keeps every rule about two labels."""
        return np.arange(min(2, len(self._pool)))

    def _cheapest(self, at: Multipliers) -> IntArray:
        return np.argsort(self._pool.costs(at), kind="stable")[:_CANDIDATES]

    def _ask(self, best: Choice) -> bool:
        """Ask for classifiers that would improve this mixture; whether there is a new one that does."""
        whole, is_new = self._pool.solve(self._problem).multipliers, False
        for share in _SHARES:
            at = best.multipliers.towards(whole, share)
            answer = self._oracle.best_response(self._problem.cost(at.rows))
            self.oracle_calls += 1
            errors, values = self._problem.evaluate(answer)
            cost = float((errors + values @ best.multipliers.rows)[0])
            is_new |= bool(self._pool.keep(answer, errors, values)) and cost < best.dual - _GAIN
        return is_new

    def _with_best_places(self, best: Choice, size: int) -> Choice:
        """With better classifiers for places in the mixture, where there are any: whole ones, or a share of one."""
        for position, share in product(best.which, _SHARES_OF_PLACES):
            place = np.flatnonzero(best.which == position)
            if len(place) and not self._is_over():
                found = self._for_place(best, int(place[0]), share)
                best = best if found is None else self._with_one_more(best, best, self._position(found), size)
        return best

    def _for_place(self, best: Choice, place: int, share: float) -> Classifiers | None:
        """A better classifier for this share of one's weight, where everything else stays as it is."""
        problem, pool = self._problem, self._pool
        limits, pairs = problem.row_limits[: problem.n_pairs], slice(problem.n_pairs)
        values = pool.values[best.which][:, pairs]
        reached, weight = best.weights @ values, share * best.weights[place]
        allowed = np.where(problem.hard[pairs], limits, np.maximum(limits, reached))
        search = PlaceSearch(problem, self._oracle, (allowed - reached + weight * values[place]) / weight)
        found = search.run(pool.errors[best.which[place]] - _GAIN, _QUESTIONS)
        self.oracle_calls += search.oracle_calls
        return found

    def _position(self, classifier: Classifiers) -> int:
        """Where this one, or one as good on every row and in error, is in the pool; it is put there."""
        errors, values = self._problem.evaluate(classifier)
        self._pool.keep(classifier, errors, values)
        alike = np.flatnonzero((self._pool.values == values[0]).all(axis=1))
        return int(alike[np.argmin(self._pool.errors[alike])])

    def _is_over(self) -> bool:
        return monotonic() > self._deadline
