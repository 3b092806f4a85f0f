"""A panel that partly agrees: simulated people who each hold one of a few stated principles about people's records.

For the columns of the sample study (`fairwise.study.new_study`). None of the principles knows sex, race or age.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairwise.simulation.respondent import Closeness, Merit, Respondent, Worth

_CHARGE = "c_charge_degree"
_JUVENILE = ("juv_fel_count", "juv_misd_count", "juv_other_count")
_COLUMNS = ("sex", "age", "race", "priors_count", *_JUVENILE, _CHARGE)
_CATEGORIES = ("sex", "race", _CHARGE)
# How much two who hold the same principle differ in what they overlook: standard deviation of its logarithm.
_TASTE = 0.15
_NOISE = 0.03


@dataclass(frozen=True)
class Principle:
    """What a part of the panel holds, in words and in numbers.

    Attributes
    ----------
    statement
        In words, after "they hold that".
    portion
        Their part of the panel.
    weights
        How many earlier offences one unit of a column weighs, or a felony more than a misdemeanour; other columns
        are no reason for anything.
    same_within
        Two people whose columns differ by so much in all are to be treated the same.
    order_beyond
        A difference of more than this asks that the better record be treated at least as well.
    """

    statement: str
    portion: float
    weights: Mapping[str, float]
    same_within: float
    order_beyond: float

    def respondent(self, name: str, kind: str, patience: float) -> Respondent:
        """Return one who holds it, and overlooks so many times what the principle says."""
        points: dict[str, Worth] = {column: -weight for column, weight in self.weights.items()}
        if _CHARGE in points:
            points[_CHARGE] = {"misdemeanour": self.weights[_CHARGE]}
        weights = {column: self.weights.get(column, 0.0) for column in _COLUMNS}
        closeness = Closeness(weights, self.same_within * patience, categories=_CATEGORIES)
        order = Merit(points, self.order_beyond * patience) if points else None
        return Respondent(name, closeness, order, noise=_NOISE, kind=kind, principle=self.statement)


PRINCIPLES: Mapping[str, Principle] = {
    "like-cases-alike": Principle(
        "like records and charges deserve the same, and a clearly better record nothing worse",
        0.35,
        {"priors_count": 1, **dict.fromkeys(_JUVENILE, 1), _CHARGE: 1},
        same_within=2,
        order_beyond=3,
    ),
    "youth-forgiven": Principle(
        "what someone did as a minor is no longer held against them",
        0.25,
        {"priors_count": 1, _CHARGE: 1},
        same_within=2,
        order_beyond=3,
    ),
    "how-often": Principle(
        "it matters how often someone offended, not what they are charged with",
        0.20,
        {"priors_count": 1, **dict.fromkeys(_JUVENILE, 1)},
        same_within=2,
        order_beyond=4,
    ),
    "gravity": Principle(
        "felonies weigh far more than anything else",
        0.12,
        {"priors_count": 1, "juv_fel_count": 3, _CHARGE: 3},
        same_within=3,
        order_beyond=4,
    ),
    "everyone-alike": Principle("before a trial everyone is to be treated the same", 0.08, {}, 1, 1),
}


def draw_panel(n: int = 43, *, seed: int = 0) -> list[Respondent]:
    """Draw simulated people who hold the principles in their portions; the same seed gives the same people."""
    rng = np.random.default_rng(seed)
    upto = np.cumsum([principle.portion for principle in PRINCIPLES.values()])
    width = max(2, len(str(n)))
    panel = []
    for number, place in enumerate(rng.permutation((np.arange(n) + 0.5) / n), start=1):
        kind = list(PRINCIPLES)[min(int(np.searchsorted(upto, place)), len(upto) - 1)]
        patience = float(np.exp(rng.normal(0, _TASTE)))
        panel.append(PRINCIPLES[kind].respondent(f"simulated-{number:0{width}}", kind, patience))
    return panel
