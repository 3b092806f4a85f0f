"""The most expensive pairs, with the two people side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairwise.auditing.matching import located
from fairwise.judgments import Answer

# A price below this is a solver's rounding.
_NO_PRICE = 1e-6
# Prices closer than this are one price: under a budget all pairs given up cost the same.
_ONE_PRICE = 9


@dataclass(frozen=True)
class DearPair:
    """Two people, what was said about them and by whom, what they get, and what that costs.

    ``features`` has ``(name, value of a, value of b)``; ``gets_a`` and ``gets_b`` are their probabilities of the
    outcome that is compared. ``said`` has each answer with the judges who gave it.
    """

    a: str
    b: str
    features: tuple[tuple[str, Any, Any], ...]
    said: tuple[tuple[Answer, tuple[str, ...]], ...]
    gets_a: float
    gets_b: float
    price: float
    violation: float
    excess: float
    given_up: bool


def dearest_pairs(
    pairs: pd.DataFrame, prices: pd.DataFrame, by_pair: pd.DataFrame, people: pd.DataFrame, n: int
) -> tuple[DearPair, ...]:
    """The ``n`` pairs of the highest price above zero; of equal prices, the most disappointed first."""
    costly = pairs[pairs["price"] > _NO_PRICE]
    order = costly.assign(rank=costly["price"].round(_ONE_PRICE)).sort_values(
        ["rank", "excess"], ascending=False, kind="stable"
    )
    gets = {
        frozenset((str(a), str(b))): {str(a): float(of_a), str(b): float(of_b)}
        for a, b, of_a, of_b in by_pair[["a", "b", "favorable_a", "favorable_b"]].itertuples(index=False, name=None)
    }
    dear = []
    for (a, b), line in zip(order.index, order.head(n).to_dict("records"), strict=False):
        at_a, at_b = located(people.index, pd.Index([a, b]), "people")
        each = gets[frozenset((str(a), str(b)))]
        dear.append(
            DearPair(
                a=str(a),
                b=str(b),
                features=tuple((str(name), row.iloc[at_a], row.iloc[at_b]) for name, row in people.items()),
                said=_said(prices, a, b),
                gets_a=each[str(a)],
                gets_b=each[str(b)],
                price=float(line["price"]),
                violation=float(line["violation"]),
                excess=float(line["excess"]),
                given_up=bool(line["given_up"]),
            )
        )
    return tuple(dear)


def _said(prices: pd.DataFrame, a: Any, b: Any) -> tuple[tuple[Answer, tuple[str, ...]], ...]:
    """Each answer about the two as if ``a`` had stood on the left, and who gave it."""
    as_shown = prices[(prices["a"] == a) & (prices["b"] == b)]
    turned = prices[(prices["a"] == b) & (prices["b"] == a)]
    who: dict[Answer, list[str]] = {answer: [] for answer in Answer}
    for judge, answer in zip(as_shown["judge"], as_shown["answer"], strict=True):
        who[Answer(answer)].append(str(judge))
    for judge, answer in zip(turned["judge"], turned["answer"], strict=True):
        who[Answer(answer).swapped()].append(str(judge))
    return tuple((answer, tuple(judges)) for answer, judges in who.items() if judges)
