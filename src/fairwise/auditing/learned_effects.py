"""Effects on what is learned: models of the answers before and after, by arm, at the same gamma and eta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from fairwise.auditing import checks
from fairwise.auditing.changes import Changes
from fairwise.auditing.effects import Assigned, control_arm
from fairwise.auditing.randomisation import Assignments, Difference, line_of, with_holm
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.judgments.table import MEASURED_ONLY
from fairwise.results.effects import LEARNED, LearnedEffects
from fairwise.tables.columns import to_pandas

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fairwise.auditing.effects import Unit
    from fairwise.auditing.panel_models import PanelModels
    from fairwise.learning.estimator import PairwiseFairClassifier

    Floats = NDArray[np.float64]

EVERYONE = "everyone"
_BOUNDS = {
    "error": (-1.0, 1.0),
    "price": (-np.inf, np.inf),
    "group_gap": (-1.0, 1.0),
    "treated_differently": (0.0, 1.0),
}
_EFFECTS = _BOUNDS | {"treated_differently": (-1.0, 1.0)}
_ROOM = 1e-9
_LEAST_JUDGES = 3  # fewer say nothing about others like them


def learned_effects(
    model: PairwiseFairClassifier,
    people: Any,
    outcome: object,
    judgments: Judgments,
    *,
    control: str | None = None,
    unit: Unit | None = None,
    groups: object = None,
    least_change: float = 0.01,
    confidence: float = 0.95,
    n_resamples: int = 100,
    n_draws: int = 199,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> LearnedEffects:
    """Compare the models learned from the answers before and after talking, at the model's gamma and eta.

    Parameters
    ----------
    model : PairwiseFairClassifier
        What to learn, by column generation; it need not be fitted.
    people, outcome, judgments
        As for ``fit``; judgments with rounds and arms, as for :func:`effects`.
    control : str, optional
        The arm that others are compared with; by default the one called "control".
    unit : "judge" or "room", optional
        What arms were drawn for; by default inferred from rooms, blocks and arms, if there are rooms.
    groups : Series or array, optional
        A group of each person, to compare rates.
    least_change : float
        By how much a chance must differ for a person to count as treated differently; 0.01 is a percentage point.
    confidence : float
        Of intervals.
    n_resamples : int
        How many panels are drawn from the judges, with replacement, to see how much depends on them.
    n_draws : int
        How many other assignments to arms are drawn.
    seed : int
        Of both.
    progress : callable, optional
        Called with how many models are done and how many there are.

    Notes
    -----
    Only judges who came back count, with all of their answers: before is round 1, after is their last answer about
    each pair. Classifiers are searched for with the model's oracle for everyone and for each arm, before and after; all
    other models are best mixtures of these classifiers, so that no oracle is asked. A p-value is the share of
    assignments in which the change in the arm less that in the control arm is as far from 0.

    Intervals are the value ± Student's t times the standard deviation over panels drawn: a rough guide, above all where
    eta is 0 and every judgment is a hard rule. Several models and prices may be equally good; then one of them is told.
    """
    from fairwise.auditing.panel_models import PanelModels  # the learner, slow to load

    judgments = checks.some_judgments(judgments)
    confidence = checks.fraction("confidence", confidence, ends=False)
    least_change = checks.fraction("least_change", least_change)
    n_resamples, n_draws = checks.whole("n_resamples", n_resamples, 10), checks.whole("n_draws", n_draws, 19)
    complete = judgments if judgments.people is not None else judgments.about(people)
    changes = Changes.of(complete)
    judges = changes.judges[changes.returned]
    everyone = Assigned.of(complete.judge_attributes, unit)
    assigned, names = everyone.among(judges), sorted(set(everyone.arm.dropna()))
    chosen = control_arm(names, control)
    others = [name for name in names if name != chosen] if chosen is not None else []
    order = [*names, EVERYONE] if chosen is None else [chosen, *others, EVERYONE]
    parts: dict[str, Floats] = {name: (assigned.arm == name).to_numpy().astype(np.float64) for name in names}
    parts[EVERYONE] = np.ones(len(judges))
    present = [part for part in parts.values() if part.any()]
    measure, labels = None, [] if groups is None else _group_names(groups, people)
    if len(judges):
        models = PanelModels.search(model, people, outcome, _rounds(complete), judges.tolist(), present)
        total = len(present) * (1 + n_resamples) + 2 * n_draws * len(others)
        measure = _Measure(models, groups, least_change, progress, total)
    found = {name: _Part.of(measure, parts[name], assigned.rooms, n_resamples, seed) for name in order}
    tests: list[dict[str, object]] = []
    for name in others:
        both = parts[name] + parts[str(chosen)] > 0
        units, of_judge = assigned.reassigned(parts[name] > 0, both, n_draws, checks.whole("seed", seed, 0))
        tests += _tests(measure, found[name], found[str(chosen)], both, units.of_members(of_judge), name, confidence)
    return LearnedEffects(
        arms=pd.DataFrame.from_dict({name: found[name].line(confidence) for name in order}, orient="index").rename_axis(
            "arm"
        ),
        rates=_rates({name: found[name] for name in order}, labels),
        tests=with_holm(tests),
        gamma=float(model.gamma),
        eta=model.eta,
        least_change=least_change,
        confidence=confidence,
        n_resamples=n_resamples,
        n_draws=n_draws,
        permuted=assigned.permuted(assigned.arm.notna().to_numpy()) if others else None,
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """The models of a part of the panel: ``before`` and ``after`` ``(3,)`` of error, price and gap; rates by group."""

    before: Floats
    after: Floats
    treated_differently: float
    rates: tuple[Floats, Floats]

    @property
    def changes(self) -> Floats:
        """``(4,)`` in the order of LEARNED."""
        return np.append(self.after - self.before, self.treated_differently)


class _Measure:
    """Learns from a part of the panel and counts how much is done."""

    def __init__(
        self,
        models: PanelModels,
        groups: object,
        least_change: float,
        progress: Callable[[int, int], None] | None,
        total: int,
    ) -> None:
        self._models, self._least_change, self._progress, self._total = models, least_change, progress, total
        self._groups = None if groups is None else pd.factorize(_texts(groups), sort=True)[0]
        self._done = 0

    def __call__(self, times: Floats) -> Outcome:
        before, after = (self._models.solved(times, number) for number in (0, 1))
        rates = self._rates(before.treated), self._rates(after.treated)
        gaps = [float(np.ptp(one)) if len(one) else np.nan for one in rates]
        moved = np.abs(after.treated - before.treated) >= self._least_change - _ROOM
        self._done += 1
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)
        return Outcome(
            np.array([before.error, before.price, gaps[0]]),
            np.array([after.error, after.price, gaps[1]]),
            float(moved.mean()),
            rates,
        )

    def _rates(self, treated: Floats) -> Floats:
        """The mean chance of the good outcome in each group; none without groups."""
        if self._groups is None:
            return np.empty(0)
        return np.bincount(self._groups, treated) / np.bincount(self._groups)


@dataclass(frozen=True, eq=False)
class _Part:
    """Measurements of a part of the panel, None where nobody of it came back; ``resampled`` is ``(B, 4)``.

    ``n`` judges are in it, and ``units`` to which arms fell: these judges or, where they fell to rooms, rooms.
    """

    own: Outcome | None
    resampled: Floats
    n: int
    units: int

    @classmethod
    def of(
        cls, measure: _Measure | None, part: Floats, rooms: NDArray[np.int64] | None, n_resamples: int, seed: int
    ) -> _Part:
        members, none = np.flatnonzero(part), np.empty((0, len(LEARNED)))
        if measure is None or not len(members):
            return cls(None, none, 0, 0)
        unit = np.arange(len(members)) if rooms is None else np.unique(rooms[members], return_inverse=True)[1]
        n_units = int(unit.max()) + 1
        own, rng = measure(part), np.random.default_rng([seed, len(members)])
        if n_units < _LEAST_JUDGES:
            return cls(own, none, len(members), n_units)
        resampled = []
        for _ in range(n_resamples):
            times = np.zeros(len(part))
            times[members] = np.bincount(rng.choice(n_units, n_units), minlength=n_units)[unit]
            resampled.append(measure(times).changes)
        return cls(own, np.array(resampled), len(members), n_units)

    @property
    def changes(self) -> Floats:
        return np.full(len(LEARNED), np.nan) if self.own is None else self.own.changes

    @property
    def deviations(self) -> Floats:
        """``(4,)`` standard deviations over panels drawn; NaN where there are none."""
        return self.resampled.std(axis=0, ddof=1) if len(self.resampled) else np.full(len(LEARNED), np.nan)

    def line(self, confidence: float) -> dict[str, float]:
        """Return a line of ``arms``."""
        line: dict[str, float] = {"returned": self.n}
        nothing = np.full(len(LEARNED) - 1, np.nan)
        before, after = (nothing, nothing) if self.own is None else (self.own.before, self.own.after)
        for place, name in enumerate(LEARNED):
            value, half = self.changes[place], _half(self.deviations[place], self.units - 1, confidence)
            ends = np.clip([value - half, value + half], *_BOUNDS[name])
            column = name
            if place < len(before):
                line |= {f"{name}_before": before[place], f"{name}_after": after[place]}
                column = f"{name}_change"
            line |= {column: value, f"{column}_low": ends[0], f"{column}_high": ends[1]}
        return {name: float(number) for name, number in line.items()}


def _tests(
    measure: _Measure | None,
    arm: _Part,
    control: _Part,
    both: NDArray[np.bool_],
    assignments: Assignments,
    name: str,
    confidence: float,
) -> list[dict[str, object]]:
    """A line for each hypothesis."""
    effects = arm.changes - control.changes
    if measure is None or arm.own is None or control.own is None:
        p_values = np.full(len(LEARNED), np.nan)
    else:
        others = np.empty((len(assignments.drawn), len(LEARNED)))
        for row, treated in enumerate(assignments.drawn):
            sides = np.zeros((2, len(both)))
            sides[:, both] = treated, 1.0 - treated
            others[row] = measure(sides[0]).changes - measure(sides[1]).changes
        p_values = np.array([assignments.p_value(*pair) for pair in zip(effects, others.T, strict=True)])
    deviations = np.hypot(arm.deviations, control.deviations)
    lines = []
    for place, (hypothesis, statement) in enumerate(LEARNED.items()):
        effect, note = float(effects[place]), ""
        if np.isnan(effect):
            if hypothesis == "group_gap" and arm.own is not None and control.own is not None:
                continue  # no groups were given
            found = Difference(np.nan, np.nan, np.nan, np.nan, "nobody of one of the two arms came back")
        else:
            half = _half(deviations[place], min(arm.units, control.units) - 1, confidence)
            note = "too few for an interval" if np.isnan(half) else ""
            low, high = np.clip([effect - half, effect + half], *_EFFECTS[hypothesis]).tolist()
            found = Difference(effect, low, high, float(p_values[place]), note)
        values = float(arm.changes[place]), float(control.changes[place])
        lines.append(line_of(name, hypothesis, *values, found) | {"statement": statement})
    return lines


def _half(deviation: float, freedom: int, confidence: float) -> float:
    return float(stdtrit(freedom, (1 + confidence) / 2) * deviation) if freedom > 0 else np.nan


def _rates(found: dict[str, _Part], labels: list[str]) -> pd.DataFrame:
    rows = [
        (name, *line)
        for name, part in found.items()
        if part.own is not None
        for line in zip(labels, *(one.tolist() for one in part.own.rates), strict=True)
    ]
    return pd.DataFrame(rows, columns=["arm", "group", "rate_before", "rate_after"])


def _rounds(judgments: Judgments) -> tuple[Judgments, Judgments]:
    """Answers of round 1, and each judge's last about every pair."""
    frame = judgments.frame
    frame = frame[~frame["design"].isin(MEASURED_ONLY)]
    first = frame[frame["round"] == 1].reset_index(drop=True)
    before, after = (Judgments(one, people=judgments.people, by=judgments.by) for one in (first, frame))
    return before, after


def _texts(groups: object) -> NDArray[np.object_]:
    return pd.Series(np.asarray(to_pandas(groups), dtype=object)).astype(str).to_numpy(dtype=object)


def _group_names(groups: object, people: Any) -> list[str]:
    texts = _texts(groups)
    if len(texts) != len(people):
        raise InputError(f"groups: {len(texts)} for {len(people)} people; each person needs one")
    return sorted(set(texts))
