"""What a comparison of arms needs besides judgments and judges: blocks of assignment, and the reasons shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import sqlalchemy as sa

from fairwise.store.deliberation import round_list
from fairwise.store.export import judge_name
from fairwise.store.reasons import RELEASED, reasons_about
from fairwise.store.tables import participants
from fairwise.study.designs.schedules import block_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairwise.study.arms import Arm


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
