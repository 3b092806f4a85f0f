"""Where judgments pull against each other. Reported, never repaired."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.judgments.answer import FIRST, SECOND, Answer, Ints, Oriented, orient
from fairwise.judgments.cycles import Cycle, cycles
from fairwise.judgments.table import Judgments

_ANSWERS = [str(answer) for answer in Answer]
_DIRECTIONS = {str(answer) for answer in Answer if answer.ordered}


@dataclass(frozen=True, eq=False)
class Conflicts:
    """What does not fit together.

    Two answers about a pair are *opposed* when one asks only for "A at least as well as B" and the other only for "B at
    least as well as A". `same` asks for both and `no_constraint` for nothing, so neither is opposed to anything.
    Nothing here is infeasible: opposed answers and cycles can all be kept by treating the people in them alike, which
    costs accuracy.

    Attributes
    ----------
    opposed
        One row per pair on which judges are opposed: a, b, n_for_a, n_for_b, and the judges themselves (for_a, for_b).
    contradictions
        One row per judge and pair, over all rounds and designs, with answers that differ: judge, a, b, kind (`opposed`,
        or else `changed`), and answers, rounds and designs in their order.
    cycles_of_judges
        Orders that go in circles within one judge.
    cycles_of_panel
        The same over the answers of all judges together.
    n_shared_pairs
        How many pairs two or more judges answered.
    """

    opposed: pd.DataFrame
    contradictions: pd.DataFrame
    cycles_of_judges: tuple[Cycle, ...]
    cycles_of_panel: tuple[Cycle, ...]
    n_shared_pairs: int

    def __str__(self) -> str:
        own = self.contradictions["kind"].value_counts()
        turning = len({cycle.judge for cycle in self.cycles_of_judges})
        tied = sum(len(cycle.members) for cycle in self.cycles_of_panel)
        lines = {
            "Pairs on which judges are opposed": f"{len(self.opposed)} of {self.n_shared_pairs} that several answered",
            "Pairs a judge ordered both ways": f"{own.get('opposed', 0)}",
            "Pairs a judge changed otherwise": f"{own.get('changed', 0)}",
            "Orders in circles within a judge": f"{len(self.cycles_of_judges)}, of {turning} judges",
            "Orders in circles over the panel": f"{len(self.cycles_of_panel)}, which tie {tied} people together",
        }
        return "\n".join(f"{what:<36}{number}" for what, number in lines.items())


def find_conflicts(judgments: Judgments) -> Conflicts:
    """List opposed answers, contradictions and cycles with the people and judges in them.

    Opposition between judges and cycles are about the rows that count; contradictions of a judge are about all rows,
    repeats and earlier rounds included. In every table a is the one of the two whose id comes first.
    """
    judgments = judgments.asked()
    frame = judgments.frame
    rows = orient(frame)
    counted = rows.only(judgments.counted()["row"].to_numpy(dtype=np.int64))
    shared = pd.DataFrame({"pair": counted.pair, "judge": counted.judge}).drop_duplicates()
    return Conflicts(
        opposed=_opposed(counted),
        contradictions=_contradictions(rows, frame),
        cycles_of_judges=cycles(counted, within_judges=True),
        cycles_of_panel=cycles(counted, within_judges=False),
        n_shared_pairs=int(shared.loc[shared.duplicated("pair"), "pair"].nunique()),
    )


def _opposed(rows: Oriented) -> pd.DataFrame:
    rows = rows.only((rows.answer == FIRST) | (rows.answer == SECOND))
    orders = pd.DataFrame({"pair": rows.pair, "answer": rows.answer, "judge": rows.judge}).drop_duplicates()
    each = orders.groupby("pair")
    both = (each["answer"].transform("nunique") > 1) & (each["judge"].transform("nunique") > 1)
    orders = orders[both].sort_values(["pair", "answer", "judge"])
    # Each pair has two parts: those for its first, then those for its second.
    begins = ~orders.duplicated(["pair", "answer"]).to_numpy()
    sides = _parts(rows.judges.take(orders["judge"].to_numpy(dtype=np.int64)).tolist(), begins)
    for_a, for_b = sides[::2], sides[1::2]
    return pd.DataFrame(
        {
            **_people(rows, orders["pair"].to_numpy(dtype=np.int64)[begins][::2]),
            "n_for_a": np.array([len(judges) for judges in for_a], dtype=np.int64),
            "n_for_b": np.array([len(judges) for judges in for_b], dtype=np.int64),
            "for_a": pd.Series(for_a, dtype=object),
            "for_b": pd.Series(for_b, dtype=object),
        }
    )


def _contradictions(rows: Oriented, frame: pd.DataFrame) -> pd.DataFrame:
    differing = pd.DataFrame({"judge": rows.judge, "pair": rows.pair, "answer": rows.answer})
    differing = differing[differing.duplicated(["judge", "pair"], keep=False)].join(frame[["round", "design"]])
    differing = differing[differing.groupby(["judge", "pair"])["answer"].transform("nunique") > 1]
    differing = differing.sort_values(["judge", "pair", "round", "design"])
    begins = ~differing.duplicated(["judge", "pair"]).to_numpy()
    answers = _parts([_ANSWERS[answer] for answer in differing["answer"]], begins)
    return pd.DataFrame(
        {
            "judge": rows.judges.take(differing["judge"].to_numpy(dtype=np.int64)[begins]),
            **_people(rows, differing["pair"].to_numpy(dtype=np.int64)[begins]),
            "kind": pd.Series(["opposed" if {*part} >= _DIRECTIONS else "changed" for part in answers], dtype=str),
            "answers": pd.Series(answers, dtype=object),
            "rounds": pd.Series(_parts(differing["round"].tolist(), begins), dtype=object),
            "designs": pd.Series(_parts(differing["design"].tolist(), begins), dtype=object),
        }
    )


def _people(rows: Oriented, pair: Ints) -> dict[str, pd.Index]:
    first, second = np.divmod(pair, max(len(rows.people), 1))
    return {"a": rows.people.take(first), "b": rows.people.take(second)}


def _parts(values: list[object], begins: NDArray[np.bool_]) -> list[tuple[object, ...]]:
    """Return the values in parts, given where each part begins."""
    edges = [*np.flatnonzero(begins).tolist(), len(values)]
    return [tuple(values[low:high]) for low, high in pairwise(edges)]
