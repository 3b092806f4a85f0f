"""What talking did: how answers changed between two rounds, and how that differs between arms.

The hypotheses, :data:`fairwise.results.effects.HYPOTHESES`, are the same in every study, so that none is chosen after
the answers are seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.auditing import checks
from fairwise.auditing.agreement_changes import alpha_changes
from fairwise.auditing.arms import Assigned, Comparison, control_arm, with_holm
from fairwise.auditing.changes import Changes
from fairwise.auditing.randomisation import N_DRAWS
from fairwise.messages import Message
from fairwise.results.effects import HYPOTHESES, Effects

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.arms import Unit
    from fairwise.judgments import Judgments

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

EVERYONE = "everyone"


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
            *([] if permuted is None else [*assigned.notes, permuted.sentence]),
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
        notes.append(Message("Nobody came back for a second round, so no change can be told."))
    elif only_first:
        notes.append(
            Message.plural(
                "{count:,} person came back; {left:,} answered only round 1.",
                "{count:,} people came back; {left:,} answered only round 1.",
                n_back,
                left=only_first,
            )
        )
    if only_later:
        notes.append(
            Message.plural(
                "{count:,} person answered only round 2: their answers are not compared.",
                "{count:,} people answered only round 2: their answers are not compared.",
                only_later,
            )
        )
    if n_back == 1:
        notes.append(Message("Only one person came back, so nothing can be said beyond that person."))
    if n_back and not changes.changed.any():
        notes.append(Message("Nobody changed an answer."))
    if len(names) < 2:
        notes.append(Message("There are no two arms, so talking cannot be told apart from being asked twice."))
    elif without:
        notes.append(
            Message.plural(
                "{count:,} person has no arm and is in no comparison.",
                "{count:,} people have no arm and are in no comparison.",
                without,
            )
        )
    empty = [name for name in names if not (changes.returned & (arm == name).to_numpy()).any()]
    if n_back and control is not None:
        notes += [Message("Nobody of the arm {name} came back.", name=name) for name in empty]
    return tuple(notes)
