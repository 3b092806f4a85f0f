"""Stratified pairs: spread evenly over the combinations of the two people's strata."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

from fairwise.errors import InputError
from fairwise.study.designs.pairs import CrossedPairs, DifferingPairs, NumberedPairs, grouped

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from fairwise.study.designs.draws import Draws
    from fairwise.study.designs.pairs import TwoPeople

MOST_STRATA = 50


@dataclass(frozen=True)
class Cell:
    """One combination: its pairs, and how many of them are free."""

    pairs: NumberedPairs
    free: int


class StratifiedPairs:
    """So many pairs for each participant, of every combination as many as of any other, or one more.

    A combination with too few pairs gives all it has, and the others share the rest. Where it does not come out even,
    chance decides which combinations give one more; so each pair's chance is known exactly.
    """

    def __init__(
        self,
        records: Mapping[str, Hashable],
        strata: Mapping[str, Hashable],
        count: int,
        reserved: AbstractSet[frozenset[str]],
    ) -> None:
        members = list(grouped(strata).values())
        self._stratum = {person: number for number, group in enumerate(members) for person in group}
        kept = Counter(self._combination(*pair) for pair in reserved)
        self._cells: dict[tuple[int, int], Cell] = {}
        for one, other in combinations_with_replacement(range(len(members)), 2):
            pairs = _between(members[one], members[other], records)
            if (free := len(pairs) - kept[one, other]) > 0:
                self._cells[one, other] = Cell(pairs, free)
        self._level, self._more = _shared(count, [cell.free for cell in self._cells.values()])
        self._open = [combination for combination, cell in self._cells.items() if cell.free > self._level]

    def draw(self, draws: Draws, taken: set[frozenset[str]]) -> list[TwoPeople]:
        """Return one participant's, and take them."""
        one_more = set(draws.shuffled(self._open)[: self._more])
        drawn: list[TwoPeople] = []
        for combination, cell in self._cells.items():
            wanted = min(cell.free, self._level) + (combination in one_more)
            drawn += draws.pairs(cell.pairs, wanted, taken)
        return drawn

    def chance(self, a: str, b: str) -> float:
        """Return the chance of a pair that is not reserved of being among one participant's."""
        cell = self._cells[self._combination(a, b)]
        if cell.free <= self._level:
            return 1.0
        return (self._level + self._more / len(self._open)) / cell.free

    def _combination(self, a: str, b: str) -> tuple[int, int]:
        one, other = sorted((self._stratum[a], self._stratum[b]))
        return one, other


def check_strata(strata: Mapping[str, Hashable], where: str) -> None:
    """Refuse strata so fine that a combination is hardly ever seen."""
    found = len(set(strata.values()))
    if found > MOST_STRATA:
        raise InputError(
            f"{where}: design.strata divide the people into {found} groups; at most {MOST_STRATA} are allowed: choose "
            "columns with fewer values"
        )


def _between(here: Sequence[str], there: Sequence[str], records: Mapping[str, Hashable]) -> NumberedPairs:
    # Strata are part of what is shown: people of two strata always differ.
    return DifferingPairs({person: records[person] for person in here}) if here is there else CrossedPairs(here, there)


def _shared(count: int, capacities: Sequence[int]) -> tuple[int, int]:
    """Return how many each gives, as far as it can, and how many then give one more.

    >>> _shared(7, [1, 5, 5]), _shared(6, [3, 3]), _shared(0, [])
    ((3, 0), (3, 0), (0, 0))
    """
    level = 0
    while count > 0:
        able = sum(capacity > level for capacity in capacities)
        if able > count:
            break
        count -= able
        level += 1
    return level, count
