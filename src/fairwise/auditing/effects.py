"""What talking did: how answers changed between two rounds, and how that differs between arms.

The questions stand in :data:`fairwise.auditing.arms.HYPOTHESES` and are the same in every study, so that none is chosen
after the answers are seen.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise import notebook
from fairwise.auditing import checks
from fairwise.auditing.agreement_changes import alpha_changes
from fairwise.auditing.arms import HYPOTHESES, Assigned, Comparison, control_arm, with_holm
from fairwise.auditing.changes import Changes
from fairwise.auditing.randomisation import N_DRAWS
from fairwise.numbers import counted, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.arms import Permuted, Unit
    from fairwise.auditing.learned_effects import LearnedEffects
    from fairwise.judgments import Judgments

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

EVERYONE = "everyone"
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, eq=False)
class Effects:
    """How answers changed, by arm, and against the control arm.

    Attributes
    ----------
    arms
        By arm, the control arm first, and for everyone: ``judges``, ``returned``, ``answers`` asked for twice; means
        over those who came back of the shares ``changed``, ``towards_majority``, ``away`` and, where it is known which
        reasons were shown, ``towards_reasons``; alpha of their answers ``alpha_before``, ``alpha_after`` and its
        ``alpha_change``, each with ``_low`` and ``_high``.
    tests
        A line for each arm but the control and each of ``hypotheses`` and of the checks: ``arm``, ``name``,
        ``statement``, ``check``, the two arms' values ``in_arm`` and ``in_control``, ``effect`` with ``low`` and
        ``high``, ``p_value``, ``p_adjusted`` (Holm, over all lines that are no checks) and a ``note`` where something
        cannot be said, which then is NaN.
    judges
        By judge who came back: arm, answers asked for twice, and the shares.
    control
        The arm that others are compared with, or None.
    learned
        Effects on what is learned, or None (:func:`fairwise.auditing.learned_effects`).
    permuted
        What arms are reassigned to for p-values: ``unit`` (``"room"`` or ``"judge"``), ``n_units`` who came back and
        the ``n_blocks`` they are in; None where no arms are compared.
    notes
        Sentences about what is permuted, who is not counted, and what cannot be said.
    """

    arms: pd.DataFrame
    tests: pd.DataFrame
    judges: pd.DataFrame
    control: str | None
    confidence: float
    exact: bool
    n_draws: int
    notes: tuple[str, ...] = ()
    learned: LearnedEffects | None = None
    hypotheses: dict[str, str] = field(default_factory=lambda: dict(HYPOTHESES))
    permuted: Permuted | None = None

    def to_frame(self) -> pd.DataFrame:
        """The tests as one table, those about what is learned behind."""
        if self.learned is None:
            return self.tests.copy()
        every: pd.DataFrame = pd.concat([self.tests, self.learned.tests], ignore_index=True)
        return every

    def __str__(self) -> str:
        return "\n".join([*self.notes, *(_sentence(test, self.control) for test in self.to_frame().to_dict("records"))])

    def _repr_html_(self) -> str:
        shares = [name for name in ("changed", "towards_majority", "away", "towards_reasons") if name in self.arms]
        rows = [
            (
                str(arm),
                counted(line["judges"]),
                counted(line["returned"]),
                *(percent(line[name]) for name in shares),
                number_words(line["alpha_before"]),
                number_words(line["alpha_after"]),
            )
            for arm, line in self.arms.iterrows()
        ]
        head = ("Arm", "People", "Answered again", *(name.replace("_", " ").capitalize() for name in shares))
        tests = [
            (f"{test['arm']}: {test['name'].replace('_', ' ')}", *_numbers(test))
            for test in self.to_frame().to_dict("records")
        ]
        return notebook.page(
            notebook.section(
                "How answers changed",
                notebook.table(rows, head=(*head, "Alpha before", "Alpha after"), numbers=range(1, len(head) + 2)),
                notebook.bullets(self.notes),
            ),
            notebook.section(
                f"Against {self.control}",
                notebook.table(tests, head=("", "Effect", "Interval", "p", "p (Holm)"), numbers=(1, 2, 3, 4)),
            )
            if tests
            else "",
            self._learned_section(),
        )

    def _learned_section(self) -> str:
        """What would be learned before and after, in a notebook."""
        if self.learned is None:
            return ""
        rows = [
            (
                str(arm),
                percent(line["error_before"]),
                percent(line["error_after"]),
                interval_words(line["error_change_low"], line["error_change_high"]),
                percent(line["treated_differently"]),
            )
            for arm, line in self.learned.arms.iterrows()
        ]
        head = ("Arm", "Error before", "Error after", "Change between", "Treated differently")
        return notebook.section("What would be learned", notebook.table(rows, head=head, numbers=(1, 2, 3, 4)))


def effects(
    judgments: Judgments,
    *,
    control: str | None = None,
    unit: Unit | None = None,
    reasons: pd.DataFrame | None = None,
    confidence: float = 0.95,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> Effects:
    """What people changed between round 1 and round 2, and what their arm has to do with it.

    Parameters
    ----------
    judgments : Judgments
        With rounds 1 and 2. The judges' attribute ``arm`` is the arm that was drawn for them; ``block``, if there is
        one, says that arms were drawn within blocks; ``room``, who was in which room. Without arms, only the change
        itself is told.
    control : str, optional
        The arm that others are compared with; by default the one called "control".
    unit : "judge" or "room", optional
        What arms were drawn for; by default inferred from rooms, blocks and arms, if there are rooms.
    reasons : DataFrame, optional
        Columns a, b and answer: a line for each reason that was shown in round 2, and the answer that it is for.
    confidence : float
        Of intervals.
    n_draws : int
        How many other assignments are drawn; where there are fewer, all of them are looked at.
    seed : int
        The same seed draws the same assignments.

    Notes
    -----
    Judge ``j`` came back for ``n_j`` pairs and changed ``c_j`` of the answers in a certain way: ``y_j = c_j / n_j``.
    The effect is the mean of ``y`` in the arm less that in the control arm, and estimates what the arm does to these
    judges on average, each counting as one. The majority is the answer that most *others* gave in round 1, whether they
    came back or not. The p-value is the share of assignments, drawn as the arms were, with a Welch's t as far from 0;
    the interval holds the shifts of the arm that are not refused so (:mod:`fairwise.auditing.randomisation`).

    Of alpha, the statistic is the difference of the two arms' changes, and the interval is the jackknife's over judges.

    Where arms were drawn for rooms, assignments are of rooms, within blocks where there are blocks: ``y`` is the mean
    over a room's judges, and each room counts as one, also in intervals. Who is recorded in another arm than most of
    their room is analysed in the arm of the room. Without ``unit``, arms count as drawn for rooms if each room has one
    arm, or if people of a room agree in their arms far more than chance would make them. If rooms are as mixed as if
    arms had been drawn for people, or hold people of several blocks, assignments are of people. If neither can be told,
    this is an error that asks for ``unit``.

    The p-values are right if people answer for themselves, or talk to those of their own arm and room alone: what
    others said in round 1 may be shown to them. If people of several arms talk to each other in round 2, a p-value is
    still that of "no arm changes anything for anyone", but intervals are about something else.
    """
    checks.some_judgments(judgments)
    confidence = checks.fraction("confidence", confidence, ends=False)
    n_draws = checks.whole("n_draws", n_draws, 99, 1_000_000)
    seed = checks.whole("seed", seed, 0)
    changes = Changes.of(judgments, reasons)
    assigned = Assigned.of(judgments.judge_attributes, unit).among(changes.judges)
    arm, rooms = assigned.arm, assigned.rooms
    names = [str(name) for name in dict.fromkeys(sorted(arm.dropna()))]
    chosen = control_arm(names, control)
    if chosen is not None:
        names = [chosen, *(name for name in names if name != chosen)]
    by_judge = changes.by_judge()
    lines = {name: _arm_line(changes, by_judge, (arm == name).to_numpy(), confidence, rooms) for name in names}
    lines[EVERYONE] = _arm_line(changes, by_judge, np.ones(len(arm), dtype=bool), confidence, rooms)
    tests, exact = [], True
    for name in names:
        if chosen is not None and name != chosen:
            compared = Comparison(changes, by_judge, assigned, chosen, name, n_draws, seed)
            tests += compared.lines(confidence)
            exact &= compared.assignments(compared.back).exact
    permuted = assigned.permuted(arm.notna().to_numpy() & changes.returned) if tests else None
    return Effects(
        arms=pd.DataFrame.from_dict(lines, orient="index").rename_axis("arm"),
        tests=with_holm(tests),
        judges=by_judge.assign(arm=arm.reindex(by_judge.index)),
        control=chosen,
        confidence=confidence,
        exact=exact,
        n_draws=n_draws,
        notes=(
            *_notes(changes, arm, names, chosen),
            *([] if permuted is None else [*assigned.notes, str(permuted)]),
        ),
        permuted=permuted,
        hypotheses={
            name: text for name, text in HYPOTHESES.items() if name != "towards_reasons" or reasons is not None
        },
    )


def _arm_line(
    changes: Changes, by_judge: pd.DataFrame, members: Bools, confidence: float, rooms: Ints | None
) -> dict[str, float]:
    """What a line of ``arms`` says of these judges."""
    back = by_judge[members[changes.returned]]
    line: dict[str, float] = {
        "judges": int(members.sum()),
        "returned": len(back),
        "answers": int(back["answers"].sum()),
    }
    line |= {str(name): float(share) for name, share in back.drop(columns="answers").mean().items()}
    return line | alpha_changes(changes, members, confidence, rooms)


def _notes(changes: Changes, arm: pd.Series[str], names: list[str], control: str | None) -> tuple[str, ...]:
    """Sentences about who is not counted, and why something is not told."""
    n_back, only_first = int(changes.returned.sum()), int((changes.answered_first & ~changes.returned).sum())
    only_later, without = int((~changes.answered_first).sum()), int(arm.isna().sum())
    notes = []
    if not n_back:
        notes.append("Nobody came back for a second round, so no change can be told.")
    elif only_first:
        notes.append(f"{counted(n_back, 'person', 'people')} came back; {counted(only_first)} answered only round 1.")
    if only_later:
        notes.append(
            f"{counted(only_later, 'person', 'people')} answered only round 2: their answers are not compared."
        )
    if n_back == 1:
        notes.append("Only one person came back, so nothing can be said beyond that person.")
    if n_back and not changes.changed.any():
        notes.append("Nobody changed an answer.")
    if len(names) < 2:
        notes.append("There are no two arms, so talking cannot be told apart from being asked twice.")
    elif without:
        has, is_in = ("has", "is") if without == 1 else ("have", "are")
        notes.append(f"{counted(without, 'person', 'people')} {has} no arm and {is_in} in no comparison.")
    empty = [name for name in names if not (changes.returned & (arm == name).to_numpy()).any()]
    if n_back and control is not None:
        notes += [f"Nobody of the arm {name} came back." for name in empty]
    return tuple(notes)


def percent(share: float) -> str:
    """A share as people read it; a dash where it is not known."""
    return NOTHING if isnan(share) else f"{100 * share:.1f} %"


def number_words(number: float, digits: int = 2) -> str:
    """A number with two decimals; a dash where it is not known."""
    return NOTHING if isnan(number) else str(rounded(number, digits))


def p_words(p_value: float) -> str:
    """A p-value with three decimals, never 0.

    >>> p_words(0.0005), p_words(0.04)
    ('< 0.001', '0.040')
    """
    return NOTHING if isnan(p_value) else "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def interval_words(low: float, high: float, digits: int = 3) -> str:
    """Both ends, or a dash."""
    return NOTHING if isnan(low) or isnan(high) else f"{number_words(low, digits)} to {number_words(high, digits)}"


def _sentence(test: Mapping[Hashable, Any], control: str | None) -> str:
    """A test as one line of text."""
    about = f"{test['arm']} against {control}, {test['name'].replace('_', ' ')}:"
    if isnan(test["effect"]):
        return f"{about} {test['note']}."
    effect, interval, p_value, _ = _numbers(test)
    between = test["note"] if interval == NOTHING else f"interval {interval}"
    return f"{about} {effect} ({between}), p {p_value if p_value.startswith('<') else f'= {p_value}'}"


def _numbers(test: Mapping[Hashable, Any]) -> tuple[str, str, str, str]:
    """Effect, interval and p-values of a test, as a table shows them."""
    interval = interval_words(test["low"], test["high"])
    return number_words(test["effect"], 3), interval, p_words(test["p_value"]), p_words(test["p_adjusted"])
