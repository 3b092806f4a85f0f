"""What a comparison of arms needs besides judgments: who was in which arm and block, and the reasons shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import sqlalchemy as sa

from fairwise.store.deliberation import round_list
from fairwise.store.export import judge_name
from fairwise.store.reasons import RELEASED, reasons_about
from fairwise.store.study_state import SECOND, standing
from fairwise.store.tables import answers, participants
from fairwise.study.schedules import block_size
from fairwise.study.settings import StudyState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairwise.study.design import Arm


@dataclass(frozen=True, eq=False)
class SecondRound:
    """What is known of a second round besides its answers."""

    arms: pd.DataFrame
    """By judge: ``arm`` and ``block``; without columns where a study has no arms."""

    reasons: pd.DataFrame | None
    """Columns a, b and answer: a line for each reason shown; None of rooms that talk, where people say them aloud."""

    control: str | None
    """The arm that is shown no reasons, if it is one alone."""

    @property
    def in_rooms(self) -> bool:
        """Whether people talked in rooms."""
        return self.reasons is None


def silent_arm(arms: Sequence[Arm]) -> str | None:
    """The arm that is shown no reasons in a second round; None where there is none, or more than one."""
    silent = [arm.name for arm in arms if not arm.reasons]
    return silent[0] if len(silent) == 1 else None


def finished_second_round(connection: sa.Connection, arms: Sequence[Arm], *, rooms: bool = False) -> SecondRound | None:
    """The second round of a study that is closed, else None: whoever looks earlier could end it when it suits them.

    Where `rooms` talk, that is what people answered again in them.
    """
    stands = standing(connection)
    reasons = None if rooms else shown_reasons(connection)
    begun = _has_second_answers(connection) if rooms else stands.round == SECOND and reasons is not None
    if not begun or stands.state != StudyState.CLOSED:
        return None
    query = sa.select(participants.c.number, participants.c.arm).where(participants.c.arm.is_not(None))
    by_judge = {judge_name(number): arm for number, arm in connection.execute(query)}
    known = pd.DataFrame({"arm": by_judge}, dtype=object) if by_judge else pd.DataFrame()
    if by_judge:
        known["block"] = pd.Series(arm_blocks(connection, arms), dtype=object).reindex(known.index)
    return SecondRound(known, reasons, silent_arm(arms))


def _has_second_answers(connection: sa.Connection) -> bool:
    return connection.execute(sa.select(answers.c.id).where(answers.c.round == SECOND).limit(1)).first() is not None


def arm_blocks(connection: sa.Connection, arms: Sequence[Arm]) -> dict[str, int]:
    """In which block of the arms' order each was assigned who has an arm, by judge."""
    query = sa.select(participants.c.number, participants.c.arm_turn).where(participants.c.arm_turn.is_not(None))
    return {judge_name(number): turn // block_size(arms) for number, turn in connection.execute(query)}


def shown_reasons(connection: sa.Connection) -> pd.DataFrame | None:
    """The reasons that a second round shows, a line each: a, b and the answer it is for; None before there is one."""
    pairs = {pair.two for pair in round_list(connection)}
    if not pairs:
        return None
    shown = [reason for reason in reasons_about(connection, pairs) if reason.state == RELEASED]
    return pd.DataFrame([(*one.two, str(one.answer)) for one in shown], columns=["a", "b", "answer"])
